"""Ruckig in the shaper's place: what the known library makes of the same raw stream.

Used as its own examples use it: one instance that is told the newest target each period and goes on
from its own last state; the target is a pose at rest, which is all a raw stream says. Without a jerk
bound it is of second order, the time-optimal answer under the shaper's own bounds.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

from steadyhand.core.safety.braking import brake
from steadyhand.core.safety.shaper import Proposal
from steadyhand.ground.config_safety import StreamShaperConfig
from steadyhand.ground.errors import InputError


class RuckigPeer:
    """One arm's stream by Ruckig's online generator, with the shaper's contract.

    Where it finds no plan (it raises on inputs that its own validation accepts), every joint brakes
    for that tick and the tick is counted.

    Args:
        config: v_max, a_max and synchronised are taken; the mode is not, Ruckig knows none.
        n_joints: joints of the arm.
        period_s: cmdT.
        jerk_max_deg_s3: third order with this bound, or None for second order.

    Raises:
        InputError: the library is not installed.
    """

    def __init__(
        self, config: StreamShaperConfig, *, n_joints: int, period_s: float, jerk_max_deg_s3: float | None
    ) -> None:
        self._library = _library()
        self._period_s = period_s
        self._step_deg_s = config.a_max_deg_s2 * period_s
        self._generator = self._library.Ruckig(n_joints, period_s)
        self._output = self._library.OutputParameter(n_joints)
        self._input = request = self._library.InputParameter(n_joints)
        request.max_velocity = [config.v_max_deg_s] * n_joints
        request.max_acceleration = [config.a_max_deg_s2] * n_joints
        request.max_jerk = [inf if jerk_max_deg_s3 is None else jerk_max_deg_s3] * n_joints
        kinds = self._library.Synchronization
        request.synchronization = kinds.Phase if config.synchronised else kinds.No
        self._zeros = [0.0] * n_joints
        self._sent_deg: tuple[float, ...] = tuple(self._zeros)
        self._velocity_deg_s: tuple[float, ...] = tuple(self._zeros)
        self._target_deg: list[float] | None = None
        self.planned_s: float | None = None
        self.errors = 0

    def prime(self, measured_deg: Sequence[float]) -> None:
        """Start from rest at the measured pose."""
        self._sent_deg = tuple(measured_deg)
        self._velocity_deg_s = tuple(self._zeros)
        self._target_deg = list(measured_deg)
        self._restart(self._sent_deg, self._zeros)

    def propose(self, target_deg: Sequence[float], *, fresh: bool = True) -> Proposal:
        """One period of the plan toward the target at rest; the mode, and so `fresh`, is the shaper's."""
        del fresh
        target = list(target_deg)
        self._input.target_position = target
        try:
            found = self._generator.update(self._input, self._output)
        except (self._library.RuckigError, RuntimeError, ValueError):
            found = self._library.Result.Error
        if found not in (self._library.Result.Working, self._library.Result.Finished):
            self.errors += 1
            return self.propose_brake()
        if target != self._target_deg:
            self._target_deg = target
            self.planned_s = self._output.trajectory.duration
        self._output.pass_to_input(self._input)
        return self._proposal(self._output.new_position)

    def propose_brake(self) -> Proposal:
        """Every joint one full step toward rest; the generator starts anew from there."""
        speeds = brake(self._velocity_deg_s, self._step_deg_s)
        joints = [sent + speed * self._period_s for sent, speed in zip(self._sent_deg, speeds, strict=True)]
        self._restart(joints, speeds)
        return self._proposal(joints)

    def commit(self, proposal: Proposal) -> None:
        """The frame was sent."""
        self._sent_deg = proposal.joints_deg
        self._velocity_deg_s = proposal.velocities_deg_s

    def _restart(self, joints_deg: Sequence[float], velocities_deg_s: Sequence[float]) -> None:
        self._input.current_position = list(joints_deg)
        self._input.current_velocity = list(velocities_deg_s)
        self._input.current_acceleration = self._zeros

    def _proposal(self, joints_deg: Sequence[float]) -> Proposal:
        """A frame, with the velocity that two frames in a row imply."""
        velocities = [
            (joint - sent) / self._period_s for joint, sent in zip(joints_deg, self._sent_deg, strict=True)
        ]
        return Proposal(joints_deg=tuple(joints_deg), velocities_deg_s=tuple(velocities))


def _library() -> Any:
    """The `ruckig` module."""
    try:
        import ruckig  # noqa: PLC0415 - an extra; only a comparison needs it
    except ImportError as error:
        raise InputError(
            "the comparison needs the ruckig library, which is not installed",
            where="--compare",
            hint="pip install steadyhand[peers]",
        ) from error
    return ruckig
