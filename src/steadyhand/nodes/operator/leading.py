"""Setpoints out of poses: one at a time, a period apart, beginning where the arm is.

Whoever leads is in another thread than the engine's: a policy that thinks, or a file that is slow,
holds up no e-stop and no telemetry.
"""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from steadyhand.core.operator.outputs import LeadVerdict
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.motion import JointsDeg
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_S, s_from_ns
from steadyhand.nodes.operator import troubles
from steadyhand.nodes.operator.approach import ApproachBounds, approach, farthest_deg
from steadyhand.nodes.operator.engine import OperatorEngine
from steadyhand.nodes.operator.errors import Refused
from steadyhand.nodes.operator.pacing import SteadyWallClock
from steadyhand.nodes.operator.summary import Tally

Start: TypeAlias = Literal["ramp", "refuse"]

START_WITHIN_DEG: Final = 1.0
"""A motion that begins no farther from where the arm stands begins there."""

SETTLED_WITHIN_DEG: Final = 0.5
SETTLED_SPEED_DEG_S: Final = 1.0
SETTLE_S: Final = 1.5
"""How long the last pose is held, beyond what the follower's buffer holds, for the arm to be there."""


class Leading:
    """Sends one arm's setpoints.

    Args:
        config: the robot file.
        engine: running.
    """

    def __init__(self, config: RobotConfig, engine: OperatorEngine) -> None:
        self.robot_id: Final = config.robot.id
        self.n_joints: Final = config.robot.n_joints
        self.period_ns: Final = config.communication.period_ns
        self._config = config
        self._engine = engine
        self._wall = SteadyWallClock()
        self._bounds = ApproachBounds.from_config(config)
        self._engagement_ns = 0
        """The engagement in which `_last_deg` was sent."""
        self._last_deg: JointsDeg = ()

    @property
    def rate_hz(self) -> float:
        """The action rate."""
        return NS_PER_S / self.period_ns

    def first(self, pose_deg: JointsDeg) -> None:
        """Refuse a setpoint that would begin this engagement with a jump."""
        if self._engine.engaged_ns != self._engagement_ns:
            self.refuse_far_start(pose_deg)

    def refuse_far_start(self, pose_deg: JointsDeg) -> None:
        """Refuse a motion that begins elsewhere than the arm stands."""
        away_deg = farthest_deg(self._here_deg(), pose_deg)
        if away_deg > START_WITHIN_DEG:
            raise Refused(
                f"the motion begins {away_deg:.1f}° from where the arm stands",
                where=self.robot_id,
                hint="move_to() its first pose, or stream it with the ramp",
            )

    def go_to(self, goal_deg: JointsDeg, start: Start, tally: Tally) -> None:
        """From where the arm is to a pose, never by a jump."""
        if start == "refuse":
            self.refuse_far_start(goal_deg)
        way = approach(self._here_deg(), goal_deg, period_s=s_from_ns(self.period_ns), bounds=self._bounds)
        self.play(iter(way), tally)

    def play(self, poses: Iterator[JointsDeg], tally: Tally) -> None:
        """A pose a period, until they end."""
        for pose_deg in poses:
            tally.count(self.send(pose_deg, tally.pace.wait()))

    def settle(self, tally: Tally) -> None:
        """Hold the last pose until the arm is there; what is still queued for it is part of the motion."""
        communication = self._config.communication
        buffer_ms = [communication.playout_buffer_ms, communication.playout_adaptive_max_ms]
        queued_s = max((ms for ms in buffer_ms if ms > 0.0), default=0.0) / 1e3
        for _ in range(int((queued_s + SETTLE_S) * self.rate_hz)):
            tally.count(self.send(self._last_deg, tally.pace.wait()))
            if self._settled():
                tally.settled = True
                return

    def _settled(self) -> bool:
        """Whether the arm is seen to stand at the last pose."""
        measured_deg, state = self._measured_deg(), self._engine.state
        if measured_deg is None or state is None:
            return False
        slow = all(abs(speed) <= SETTLED_SPEED_DEG_S for speed in state.joint_velocities)
        return slow and farthest_deg(measured_deg, self._last_deg) <= SETTLED_WITHIN_DEG

    def _here_deg(self) -> JointsDeg:
        """Where the stream goes on: the last pose sent in this engagement, else the measured one."""
        if self._last_deg and self._engine.engaged_ns == self._engagement_ns:
            return self._last_deg
        measured_deg = self._measured_deg()
        if measured_deg is None:
            raise Refused("where the arm stands is not known", where=self.robot_id)
        return measured_deg

    def _measured_deg(self) -> JointsDeg | None:
        state = self._engine.state
        if state is None or len(state.joint_positions) != self.n_joints:
            return None
        return state.joint_positions

    def send(self, pose_deg: JointsDeg, built_ns: int) -> LeadVerdict:
        """One setpoint through the gates; whatever will move nothing is an error."""
        setpoint = Setpoint(
            joints_deg=pose_deg,
            timestamp_s=s_from_ns(built_ns),
            leader_timestamp_s=self._wall.at_s(built_ns),
            robot_id=self.robot_id,
        )
        led = self._engine.call(lambda loop, now_ns: loop.lead(setpoint, now_ns, built_ns))
        if led.stopped or led.verdict not in (LeadVerdict.SENT, LeadVerdict.STALE_TICK):
            raise troubles.of_verdict(led.verdict, self._engine.view(), self.robot_id)
        if led.verdict is LeadVerdict.SENT:
            self._engagement_ns, self._last_deg = self._engine.engaged_ns, pose_deg
        return led.verdict
