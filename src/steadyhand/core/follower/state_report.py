"""What telemetry says of the arm: measured pose, safety, and the buffer's health (document 000 §9)."""

from typing import Any, Final

import msgspec

from steadyhand.core.follower.engagement import Engagement
from steadyhand.core.follower.ingress import Ingress
from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.playout import PlayoutStats
from steadyhand.core.safety.latch import EngageState
from steadyhand.core.timing import wall_latency_ms
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.robot_status import RobotStatus

LONGEST_SENTENCE: Final = 200
SHORT_SENTENCE: Final = 48
CONFIGURED: Final = ("enabled", "form", "trip_count")
"""Characters: a telemetry datagram has 1232 bytes for everything."""


def state_report(
    settings: FollowerSettings, arm: Engagement, ingress: Ingress, *, now_ns: int, wall_s: float
) -> RobotState:
    """Build the state of one telemetry frame. Pure: asking changes nothing.

    Args:
        settings: of the follower.
        arm: its engagement.
        ingress: its inbox's books.
        now_ns: local monotonic time.
        wall_s: wall time, for display and `command_latency_ms` only.
    """
    measured, machine = arm.measured, arm.machine
    stopped = machine.state is EngageState.STOPPED
    acknowledged = arm.acknowledged_estop
    state = RobotState(
        robot_id=settings.robot_id,
        timestamp=wall_s,
        joint_positions=() if measured is None else _rounded(measured.joints_deg, 6),
        emergency_stop=stopped or measured is None,
        episode_id=acknowledged[1] if stopped and acknowledged is not None else 0,
        safety=_safety(arm),
        extras=_extras(arm, ingress, now_ns=now_ns, wall_s=wall_s),
    )
    if measured is None:
        return state
    return msgspec.structs.replace(
        state,
        joint_velocities=_rounded(measured.speeds_deg_s, 3),
        status=RobotStatus.EMERGENCY_STOP if stopped else measured.status,
        error_code=measured.fault_code,
        error_sub_code=measured.fault_sub_code,
        digital_outputs=measured.digital_outputs,
        vacuum=measured.vacuum,
        tcp_position_mm=_rounded_triple(measured.tcp_position_mm),
        tcp_orientation_deg=_rounded_triple(measured.tcp_orientation_deg),
    )


def _safety(arm: Engagement) -> dict[str, Any]:
    """Whether any guard tripped, and each that did by name, with its reason and bounds.

    What is configured and quiet is told by the control service when a session opens; a datagram has
    no room to repeat it a hundred times a second.
    """
    told: dict[str, Any] = {"any_tripped": arm.stream.envelope.any_tripped}
    if not told["any_tripped"]:
        return told
    for name, entry in arm.stream.envelope.report().items():
        whole: dict[str, Any] = dict(msgspec.to_builtins(entry))
        if whole.get("tripped"):
            told[name] = {key: value for key, value in whole.items() if key not in CONFIGURED}
    return told


def _rounded(values: tuple[float, ...], digits: int) -> tuple[float, ...]:
    """Far below what an encoder resolves, and half the bytes."""
    return tuple([round(value, digits) for value in values])


def _rounded_triple(values: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
    """Micrometres and thousandths of a degree: far below what an arm repeats."""
    if values is None:
        return None
    x, y, z = values
    return round(x, 3), round(y, 3), round(z, 3)


def _slim(health: dict[str, Any]) -> dict[str, Any]:
    """Three decimals, and no counter that is still zero: what is absent is zero."""
    counters = PlayoutStats.__struct_fields__
    return {
        key: round(value, 3) if isinstance(value, float) else value
        for key, value in health.items()
        if value or key not in counters
    }


def _extras(arm: Engagement, ingress: Ingress, *, now_ns: int, wall_s: float) -> dict[str, Any]:
    cause, stream = arm.machine.cause, arm.stream
    extras: dict[str, Any] = {
        "engage": arm.machine.state.value,
        "stop_cause": None if cause is None else _cut(msgspec.to_builtins(cause)),
        "link": {
            "datagram_loss_pct": round(ingress.datagram_loss.loss_pct, 3),
            "delay_growth_ms": round(ingress.transit.growth_ms(now_ns), 3),
        },
        "command_latency_ms": _latency(ingress),
    }
    if arm.acknowledged_estop is not None:
        extras["estop_ack"] = list(arm.acknowledged_estop)
    if stream.buffer is not None:
        health = stream.buffer.health(now_ns).to_dict()
        if health["last_stall"] is not None:
            # Of two sentences the one about now is told whole.
            room = LONGEST_SENTENCE - len(health.get("held_back", ""))
            health["last_stall"] = health["last_stall"][:room]
        extras["playout"] = _slim(health)
    return extras


def _cut(cause: dict[str, Any]) -> dict[str, Any]:
    """A cause whose sentence is the stall's own, which `last_stall` carries whole, is cut short."""
    return cause | {"detail": cause["detail"][:SHORT_SENTENCE]}


def _latency(ingress: Ingress) -> float | None:
    """Leader's read to arrival by wall clocks: for display, and only as good as their sync."""
    if ingress.last_leader_stamp_s is None or ingress.latency_wall_s is None:
        return None
    return wall_latency_ms(receiver_wall_s=ingress.latency_wall_s, sender_wall_s=ingress.last_leader_stamp_s)
