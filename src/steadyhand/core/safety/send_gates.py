"""The driver's last gates before the wire (document 003, step 12).

They decide whether anything may be written at all; what may be written is the envelope's. Nothing
but an e-stop passes a latched arm, and nothing but the probe writes while it is settling.
"""

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from steadyhand.core.safety.latch import EngageState


class ProbeState(StrEnum):
    """How far the readiness probe is."""

    OFF = "off"
    SETTLING = "settling"
    """Enabled, frames not accepted yet: the probe owns the channel."""
    READY = "ready"


class SendRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One write that is about to be made.

    Attributes:
        joints_deg: the frame, empty for a stop.
        n_joints: joints of the arm.
        is_stop: whether it stops the arm instead of moving it.
        state: where the engage machine is.
        probe: how far the readiness probe is.
    """

    joints_deg: Sequence[float]
    n_joints: int
    is_stop: bool
    state: EngageState
    probe: ProbeState


class Send(msgspec.Struct, frozen=True, gc=False):
    """Write it."""


class DoNotSend(msgspec.Struct, frozen=True, gc=False):
    """Write nothing.

    Attributes:
        reason: why.
        stop_arm: this should never have come so far; stop the arm.
    """

    reason: str
    stop_arm: bool = False


SendVerdict = Send | DoNotSend
SendGate = Callable[[SendRequest], SendVerdict | None]

_SEND: Final = Send()
_LATCHED: Final = DoNotSend("the arm is stopped")


def a_stop_always_passes(request: SendRequest) -> SendVerdict | None:
    """Stopping is always safe, whatever the state; it never waits behind the cadence."""
    return _SEND if request.is_stop else None


def a_latched_arm_gets_nothing(request: SendRequest) -> SendVerdict | None:
    """No motion is written between a stop and its reset."""
    return _LATCHED if request.state is EngageState.STOPPED else None


def the_frame_has_every_joint(request: SendRequest) -> SendVerdict | None:
    """A frame carries as many joints as the arm has."""
    if len(request.joints_deg) == request.n_joints:
        return None
    return DoNotSend(f"{len(request.joints_deg)} joints for an arm of {request.n_joints}", stop_arm=True)


def every_joint_is_a_number(request: SendRequest) -> SendVerdict | None:
    """NaN and infinity were rejected at the datagram; one that got this far stops the arm (R10)."""
    if all(map(math.isfinite, request.joints_deg)):
        return None
    return DoNotSend("a joint of the frame is not a finite number", stop_arm=True)


def the_probe_is_ready(request: SendRequest) -> SendVerdict | None:
    """Exactly READY, not merely "not off": while it settles, the probe owns the channel alone."""
    if request.probe is ProbeState.READY:
        return None
    return DoNotSend(f"the readiness probe is {request.probe.value}")


def the_stream_is_open(request: SendRequest) -> SendVerdict | None:
    """Motion is written while streaming, and while braking to rest."""
    if request.state in (EngageState.STREAMING, EngageState.BRAKING):
        return None
    return DoNotSend(f"no stream: the arm is {request.state.value}")


SEND_LADDER: Final[tuple[SendGate, ...]] = (
    a_stop_always_passes,
    a_latched_arm_gets_nothing,
    the_frame_has_every_joint,
    every_joint_is_a_number,
    the_probe_is_ready,
    the_stream_is_open,
)


def may_send(request: SendRequest) -> SendVerdict:
    """Walk the gates; the first that decides, decides."""
    for gate in SEND_LADDER:
        verdict = gate(request)
        if verdict is not None:
            return verdict
    return _SEND
