"""Typed rejections: what a decoder answers where the bytes are no value.

Hostile or broken input is the network's daily business and never an exception. A receiver counts
rejections by reason and drops the datagram; which of them stop the arm is its policy, not ours.
"""

from enum import StrEnum

import msgspec


class Reason(StrEnum):
    """Why bytes were rejected. Closed: a receiver's counters are these names."""

    # The frame
    OVERSIZE = "oversize"
    TRUNCATED = "truncated"
    WRONG_MAGIC = "wrong_magic"
    WRONG_VERSION = "wrong_version"
    BAD_ROBOT_ID = "bad_robot_id"
    EMPTY_PAYLOAD = "empty_payload"
    BUNDLE_COUNT = "bundle_count"
    BUNDLE_ORDER = "bundle_order"
    TRAILING_BYTES = "trailing_bytes"
    # Who speaks
    NOT_SEALED = "not_sealed"
    SEALED = "sealed"
    UNKNOWN_SESSION = "unknown_session"
    RETIRED_SESSION = "retired_session"
    REPLAYED = "replayed"
    STALE_COUNTER = "stale_counter"
    UNAUTHENTIC = "unauthentic"
    # The payload
    MALFORMED_PROTOBUF = "malformed_protobuf"
    JOINT_COUNT = "joint_count"
    NON_FINITE_JOINT = "non_finite_joint"
    MALFORMED_JSON = "malformed_json"
    BAD_REST = "bad_rest"
    BAD_STATE = "bad_state"
    # Opening a session
    BAD_HANDSHAKE = "bad_handshake"
    WRONG_SESSION = "wrong_session"
    BAD_PROOF = "bad_proof"


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """One datagram or payload refused: the reason, and a detail for the person who debugs it.

    The detail never holds bytes of the input verbatim, only numbers and names of ours.

    Attributes:
        reason: why.
        detail: figures beside it.
        authentic: the seal held, so it is our own operator who cannot be understood.
    """

    reason: Reason
    detail: str = ""
    authentic: bool = False


class RejectionCounts:
    """How often each reason came up, from zero; the receiver's account of what it dropped."""

    def __init__(self) -> None:
        """Start with every reason at zero, so that a reader sees the names before they happen."""
        self._counts = dict.fromkeys(Reason, 0)

    def count(self, rejection: Rejection) -> None:
        """Add one to the rejection's reason."""
        self._counts[rejection.reason] += 1

    def of(self, reason: Reason) -> int:
        """How often this reason came up."""
        return self._counts[reason]

    @property
    def total(self) -> int:
        """All rejections together."""
        return sum(self._counts.values())

    def as_dict(self) -> dict[str, int]:
        """Every reason by its name, zeros included."""
        return {reason.value: count for reason, count in self._counts.items()}
