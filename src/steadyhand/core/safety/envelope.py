"""The safety envelope: one object that decides on every frame and reports on every guard.

It is the single reporting surface: whatever trips, trips here, is named in the `safety` dict, and
is cleared by `reset` alone. Nothing leaves but values: verdicts as answers, everything else as
events to be taken.

A tick of the stream: `validate_command` → write → `commit` if the socket took it. A frame of the
state feed: `observe_state`, whether a stream is engaged or not.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from steadyhand.core.safety.ladder import BRAKE_LADDER, COMMAND_LADDER, Rule
from steadyhand.core.safety.report import GuardReport, safety_report
from steadyhand.core.safety.shaper import Proposal, ShaperMisuseError, StreamShaper
from steadyhand.core.safety.suite import Command, GuardSuite, SuiteParts
from steadyhand.core.safety.verdicts import (
    RETIRED_NAMES,
    Allowed,
    CommandVerdict,
    Guard,
    GuardToggled,
    RetiredNameUsed,
    SafetyEvent,
)
from steadyhand.ground.config_safety import SafetyConfig, SafetyKey

SWITCHABLE: Final = (Guard.JOINT_LIMITS, Guard.WORKAREA, Guard.JOINT_SPEED, Guard.EEF_SPEED)
"""What an operator may switch while it runs. The others hold each other up: a shaper without a
divergence guard, or one blind for want of a feed, is what the policy refuses to build."""


class CannotDo(msgspec.Struct, frozen=True):
    """A request that was refused, and why."""

    reason: str


class SafetyEnvelope:
    """Guards, shaper and locks of one arm. Built by `policy.build_envelope`, which checks the rest.

    Args:
        parts: the suite.
        config: what the suite was built from, for the report.
        required: the blocks this robot type cannot be without; their guards cannot be switched off.
    """

    def __init__(self, parts: SuiteParts, config: SafetyConfig, required: Sequence[SafetyKey] = ()) -> None:
        self._parts = parts
        self._config = config
        self._required = frozenset(required)
        self._suite = GuardSuite(parts)
        self._n_joints = len(parts.joint_names)
        self._target_deg: tuple[float, ...] | None = None

    # ---- a stream begins and ends

    def engage(self, now_ns: int) -> CannotDo | None:
        """Prime shaper and divergence guard on the measured pose; None when the stream may begin.

        Refused while a guard is latched, before a measured frame, on one that is too old, and at a
        pose from which every target would be refused.
        """
        measured_deg = self._suite.measured_deg
        if measured_deg is None:
            return CannotDo("no measured frame yet")
        refused = self._cannot_engage(measured_deg, now_ns)
        if refused is not None:
            return CannotDo(refused)
        self._parts.stream.prime(measured_deg)
        if self._parts.divergence is not None:
            self._parts.divergence.restart(measured_deg, now_ns)
        self._target_deg = measured_deg
        return None

    def disengage(self) -> None:
        """The stream is over: drop shaper state and target, so that nothing stale is ever resumed."""
        self._parts.stream.forget()
        self._target_deg = None
        self._suite.wall_held = False

    # ---- the tick

    def validate_command(
        self, target_deg: Sequence[float], now_ns: int, *, fresh: bool = True
    ) -> CommandVerdict:
        """Walk one command down the ladder. Held frames walk it too.

        Args:
            target_deg: the raw target, shape (n_joints,), degrees.
            now_ns: local monotonic time.
            fresh: a setpoint not handed in before; false for holds and re-sent setpoints.

        Raises:
            ShaperMisuseError: no stream is engaged.
        """
        verdict = self._walk(COMMAND_LADDER, Command(target_deg, fresh=fresh, now_ns=now_ns))
        if isinstance(verdict, Allowed):
            self._target_deg = tuple(target_deg)
        return verdict

    def validate_brake(self, now_ns: int) -> CommandVerdict:
        """The next frame of a soft stop; `at_rest` tells when it has ended.

        Raises:
            ShaperMisuseError: no stream is engaged.
        """
        return self._walk(BRAKE_LADDER, Command((), fresh=False, now_ns=now_ns))

    def commit(self, proposal: Proposal, now_ns: int) -> None:
        """The socket took the frame. Not called for a frame that was dropped: no state advances.

        Raises:
            ShaperMisuseError: the proposal is not the open one.
        """
        self._parts.stream.commit(proposal)
        if self._parts.divergence is not None:
            self._parts.divergence.note_sent(proposal.joints_deg, now_ns)

    # ---- the measured arm

    def observe_state(
        self, joints_deg: Sequence[float], arrival_ns: int, *, speeds_deg_s: Sequence[float] = ()
    ) -> bool:
        """Take a frame of the state feed and watch the arm's speeds. False for a frame that is none.

        A frame with the wrong number of joints, or of speeds where it reports any, or with a pose
        that is not finite counts as not arrived, so that a broken feed ends as a stale one.

        Args:
            joints_deg: measured pose, shape (n_joints,).
            arrival_ns: local monotonic time it arrived.
            speeds_deg_s: measured speeds where the controller reports them, shape (n_joints,);
                empty, they are taken from poses, which is slower to notice.
        """
        if len(joints_deg) != self._n_joints or not all(map(math.isfinite, joints_deg)):
            return False
        if len(speeds_deg_s) not in (0, self._n_joints):
            return False
        suite = self._suite
        measured_deg = tuple(joints_deg)
        suite.measured_deg = measured_deg
        suite.measured_ns = arrival_ns
        self._watch_joint_speed(measured_deg, arrival_ns, speeds_deg_s)
        self._watch_tool_speed(measured_deg, arrival_ns)
        return True

    # ---- latches and reports

    @property
    def any_tripped(self) -> bool:
        """Whether any guard has latched: the arm must be stopped, and stays so until the reset."""
        return self._suite.any_tripped

    @property
    def tripped(self) -> tuple[Guard, ...]:
        """Every guard that has latched."""
        return self._suite.tripped()

    @property
    def at_rest(self) -> bool:
        """Whether the commanded stream stands still."""
        return self._parts.stream.at_rest

    @property
    def hold_target_deg(self) -> tuple[float, ...] | None:
        """What a hold sends: the last allowed target, or the primed pose before the first one."""
        return self._target_deg

    def reset(self) -> None:
        """Clear every latch. The caller has checked that the causes are gone (`reset.RESET_LADDER`)."""
        self._suite.reset()

    def take_events(self) -> tuple[SafetyEvent, ...]:
        """What happened since the last call, oldest first."""
        events = tuple(self._suite.events)
        self._suite.events.clear()
        return events

    def report(self) -> dict[str, GuardReport]:
        """The `safety` dict of every telemetry frame; see `report`."""
        return safety_report(self._suite, self._config)

    # ---- what an operator may change while it runs

    def set_ceiling(self, v_max_deg_s: float) -> CannotDo | None:
        """Lower the shaper's v_max, or restore it; never above the configuration's."""
        stream = self._parts.stream
        if not isinstance(stream, StreamShaper):
            return CannotDo("this arm has no stream shaper")
        try:
            stream.set_ceiling(v_max_deg_s)
        except ShaperMisuseError as error:
            return CannotDo(str(error))
        return None

    def set_enabled(self, name: str, *, enabled: bool, now_ns: int) -> CannotDo | None:
        """Switch a guard; None when it is done, or when the name is retired and nothing is to do.

        Only a guard the policy does not require can be switched off, and a latch stays latched.
        """
        if name in RETIRED_NAMES:
            self._suite.events.append(RetiredNameUsed(name=name, at_ns=now_ns))
            return None
        refused = self._cannot_switch(name, enabled=enabled)
        if refused is not None:
            return CannotDo(refused)
        guard = Guard(name)
        self._suite.switch(guard, enabled=enabled)
        self._suite.events.append(GuardToggled(guard=guard, enabled=enabled, at_ns=now_ns))
        return None

    # ---- small steps

    def _walk(self, ladder: tuple[Rule, ...], command: Command) -> CommandVerdict:
        """First refusal wins; what nobody refuses has been shaped on the way."""
        suite = self._suite
        for rule in ladder:
            refused = rule(suite, command)
            if refused is not None:
                return refused
        if command.proposal is None:
            raise ShaperMisuseError("the ladder shaped nothing")
        return Allowed(command.proposal)

    def _watch_joint_speed(
        self, joints_deg: tuple[float, ...], arrival_ns: int, reported_deg_s: Sequence[float]
    ) -> None:
        suite = self._suite
        if suite.joint_speed is None:
            return
        speeds = reported_deg_s or suite.joint_speeds.observe(joints_deg, arrival_ns)
        if speeds is not None:
            suite.judge(suite.joint_speed_lock, suite.joint_speed.check(speeds), arrival_ns)

    def _watch_tool_speed(self, joints_deg: tuple[float, ...], arrival_ns: int) -> None:
        suite = self._suite
        guard, tool = suite.eef_speed, suite.tool_velocity
        if guard is None or tool is None:
            return
        velocity = tool.observe(joints_deg, arrival_ns, unless_below_m_s=guard.max_m_s)
        found = None if velocity is None else guard.check(velocity)
        suite.judge(suite.eef_speed_lock, found, arrival_ns)

    def _cannot_engage(self, measured_deg: tuple[float, ...], now_ns: int) -> str | None:
        """Why no stream may begin at this pose; None when one may."""
        suite = self._suite
        if suite.any_tripped:
            guard = suite.tripped()[0]
            return f"{guard.value} has tripped: {suite.locks[guard].last_reason}"
        standing = [
            self._parts.state_feed.check(now_ns - suite.measured_ns),
            suite.joint_limits.check(measured_deg),
            None if suite.workarea is None else suite.workarea.check(measured_deg),
        ]
        return next((f"at the measured pose: {found.reason}" for found in standing if found), None)

    def _cannot_switch(self, name: str, *, enabled: bool) -> str | None:
        """Why a guard cannot be switched; None when it can."""
        if name not in tuple(Guard):
            return f"no guard is called {name}; there are {', '.join(Guard)}"
        if name not in SWITCHABLE:
            return f"{name} cannot be switched while it runs: shaper and divergence guard go together"
        present = {
            Guard.JOINT_LIMITS: True,
            Guard.WORKAREA: self._parts.workarea is not None,
            Guard.JOINT_SPEED: self._parts.joint_speed is not None,
            Guard.EEF_SPEED: self._parts.eef_speed is not None,
        }
        if not present[Guard(name)]:
            return f"{name} is not configured for this arm"
        if not enabled and name in self._required:
            return f"the safety policy requires {name} for this robot type"
        return None
