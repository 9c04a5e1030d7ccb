"""How a call of the control service can fail, for whoever has to read it or decide on it."""

from enum import StrEnum
from typing import Final

import grpc

from steadyhand.ground.errors import SteadyhandError


class CallFault(StrEnum):
    """Why there is no answer that can be believed."""

    UNREACHABLE = "unreachable"
    """Nobody listens there, or the connection broke."""
    TIMEOUT = "timeout"
    """No answer within the deadline; whether the call was carried out is not known."""
    NOT_BELIEVED = "not_believed"
    """The follower refuses who we say we are: wrong key, no session, a retired one."""
    FORGED = "forged"
    """The answer is not the follower's."""
    CANCELLED = "cancelled"
    FAILED = "failed"
    """The follower could not make sense of the call, or itself failed."""


_FAULTS: Final = {
    grpc.StatusCode.UNAVAILABLE: CallFault.UNREACHABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED: CallFault.TIMEOUT,
    grpc.StatusCode.UNAUTHENTICATED: CallFault.NOT_BELIEVED,
    grpc.StatusCode.PERMISSION_DENIED: CallFault.NOT_BELIEVED,
    grpc.StatusCode.CANCELLED: CallFault.CANCELLED,
}


class ControlError(SteadyhandError):
    """A call that came to nothing.

    Attributes:
        fault: the kind, to decide on.
        detail: the sentence a person reads.
    """

    def __init__(self, call: str, fault: CallFault, detail: str) -> None:
        self.call = call
        self.fault = fault
        self.detail = detail
        super().__init__(f"{call}: {detail}")


def in_words(call: str, where: str, code: grpc.StatusCode, details: str) -> ControlError:
    """The error for a status of gRPC."""
    fault = _FAULTS.get(code, CallFault.FAILED)
    if fault is CallFault.UNREACHABLE:
        return ControlError(call, fault, f"no follower answers at {where} ({details})")
    if fault is CallFault.TIMEOUT:
        return ControlError(call, fault, f"no answer from {where} in time")
    return ControlError(call, fault, details or code.name.lower())
