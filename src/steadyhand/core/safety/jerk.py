"""The optional jerk bound, by the Ruckig library: planned there, checked here.

The library is an extra and is loaded only when a configuration asks for it; the core runs without
it. It is never trusted: it raises on inputs that its own validation accepts (its issues 141, 160
and 194, still so in 0.19.4), so whatever it answers is held to the wire's bounds, and anything
else becomes a full brake under the plain law.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from steadyhand.core.safety.braking import MotionBounds
from steadyhand.core.safety.feed_forward import within_limits
from steadyhand.ground.errors import ConfigError

SOLVER_TOLERANCE: Final = 1e-9
"""How far a plan may pass a bound by rounding, °/s; the promise of the wire itself."""


class JerkState(msgspec.Struct, frozen=True, gc=False):
    """Where a plan stands at the end of a tick: shapes (n_joints,), degrees, °/s and °/s²."""

    position_deg: tuple[float, ...]
    velocity_deg_s: tuple[float, ...]
    acceleration_deg_s2: tuple[float, ...]


class JerkRequest(msgspec.Struct, frozen=True, gc=False):
    """What a solver was asked: `JerkSolver.step`'s arguments."""

    state: JerkState
    target_deg: tuple[float, ...]
    v_max_deg_s: float


class JerkSolver(Protocol):
    """One tick of a plan to a target at rest."""

    def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState | None:
        """Advance `state` by one period, or None where no plan was found. Never raises."""
        ...


class CheckedStep(msgspec.Struct, frozen=True):
    """A plan's step that keeps the wire's bounds: the velocity over the tick, and its end."""

    wire_deg_s: list[float]
    state: JerkState


def checked_step(
    solver: JerkSolver,
    state: JerkState,
    *,
    target_deg: Sequence[float],
    wire_deg_s: Sequence[float],
    v_max_deg_s: float,
    plan_v_max_deg_s: float,
    bounds: MotionBounds,
    limits_deg: tuple[tuple[float, float], ...],
) -> CheckedStep | None:
    """Take one step of the plan if the wire may carry it; None means: brake.

    Args:
        solver: the planner.
        state: where the plan stands; its position is the last sent setpoint.
        target_deg: the raw target, shape (n_joints,).
        wire_deg_s: velocity of the last sent setpoint, shape (n_joints,).
        v_max_deg_s: the ceiling in force, which the wire keeps.
        plan_v_max_deg_s: the ceiling that is planned with, no higher; a joint may still be above it.
        bounds: the arm's constants.
        limits_deg: joint limits that the stopping point must keep, or empty.
    """
    planned = solver.step(state, target_deg, plan_v_max_deg_s)
    if planned is None or len(planned.position_deg) != len(state.position_deg):
        return None
    velocities = []
    for index, end in enumerate(planned.position_deg):
        velocity = (end - state.position_deg[index]) / bounds.period_s
        have = wire_deg_s[index]
        # Negated, so that a NaN fails too.
        if not abs(velocity - have) <= bounds.step_deg_s + SOLVER_TOLERANCE:
            return None
        # The tolerance is the ceiling's alone: on top of `have` it would add up from tick to tick.
        if not abs(velocity) <= max(v_max_deg_s + SOLVER_TOLERANCE, abs(have)):
            return None
        if limits_deg and not within_limits(end, velocity, limits_deg[index], bounds):
            return None
        velocities.append(velocity)
    return CheckedStep(velocities, planned)


class RuckigSolver:
    """Ruckig's online generator, one period at a time.

    While it is asked for what it has answered itself, it goes on along one trajectory; the same question
    put to a new generator differs in the last digits. So it is remembered where the trajectory began.

    Args:
        n_joints: joints of the arm.
        period_s: cmdT.
        a_max_deg_s2: acceleration bound.
        jerk_max_deg_s3: jerk bound.
        synchronised: keep all joints on one straight line ("phase" synchronisation).

    Raises:
        ConfigError: the library is not installed.
    """

    def __init__(
        self,
        *,
        n_joints: int,
        period_s: float,
        a_max_deg_s2: float,
        jerk_max_deg_s3: float,
        synchronised: bool,
    ) -> None:
        try:
            import ruckig  # noqa: PLC0415 - an extra; only a jerk bound needs it
        except ImportError as error:
            raise ConfigError(
                "a jerk bound needs the ruckig library, which is not installed",
                where="safety.stream_shaper.jerk_max_deg_s3",
                hint="install the extra 'peers', or leave the jerk bound out",
            ) from error
        self._generator = ruckig.Ruckig(n_joints, period_s)
        self._output = ruckig.OutputParameter(n_joints)
        self._input = ruckig.InputParameter(n_joints)
        self._input.max_acceleration = [a_max_deg_s2] * n_joints
        self._input.max_jerk = [jerk_max_deg_s3] * n_joints
        self._input.synchronization = (
            ruckig.Synchronization.Phase if synchronised else ruckig.Synchronization.No
        )
        self._found = (ruckig.Result.Working, ruckig.Result.Finished)
        self._error = ruckig.RuckigError
        self._n_joints = n_joints
        self._origin: JerkRequest | None = None
        """What the trajectory in force was made for."""
        self._steps = 0
        """Periods since."""

    def step(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState | None:
        """Advance by one period; None on any error the library reports or raises."""
        answer = self._update(state, target_deg, v_max_deg_s)
        if answer is None:
            self._begin_anew()
            return None
        if self._output.new_calculation:
            self._origin, self._steps = JerkRequest(state, tuple(target_deg), v_max_deg_s), 0
        self._steps += 1
        return answer

    def resume(self) -> None:
        """Bring the library back to where `_origin` and `_steps` say: after a snapshot was put back.

        A period costs some microseconds here, since the trajectory is walked.
        """
        origin = self._origin
        self._generator.reset()
        if origin is None:
            return
        state = origin.state
        for _ in range(self._steps):
            # Each of them was answered once, and so it is again.
            state = self._update(state, origin.target_deg, origin.v_max_deg_s) or state

    def _begin_anew(self) -> None:
        """A calculation that failed may have left half a trajectory behind."""
        self._generator.reset()
        self._origin, self._steps = None, 0

    def _update(self, state: JerkState, target_deg: Sequence[float], v_max_deg_s: float) -> JerkState | None:
        request = self._input
        request.current_position = list(state.position_deg)
        request.current_velocity = list(state.velocity_deg_s)
        request.current_acceleration = list(state.acceleration_deg_s2)
        request.target_position = list(target_deg)
        request.max_velocity = [v_max_deg_s] * self._n_joints
        try:
            result = self._generator.update(request, self._output)
        except (self._error, RuntimeError, ValueError):
            return None
        if result not in self._found:
            return None
        return JerkState(
            tuple(self._output.new_position),
            tuple(self._output.new_velocity),
            tuple(self._output.new_acceleration),
        )
