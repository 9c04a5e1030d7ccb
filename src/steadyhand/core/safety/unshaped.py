"""The stream without a shaper: what comes in goes out, as far as the guards let it.

For an arm whose configuration has no shaper, which the policy allows for types that are not
strict: simulations that study what unshaped streams do. It keeps the shaper's contract, so that
nothing else has to know.
"""

from collections.abc import Sequence

from steadyhand.core.safety.shaper import Proposal, ShaperMisuseError


class UnshapedStream:
    """Passes raw targets; remembers the last one sent, for its velocity.

    Args:
        n_joints: joints of the arm.
        period_s: cmdT.
    """

    def __init__(self, *, n_joints: int, period_s: float) -> None:
        self._n_joints = n_joints
        self._period_s = period_s
        self._sent_deg: tuple[float, ...] | None = None
        self._velocity_deg_s: tuple[float, ...] = ()

    def prime(self, measured_deg: Sequence[float]) -> None:
        """Start from rest at the measured pose."""
        self._sent_deg = tuple(measured_deg)
        self._velocity_deg_s = (0.0,) * self._n_joints

    def forget(self) -> None:
        """Drop the state on stream exit."""
        self._sent_deg = None
        self._velocity_deg_s = ()

    def propose(self, target_deg: Sequence[float], *, fresh: bool = True) -> Proposal:
        """The raw target, with the velocity it implies."""
        del fresh  # a raw target is passed whatever its age
        velocities = [
            (target - sent) / self._period_s
            for target, sent in zip(target_deg, self._sent_or_raise(), strict=True)
        ]
        return Proposal(joints_deg=tuple(target_deg), velocities_deg_s=tuple(velocities))

    def propose_brake(self) -> Proposal:
        """Stand where the last frame was: without a shaper there is no other stop."""
        return Proposal(joints_deg=self._sent_or_raise(), velocities_deg_s=(0.0,) * self._n_joints)

    def commit(self, proposal: Proposal) -> None:
        """The socket took this frame."""
        self._sent_deg = proposal.joints_deg
        self._velocity_deg_s = proposal.velocities_deg_s

    @property
    def at_rest(self) -> bool:
        """Whether the last two frames were the same."""
        return not any(self._velocity_deg_s)

    def _sent_or_raise(self) -> tuple[float, ...]:
        if self._sent_deg is None:
            raise ShaperMisuseError("no stream is engaged")
        return self._sent_deg
