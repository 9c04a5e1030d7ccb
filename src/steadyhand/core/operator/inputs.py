"""What comes back from the control service, as a value that a log can hold."""

from typing import Literal

import msgspec

Outcome = Literal["done", "ignored", "refused", "failed"]


class ControlReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one control request.

    Attributes:
        request_id: of the request it answers.
        outcome: the follower's word (done; ignored, since it was so already; refused), or failed:
            nobody answered in time, or there is no way there.
        reason: why it was ignored, refused or failed.
    """

    request_id: int
    outcome: Outcome
    reason: str = ""
