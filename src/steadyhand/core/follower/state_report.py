"""What telemetry says of the arm: measured pose, safety, and the buffer's health (document 000 §9)."""

from typing import Any

import msgspec

from steadyhand.core.follower.engagement import Engagement
from steadyhand.core.follower.ingress import Ingress
from steadyhand.core.follower.settings import FollowerSettings
from steadyhand.core.safety.latch import EngageState
from steadyhand.core.timing import wall_latency_ms
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.robot_status import RobotStatus


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
        joint_positions=() if measured is None else measured.joints_deg,
        emergency_stop=stopped or measured is None,
        episode_id=acknowledged[1] if stopped and acknowledged is not None else 0,
        safety=msgspec.to_builtins(arm.stream.envelope.report()),
        extras=_extras(arm, ingress, now_ns=now_ns, wall_s=wall_s),
    )
    if measured is None:
        return state
    return msgspec.structs.replace(
        state,
        joint_velocities=measured.speeds_deg_s,
        status=RobotStatus.EMERGENCY_STOP if stopped else measured.status,
        error_code=measured.fault_code,
        error_sub_code=measured.fault_sub_code,
        digital_outputs=measured.digital_outputs,
        vacuum=measured.vacuum,
        tcp_position_mm=measured.tcp_position_mm,
        tcp_orientation_deg=measured.tcp_orientation_deg,
    )


def _extras(arm: Engagement, ingress: Ingress, *, now_ns: int, wall_s: float) -> dict[str, Any]:
    cause, stream = arm.machine.cause, arm.stream
    extras: dict[str, Any] = {
        "engage": arm.machine.state.value,
        "stop_cause": None if cause is None else msgspec.to_builtins(cause),
        "link": {
            "datagram_loss_pct": round(ingress.datagram_loss.loss_pct, 3),
            "delay_growth_ms": round(ingress.transit.growth_ms(now_ns), 3),
        },
        "command_latency_ms": _latency(ingress),
    }
    if arm.acknowledged_estop is not None:
        extras["estop_ack"] = list(arm.acknowledged_estop)
    if stream.buffer is not None:
        extras["playout"] = stream.buffer.health(now_ns).to_dict()
    return extras


def _latency(ingress: Ingress) -> float | None:
    """Leader's read to arrival by wall clocks: for display, and only as good as their sync."""
    if ingress.last_leader_stamp_s is None or ingress.latency_wall_s is None:
        return None
    return wall_latency_ms(receiver_wall_s=ingress.latency_wall_s, sender_wall_s=ingress.last_leader_stamp_s)
