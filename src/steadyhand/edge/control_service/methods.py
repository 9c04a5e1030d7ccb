"""The calls of the control service, as a table made from its own description.

No generated stubs: both ends handle the bytes of the wire, since that is what is signed
(`wire.control_auth`), and this table knows which message each call carries.
"""

from typing import Final

import msgspec
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from steadyhand.wire import control_pb2

SERVICE: Final = "steadyhand.control.v1.FollowerControl"


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """One call.

    Attributes:
        name: as in the description, "PrepareStream".
        path: as on the wire, and in what is signed.
        request: class of the request message.
        reply: class of the reply message.
        streams_requests: whether requests are a stream.
        streams_replies: whether replies are one.
    """

    name: str
    path: str
    request: type[Message]
    reply: type[Message]
    streams_requests: bool
    streams_replies: bool


def _table() -> dict[str, Method]:
    service = control_pb2.DESCRIPTOR.services_by_name[SERVICE.rpartition(".")[2]]
    return {
        method.name: Method(
            name=method.name,
            path=f"/{service.full_name}/{method.name}",
            request=GetMessageClass(method.input_type),
            reply=GetMessageClass(method.output_type),
            streams_requests=bool(method.client_streaming),
            streams_replies=bool(method.server_streaming),
        )
        for method in service.methods
    }


METHODS: Final = _table()
"""Every call by its name."""
