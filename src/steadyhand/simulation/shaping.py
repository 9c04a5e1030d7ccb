"""A raw stream through the shaper into the controller model, and the same stream without the shaper.

What the documents promise together is seen here together: whatever comes in, the controller never
faults on what the shaper sends (001), and does fault on the same stream unshaped. Pure and in virtual
time; the same scenario gives the same result.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from steadyhand.core.controller.kinds import ARM_OF
from steadyhand.core.safety.policy import reach_m
from steadyhand.core.safety.shaper import Proposal, StreamShaper
from steadyhand.core.safety.tcp_bound import TcpBound
from steadyhand.core.safety.unshaped import UnshapedStream
from steadyhand.ground.builtin_motions import HOME_DEG
from steadyhand.ground.motion import JointsDeg
from steadyhand.simulation.shaping_arm import Fault, VirtualArm
from steadyhand.simulation.shaping_scenario import ShapeScenario

PROGRESS_EVERY: Final = 2048


class ShapeLane(msgspec.Struct, frozen=True, kw_only=True):
    """One way of sending the raw stream, and what became of it. One entry a tick.

    Attributes:
        name: "shaped", "unshaped", "ruckig_2" or "ruckig_3".
        sent_deg: the frames, shape (n_ticks, 6).
        arm_deg: the measured arm at the instant of each frame.
        arm_deg_s: its speed there.
        faults: frames the controller took for a fault.
        first_fault: the first of them.
        sweep_deg: how far the longest sweep went.
        rejected: frames that were not taken.
        planned_s: a peer's own plan: duration of the one made when the target last changed.
        solver_errors: ticks for which a peer found no plan.
    """

    name: str
    sent_deg: list[JointsDeg]
    arm_deg: list[JointsDeg]
    arm_deg_s: list[JointsDeg]
    faults: int
    first_fault: Fault | None
    sweep_deg: float
    rejected: int
    planned_s: float | None = None
    solver_errors: int = 0


class ShapeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario and its lanes: shaped, unshaped, then the peers."""

    scenario: ShapeScenario
    lanes: tuple[ShapeLane, ...]


class WireLaw(Protocol):
    """Turns raw targets into frames; the contract of the shaper, the unshaped stream and the peers."""

    def prime(self, measured_deg: Sequence[float]) -> None:
        """Start from rest at the measured pose."""
        ...

    def propose(self, target_deg: Sequence[float], *, fresh: bool = True) -> Proposal:
        """Compute the next frame."""
        ...

    def propose_brake(self) -> Proposal:
        """Compute the next frame of a soft stop."""
        ...

    def commit(self, proposal: Proposal) -> None:
        """The frame was sent."""
        ...


class ArmStream:
    """A law between a raw stream and an arm: engage, a tick after the other, leave, engage again.

    Args:
        law: what makes frames of targets.
        arm: what takes them.
    """

    def __init__(self, law: WireLaw, arm: VirtualArm) -> None:
        self.law = law
        self.arm = arm
        self.sent_deg: list[JointsDeg] = []

    def engage(self) -> None:
        """Prime on the measured pose and open the stream."""
        self.law.prime(self.arm.measured_deg)
        self.arm.open_stream()

    def tick(self, target_deg: JointsDeg, *, fresh: bool = True) -> None:
        """One raw target; the frame is sent, whatever the controller answers."""
        self._send(self.law.propose(target_deg, fresh=fresh))

    def leave(self, *, brake_ticks: int, wait: bool = True) -> None:
        """Brake for so many ticks (none is an e-stop), end the stream; `wait` until the arm stands.

        The arm stands one lag after the wire does, or later where the stream ended in full motion.
        """
        for _ in range(brake_ticks):
            self._send(self.law.propose_brake())
        self.arm.close_stream()
        while wait and not self.arm.at_rest:
            self.arm.tick(None)

    def _send(self, proposal: Proposal) -> None:
        self.law.commit(proposal)
        self.sent_deg.append(proposal.joints_deg)
        self.arm.tick(proposal.joints_deg)


def shape(
    scenario: ShapeScenario, *, compare: bool = False, progress: Callable[[float], None] | None = None
) -> ShapeResult:
    """Send the raw stream shaped, unshaped, and, with `compare`, by Ruckig of both orders.

    Raises:
        InputError: a comparison without the `ruckig` library.
    """
    laws: dict[str, WireLaw] = {
        "shaped": shaper_of(scenario),
        "unshaped": UnshapedStream(n_joints=len(HOME_DEG), period_s=scenario.period_s),
    }
    peers = {}
    if compare:
        from steadyhand.simulation.ruckig_peer import RuckigPeer  # noqa: PLC0415 - loads an extra

        for name, jerk in (("ruckig_2", None), ("ruckig_3", scenario.jerk_max_deg_s3)):
            peers[name] = RuckigPeer(
                scenario.shaper, n_joints=len(HOME_DEG), period_s=scenario.period_s, jerk_max_deg_s3=jerk
            )
    laws.update(peers)
    lanes = []
    for place, (name, law) in enumerate(laws.items()):
        lane = _play(name, law, scenario, _part(progress, place, len(laws)))
        peer = peers.get(name)
        if peer is not None:
            lane = msgspec.structs.replace(lane, planned_s=peer.planned_s, solver_errors=peer.errors)
        lanes.append(lane)
    return ShapeResult(scenario=scenario, lanes=tuple(lanes))


def shaper_of(scenario: ShapeScenario) -> StreamShaper:
    """The scenario's shaper, with the joint limits of its arm and the tool bound its trigger calls for."""
    arm, max_m_s = ARM_OF[scenario.model], scenario.tool_bound_m_s
    limits = arm.limits
    return StreamShaper(
        scenario.shaper,
        n_joints=limits.n_joints,
        period_s=scenario.period_s,
        limits_deg=tuple(zip(limits.lower_deg, limits.upper_deg, strict=True)),
        tcp_bound=None if max_m_s is None else TcpBound(max_m_s=max_m_s, reach_m=reach_m(arm.chain)),
    )


def arm_of(scenario: ShapeScenario) -> VirtualArm:
    """The scenario's arm, standing at the first target."""
    return VirtualArm(
        scenario.model,
        scenario.trigger,
        seed=scenario.seed,
        pose_deg=scenario.raw_deg[0],
        period_ns=scenario.period_ns,
    )


def _play(name: str, law: WireLaw, scenario: ShapeScenario, progress: Callable[[float], None]) -> ShapeLane:
    stream = ArmStream(law, arm_of(scenario))
    stream.engage()
    for tick, target in enumerate(scenario.raw_deg):
        stream.tick(target)
        if tick % PROGRESS_EVERY == 0:
            progress(tick / len(scenario.raw_deg))
    arm = stream.arm
    return ShapeLane(
        name=name,
        sent_deg=stream.sent_deg,
        arm_deg=arm.poses_deg,
        arm_deg_s=arm.speeds_deg_s,
        faults=arm.faults,
        first_fault=arm.first_fault,
        sweep_deg=arm.sweep_deg,
        rejected=arm.rejected,
    )


def _part(progress: Callable[[float], None] | None, place: int, parts: int) -> Callable[[float], None]:
    """Progress of one lane as a part of the whole."""
    return lambda share: progress((place + share) / parts) if progress is not None else None
