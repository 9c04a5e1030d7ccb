"""The command ladder: what a frame must pass before it may be written (document 003, step 11).

A rule answers a refusal, or None to let the next one look; the first refusal ends the tick and
nothing is written. Every frame passes: fresh, held, synchronous, and those of a soft stop.
"""

from collections.abc import Callable
from typing import Final

from steadyhand.core.safety.suite import Command, GuardSuite
from steadyhand.core.safety.verdicts import JumpAbsorbed, Refused, WallHeld

Rule = Callable[[GuardSuite, Command], Refused | None]


def refuse_while_tripped(suite: GuardSuite, command: Command) -> Refused | None:
    """A guard that has tripped refuses every frame until the reset, before the shaper is asked."""
    if not suite.any_tripped:
        return None
    guard = suite.tripped()[0]
    return Refused(guard=guard, reason=suite.locks[guard].last_reason, tripped=True)


def joint_limits(suite: GuardSuite, command: Command) -> Refused | None:
    """The raw target's joints are angles, as many as the arm has, inside their limits."""
    found = suite.joint_limits.check(command.target_deg)
    return suite.judge(suite.joint_limits_lock, found, command.now_ns)


def work_area(suite: GuardSuite, command: Command) -> Refused | None:
    """The raw target's tool point lies inside the work area."""
    if suite.workarea is None:
        return None
    return suite.judge(suite.workarea_lock, suite.workarea.check(command.target_deg), command.now_ns)


def shape(suite: GuardSuite, command: Command) -> Refused | None:
    """The shaper turns the target into the next legal frame; it never refuses."""
    proposal = suite.parts.stream.propose(command.target_deg, fresh=command.fresh)
    command.proposal = proposal
    if proposal.jump_deg:
        name = suite.parts.joint_names[proposal.jump_joint]
        suite.events.append(JumpAbsorbed(joint=name, distance_deg=proposal.jump_deg, at_ns=command.now_ns))
    if proposal.walled and not suite.wall_held:
        suite.events.append(WallHeld(at_ns=command.now_ns))
    suite.wall_held = proposal.walled
    return None


def brake_to_rest(suite: GuardSuite, command: Command) -> Refused | None:
    """The shaper answers the next frame of a soft stop, whatever the target."""
    command.proposal = suite.parts.stream.propose_brake()
    return None


def state_feed(suite: GuardSuite, command: Command) -> Refused | None:
    """The newest measured frame is young enough to judge the arm by (R9)."""
    violation = suite.parts.state_feed.check(command.now_ns - suite.measured_ns)
    return suite.judge(suite.state_feed_lock, violation, command.now_ns)


def divergence(suite: GuardSuite, command: Command) -> Refused | None:
    """The measured arm is where the sent frames, and the lag, say it should be (R9)."""
    guard, proposal, measured_deg = suite.parts.divergence, command.proposal, suite.measured_deg
    if guard is None or proposal is None or measured_deg is None:
        return None
    violation = guard.judge(
        proposal,
        measured_deg,
        age_ns=max(0, command.now_ns - suite.measured_ns),
        now_ns=command.now_ns,
    )
    return suite.judge(suite.divergence_lock, violation, command.now_ns)


COMMAND_LADDER: Final[tuple[Rule, ...]] = (
    refuse_while_tripped,
    joint_limits,
    work_area,
    shape,
    state_feed,
    divergence,
)
"""Order of document 003 with document 001's two parts: raw target, shaper, then the arm itself."""

BRAKE_LADDER: Final[tuple[Rule, ...]] = (
    refuse_while_tripped,
    brake_to_rest,
    state_feed,
    divergence,
)
"""A soft stop has no target; the arm is watched all the same."""
