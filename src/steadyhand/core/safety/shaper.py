"""The stream shaper: whatever comes in, a physically legal motion goes out (document 001, R8).

It sits at the single point every producer passes before the wire, and it never trips: any target
becomes a motion with |v| ≤ v_max and |Δv| ≤ a_max·T. Its state is the last *sent* setpoint and its
velocity, so it is primed on the measured pose when a stream engages and forgets on exit; a
re-engaged stream never ramps out of a stale target.

A tick has two halves, since writes can fail: `propose` computes the next frame, `commit` makes it
the state once the socket took it. A frame that was dropped leaves the state where the controller
last saw it.
"""

import math
from collections.abc import Iterator, Sequence
from operator import sub
from typing import Final, Protocol

import msgspec

from steadyhand.core.safety.braking import brake, braking_trail_deg, motion_bounds
from steadyhand.core.safety.feed_forward import TargetVelocity
from steadyhand.core.safety.jerk import JerkSolver, JerkState, checked_step
from steadyhand.core.safety.laws import MotionLaws
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.ground.config_safety import StreamShaperConfig
from steadyhand.ground.errors import SteadyhandError

TARGET_LIMIT_DEG: Final = 1e6
"""Beyond this a number is no joint angle; refused with NaN and infinity, before the arithmetic."""
SURELY_ANGLES_DEG: Final = 0.5 * TARGET_LIMIT_DEG
"""No number among joints of less than this length together is beyond the limit; a NaN has none."""

STRAIGHT_SHARES: Final = (1.0, 0.25)
"""At a wall: how much of the straight line to the target, against a full brake, is tried."""


class ShaperMisuseError(SteadyhandError):
    """The shaper was given what it must never see; the data path stops the arm on it (lane 3)."""


class StopGate(Protocol):
    """Says whether an arm sent to a pose at some velocities could still stop where it may be."""

    def allows(self, joints_deg: Sequence[float], velocities_deg_s: Sequence[float]) -> bool:
        """Tell whether frame and full brake from it stay inside; shapes (n_joints,), deg and °/s."""
        ...


class Proposal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One frame for the wire, not sent yet.

    Attributes:
        joints_deg: the setpoint to send, shape (n_joints,), degrees.
        velocities_deg_s: its velocity over the tick, shape (n_joints,), °/s.
        jump_deg: signed distance of a raw target that lies beyond the braking trail, told once
            per episode; 0.0 otherwise.
        jump_joint: the joint that jumped, counted from 0.
        walled: whether a wall changed the frame.
        plan: where a jerk-limited plan stands after this frame; None without one.
        serial: which proposal this is; only the newest can be committed.
    """

    joints_deg: tuple[float, ...]
    velocities_deg_s: tuple[float, ...]
    jump_deg: float = 0.0
    jump_joint: int = 0
    walled: bool = False
    plan: JerkState | None = None
    serial: int = 0


class Chosen(msgspec.Struct, frozen=True, gc=False):
    """A frame and how it came about; see `Proposal`."""

    joints_deg: list[float]
    velocities_deg_s: list[float]
    walled: bool = False
    plan: JerkState | None = None


class StreamShaper:
    """Bounds the stream of one arm; see the module.

    Args:
        config: v_max, a_max and the options of R8.
        n_joints: joints of the arm.
        period_s: cmdT, nominal (R2: a trimmed tick does not change it).
        limits_deg: joint limits that gate feed-forward, one pair per joint, or empty.
        tcp_bound: bound on the commanded tool speed, where one is configured.
        jerk_solver: plans under a jerk bound, where one is configured.
    """

    def __init__(
        self,
        config: StreamShaperConfig,
        *,
        n_joints: int,
        period_s: float,
        limits_deg: tuple[tuple[float, float], ...] = (),
        tcp_bound: TcpBound | None = None,
        jerk_solver: JerkSolver | None = None,
    ) -> None:
        self._bounds = motion_bounds(a_max_deg_s2=config.a_max_deg_s2, period_s=period_s)
        self._laws = MotionLaws(
            bounds=self._bounds,
            v_max_deg_s=config.v_max_deg_s,
            synchronised=config.synchronised,
            limits_deg=limits_deg,
            tcp_bound=tcp_bound,
        )
        self._n_joints = n_joints
        self._limits_deg = limits_deg
        self._jerk_solver = jerk_solver
        self._walls: StopGate | None = None
        self._highest_ceiling_deg_s = self._ceiling_deg_s = config.v_max_deg_s
        self._trail_deg = braking_trail_deg(config.v_max_deg_s, self._bounds)
        self._follows = TargetVelocity(period_s) if config.mode == "feed_forward" else None
        self._sent_deg: tuple[float, ...] | None = None
        self._velocity_deg_s: tuple[float, ...] = ()
        self._plan: JerkState | None = None
        self._jumping = False
        self._serial = 0

    # ---- engage and exit

    def prime(self, measured_deg: Sequence[float]) -> None:
        """Start from rest at the measured pose, whatever was sent before.

        This closes the trigger of the enable window, in which setpoints ran 4.8° ahead of an arm
        that did not execute yet (document 001, experiment 2).

        Raises:
            ShaperMisuseError: a wrong number of joints, or a number that is no angle.
        """
        self._refuse_bad(measured_deg)
        self._restart()
        self._sent_deg = tuple(measured_deg)
        self._velocity_deg_s = (0.0,) * self._n_joints

    def forget(self) -> None:
        """Drop the state on stream exit."""
        self._restart()
        self._sent_deg = None
        self._velocity_deg_s = ()

    def _restart(self) -> None:
        """What prime and forget share: no plan, no trust in the target, no open proposal."""
        self._plan = None
        self._jumping = False
        self._serial += 1
        if self._follows is not None:
            self._follows.forget()

    # ---- one tick

    def propose(self, target_deg: Sequence[float], *, fresh: bool = True) -> Proposal:
        """Compute the next frame toward a raw target; what was sent stays as it is.

        Args:
            target_deg: the raw target, shape (n_joints,), degrees; it may jump in any way.
            fresh: whether it is a new setpoint; held, stale and re-sent ones are not.

        Raises:
            ShaperMisuseError: not primed, a wrong number of joints, or a number that is no angle.
        """
        self._refuse_bad(target_deg)
        sent = self._primed()
        gaps = list(map(sub, target_deg, sent))
        if self._jerk_solver is None:
            moving = None if self._follows is None else self._follows.observe(target_deg, fresh=fresh)
            chosen = self._choose(gaps, moving, sent)
        else:
            chosen = self._follow_plan(self._jerk_solver, target_deg, gaps, sent)
        jump_deg, jump_joint = self._notice_jump(gaps)
        return self._proposal(chosen, jump_deg=jump_deg, jump_joint=jump_joint)

    def propose_brake(self) -> Proposal:
        """Compute the next frame of a soft stop: every joint toward rest at a_max.

        Raises:
            ShaperMisuseError: not primed.
        """
        return self._proposal(self._braked(self._primed(), walled=False))

    def commit(self, proposal: Proposal) -> None:
        """The socket took this frame: it is now the last sent setpoint.

        Raises:
            ShaperMisuseError: it is not the newest proposal, was committed before, or is older
                than the last prime or forget.
        """
        if proposal.serial != self._serial:
            raise ShaperMisuseError(
                f"proposal {proposal.serial} cannot be committed; the open one is {self._serial}"
            )
        self._serial += 1
        self._sent_deg = proposal.joints_deg
        self._velocity_deg_s = proposal.velocities_deg_s
        self._plan = proposal.plan

    # ---- what may change while it runs, and what may be asked

    def set_ceiling(self, v_max_deg_s: float) -> None:
        """Lower v_max or restore it (R19's DEGRADED); a lower one is approached at a_max (R8).

        Raises:
            ShaperMisuseError: outside (0, v_max of the configuration].
        """
        if not 0.0 < v_max_deg_s <= self._highest_ceiling_deg_s:
            raise ShaperMisuseError(
                f"a ceiling of {v_max_deg_s:g} °/s is outside (0, {self._highest_ceiling_deg_s:g}]"
            )
        self._ceiling_deg_s = v_max_deg_s

    def set_walls(self, walls: StopGate | None) -> None:
        """Put walls around the stopping point, or take them away."""
        self._walls = walls

    @property
    def ceiling_deg_s(self) -> float:
        """The speed ceiling in force."""
        return self._ceiling_deg_s

    @property
    def sent_deg(self) -> tuple[float, ...] | None:
        """The last sent setpoint, shape (n_joints,); None while no stream is engaged."""
        return self._sent_deg

    @property
    def velocity_deg_s(self) -> tuple[float, ...]:
        """The velocity of the last sent setpoint, shape (n_joints,); empty while not engaged."""
        return self._velocity_deg_s

    @property
    def at_rest(self) -> bool:
        """Whether no joint moves on the wire."""
        return not any(self._velocity_deg_s)

    # ---- which frame is chosen

    def _choose(self, gaps: list[float], moving: list[float] | None, sent: tuple[float, ...]) -> Chosen:
        """Feed-forward while the target's velocity is trusted, else `rest_target`; then what walls leave.

        The full brake is not asked: it was allowed together with the frame it continues.
        """
        walls, velocity, ceiling = self._walls, self._velocity_deg_s, self._ceiling_deg_s
        if moving is None:
            speeds = self._laws.rest(gaps, velocity, ceiling)
        else:
            speeds = self._laws.feed_forward(gaps, moving, sent, velocity, ceiling)
        joints = self._advanced(sent, speeds)
        if walls is None or walls.allows(joints, speeds):
            return Chosen(joints, speeds)
        for slower in self._at_a_wall(gaps, moving is not None):
            joints = self._advanced(sent, slower)
            if walls.allows(joints, slower):
                return Chosen(joints, slower, True)
        return self._braked(sent, walled=True)

    def _at_a_wall(self, gaps: list[float], followed: bool) -> Iterator[list[float]]:
        """What is tried at a wall, in this order.

        `rest_target`, where it was feed-forward that went too far; the straight line to the target,
        which bows less than joints that arrive one after the other; a slow part of it.
        """
        velocity, ceiling = self._velocity_deg_s, self._ceiling_deg_s
        if followed:
            yield self._laws.rest(gaps, velocity, ceiling)
        straight = self._laws.straight(gaps, velocity, ceiling)
        stopping = brake(velocity, self._bounds.step_deg_s)
        for share in STRAIGHT_SHARES:
            yield [slow + share * (straight[index] - slow) for index, slow in enumerate(stopping)]

    def _follow_plan(
        self, solver: JerkSolver, target_deg: Sequence[float], gaps: list[float], sent: tuple[float, ...]
    ) -> Chosen:
        """One step of the jerk-limited plan, or a full brake where it cannot be followed.

        A plan is dropped as soon as the wire departs from it, and begun anew from the wire's own
        velocity. Where the tool's bound slows synchronised joints, one may keep more speed than its
        plan, so its limits are asked about once more.
        """
        velocity, walls = self._velocity_deg_s, self._walls
        step = checked_step(
            solver,
            self._plan or JerkState(sent, velocity, (0.0,) * self._n_joints),
            target_deg=target_deg,
            wire_deg_s=velocity,
            v_max_deg_s=self._ceiling_deg_s,
            plan_v_max_deg_s=self._laws.plan_ceiling_deg_s(gaps, self._ceiling_deg_s),
            bounds=self._bounds,
            limits_deg=self._limits_deg,
        )
        if step is None:
            return self._braked(sent, walled=False)
        speeds = self._laws.tool_bounded(step.wire_deg_s, velocity)
        kept = speeds is step.wire_deg_s
        if not kept and self._laws.passing(sent, speeds):
            return self._braked(sent, walled=False)
        joints = self._advanced(sent, speeds)
        if walls is not None and not walls.allows(joints, speeds):
            return self._braked(sent, walled=True)
        return Chosen(joints, speeds, False, step.state if kept else None)

    def _braked(self, sent: tuple[float, ...], *, walled: bool) -> Chosen:
        """Every joint one full step toward rest."""
        speeds = brake(self._velocity_deg_s, self._bounds.step_deg_s)
        return Chosen(self._advanced(sent, speeds), speeds, walled)

    # ---- small steps

    def _proposal(self, chosen: Chosen, *, jump_deg: float = 0.0, jump_joint: int = 0) -> Proposal:
        """Number the frame; the one before can no longer be committed."""
        self._serial += 1
        return Proposal(
            joints_deg=tuple(chosen.joints_deg),
            velocities_deg_s=tuple(chosen.velocities_deg_s),
            jump_deg=jump_deg,
            jump_joint=jump_joint,
            walled=chosen.walled,
            plan=chosen.plan,
            serial=self._serial,
        )

    def _advanced(self, sent: tuple[float, ...], velocities: list[float]) -> list[float]:
        """Where one tick at these velocities leads."""
        period_s = self._bounds.period_s
        return [position + velocities[index] * period_s for index, position in enumerate(sent)]

    def _notice_jump(self, gaps: list[float]) -> tuple[float, int]:
        """Tell a target beyond the maximum braking trail, once until it is back within.

        No stream within the bounds ever gets that far ahead; it is absorbed, and worth a line.
        """
        trail_deg = self._trail_deg
        if max(gaps) <= trail_deg and min(gaps) >= -trail_deg:
            self._jumping = False
            return 0.0, 0
        if self._jumping:
            return 0.0, 0
        self._jumping = True
        joint = max(range(len(gaps)), key=lambda index: abs(gaps[index]))
        return gaps[joint], joint

    def _primed(self) -> tuple[float, ...]:
        """The last sent setpoint; there is one while a stream is engaged."""
        if self._sent_deg is None:
            raise ShaperMisuseError("the shaper is not primed: no stream is engaged")
        return self._sent_deg

    def _refuse_bad(self, joints_deg: Sequence[float]) -> None:
        """Only joint angles reach the arithmetic; R10 rejects the rest before it comes here."""
        if len(joints_deg) != self._n_joints:
            raise ShaperMisuseError(f"{len(joints_deg)} joints for an arm of {self._n_joints}")
        if math.hypot(*joints_deg) < SURELY_ANGLES_DEG:
            return
        for angle in joints_deg:
            # Negated chain, so that a NaN is refused too.
            if not -TARGET_LIMIT_DEG < angle < TARGET_LIMIT_DEG:
                raise ShaperMisuseError(f"{angle} is no joint angle")
