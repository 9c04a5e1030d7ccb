"""Accepted frames become motion: delayed by the lag, at the nominal period, braking when starved.

The controller executes the *sequence* of accepted setpoints (R10). Each frame is a straight segment
that ends one lag after the frame arrived; in a regular stream the segments meet, and the arm is at
every instant where the stream was `lag_ns` before. A frame that arrives a little early or late still
gets (almost exactly) its nominal period; the small stretch or shrink that remains pulls the delay back
to the lag, so that a stream trimmed against the nominal period (R2) never drifts away. A frame later
than the tolerance leaves a hole: the arm brakes at its own limit without a fault, and rejoins the
sequence when it resumes.
"""

from collections import deque
from typing import assert_never

import msgspec

from steadyhand.core.controller.constants import ControllerConstants
from steadyhand.core.controller.motion import (
    Braking,
    Following,
    Joints,
    Moving,
    Rejoin,
    Rest,
    Segment,
    Settling,
    difference,
    in_common,
)
from steadyhand.core.controller.sweep import Sweeping, plan_sweep
from steadyhand.core.controller.triggers import FrameStep, Response
from steadyhand.ground.limits import JointLimits

Phase = Rest | Braking | Following | Settling | Sweeping

_IN_PLACE_DEG = 1e-9


class PendingFault(msgspec.Struct, frozen=True):
    """What the arm does when the frames accepted before the fault are done.

    Attributes:
        start_ns: the faulty frame's turn in the execution.
        response: `SETTLE` or `SWEEP`.
        target_deg: the faulty setpoint.
        jump_deg_s: its velocity discontinuity.
    """

    start_ns: int
    response: Response
    target_deg: Joints
    jump_deg_s: Joints


class Execution:
    """The arm's motion, from the frames that were accepted. Plain attributes; `copy.deepcopy` is a snapshot.

    Args:
        constants: the controller's numbers.
        joint_limits: where a sweep ends.
        pose_deg: where the arm stands, shape (n_joints,).
    """

    def __init__(self, constants: ControllerConstants, joint_limits: JointLimits, pose_deg: Joints) -> None:
        self.constants = constants
        self.joint_limits = joint_limits
        self.phase: Phase = Rest(pose_deg)
        self.queue: deque[Segment] = deque()
        self.pending: PendingFault | None = None

    # Accepting.

    def schedule(self, step: FrameStep, before_deg_s: Joints, *, period_ns: int, now_ns: int) -> None:
        """Give an accepted frame its turn; `before_deg_s` is what the frame before it implied."""
        start_ns, duration_ns = self._turn_of(period_ns, now_ns)
        steady = in_common(step.velocity_deg_s, before_deg_s, self.constants.sweep_speed_max_deg_s)
        self.queue.append(Segment.of(start_ns, duration_ns, step.from_deg, step.to_deg, steady))

    def schedule_fault(
        self, response: Response, target_deg: Joints, jump_deg_s: Joints, *, period_ns: int, now_ns: int
    ) -> None:
        """Give a faulty frame its turn: the arm settles on it or sweeps past it."""
        start_ns, _ = self._turn_of(period_ns, now_ns)
        self.pending = PendingFault(start_ns, response, target_deg, jump_deg_s)

    def _turn_of(self, period_ns: int, now_ns: int) -> tuple[int, int]:
        """Start and duration of a frame that arrives now.

        A period longer than the lag cannot be executed before it has arrived: its delay is the period.
        """
        ideal_start_ns = now_ns + max(self.constants.lag_ns - period_ns, 0)
        previous_end_ns = self._last_end_ns()
        if previous_end_ns is None:
            return ideal_start_ns, period_ns
        late_ns = ideal_start_ns - previous_end_ns
        if late_ns > self.constants.late_tolerance_ns:
            return ideal_start_ns, period_ns
        most_ns = round(period_ns * self.constants.relock_share_max)
        pull_ns = late_ns * period_ns // self.constants.relock_time_ns
        return previous_end_ns, period_ns + min(max(pull_ns, -most_ns), most_ns)

    def _last_end_ns(self) -> int | None:
        if self.queue:
            return self.queue[-1].end_ns
        return self.phase.segment.end_ns if isinstance(self.phase, Following) else None

    def brake(self, now_ns: int) -> None:
        """Drop whatever is left to execute and stop at the controller's own limit, from now."""
        self.advance(now_ns)
        self.queue.clear()
        self.pending = None
        self._enter_braking(now_ns)

    # Executing.

    def advance(self, now_ns: int) -> None:
        """Go through every change of motion up to `now_ns`, each at its own instant."""
        while (due_ns := self._next_change_ns()) is not None and due_ns <= now_ns:
            self._change(due_ns)

    def moving(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`, which must not lie before the last `advance`."""
        self.advance(now_ns)
        return self._held(self.phase.at(now_ns))

    def _held(self, moving: Moving) -> Moving:
        """No joint is ever beyond its limit; one that would be stands there."""
        if self.joint_limits.first_outside(moving[0]) is None:
            return moving
        limits = self.joint_limits
        pose_deg = tuple(map(min, map(max, moving[0], limits.lower_deg), limits.upper_deg))
        held = zip(pose_deg, *moving, strict=True)
        return pose_deg, tuple(velocity if at == free else 0.0 for at, free, velocity in held)

    @property
    def on_its_own(self) -> bool:
        """Whether the arm does, or is about to do, what a fault makes it do."""
        return self.pending is not None or isinstance(self.phase, Settling | Sweeping)

    @property
    def resting(self) -> bool:
        """Whether the arm stands and nothing waits to be executed."""
        return isinstance(self.phase, Rest) and not self.queue and self.pending is None

    def _next_start_ns(self) -> int | None:
        if self.queue:
            return self.queue[0].start_ns
        return None if self.pending is None else self.pending.start_ns

    def _next_change_ns(self) -> int | None:
        match self.phase:
            case Rest():
                return self._next_start_ns()
            case Braking(end_ns=end_ns):
                start_ns = self._next_start_ns()
                return end_ns if start_ns is None else min(start_ns, end_ns)
            case Following() | Settling() | Sweeping():
                return self.phase.end_ns
            case _:
                assert_never(self.phase)

    def _change(self, at_ns: int) -> None:
        start_ns = self._next_start_ns()
        if start_ns is not None and start_ns <= at_ns:
            if self.queue:
                self._enter_following(at_ns)
            elif self.pending is not None:
                self._enter_fault(self.pending, at_ns)
        elif isinstance(self.phase, Following):
            self._enter_braking(at_ns)
        else:
            self.phase = Rest(self._held(self.phase.at(at_ns))[0])

    def _enter_following(self, at_ns: int) -> None:
        segment = self.queue.popleft()
        if isinstance(self.phase, Following):
            under_way = self.phase.rejoin
            done = under_way is None or under_way.end_ns <= at_ns
            self.phase = Following(segment, None if done else under_way)
            return
        pose_deg, velocity_deg_s = self._held(self.phase.at(at_ns))
        away_deg = difference(pose_deg, segment.from_deg)
        if isinstance(self.phase, Rest) and max(map(abs, away_deg)) <= _IN_PLACE_DEG:
            # From rest in place the first frame is executed as it stands, like every later one.
            self.phase = Following(segment, None)
            return
        rejoin = Rejoin.of(
            at_ns,
            away_deg,
            difference(velocity_deg_s, segment.velocity_deg_s),
            accel_deg_s2=self.constants.own_accel_deg_s2,
            rate_max_deg_s=self.constants.rejoin_speed_max_deg_s,
        )
        self.phase = Following(segment, rejoin)

    def _enter_fault(self, pending: PendingFault, at_ns: int) -> None:
        moving = self._braked_from(at_ns)
        self.pending = None
        accel = self.constants.own_accel_deg_s2
        if pending.response is Response.SETTLE:
            settle = Rejoin.of(
                at_ns,
                difference(moving[0], pending.target_deg),
                moving[1],
                accel_deg_s2=accel,
                rate_max_deg_s=self.constants.sweep_speed_max_deg_s,
            )
            self.phase = Settling(pending.target_deg, settle)
            return
        self.phase = plan_sweep(
            at_ns,
            moving,
            pending.jump_deg_s,
            travel_deg=self.constants.sweep_travel_deg(max(map(abs, pending.jump_deg_s))),
            speed_max_deg_s=self.constants.sweep_speed_max_deg_s,
            accel_deg_s2=accel,
            lower_deg=self.joint_limits.lower_deg,
            upper_deg=self.joint_limits.upper_deg,
        )

    def _enter_braking(self, at_ns: int) -> None:
        moving = self._braked_from(at_ns)
        still = not any(moving[1])
        self.phase = Rest(moving[0]) if still else Braking.of(at_ns, moving, self.constants.own_accel_deg_s2)

    def _braked_from(self, at_ns: int) -> Moving:
        """Pose now, and the velocity that has to be braked out of whatever the arm was doing."""
        phase = self.phase
        return self._held(phase.steady_at(at_ns) if isinstance(phase, Following) else phase.at(at_ns))
