"""One run, from the first process to the last: set up, led, done to as the script says, measured, ended."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Final

import msgspec

from steadyhand.core.follower.outputs import Stopped
from steadyhand.core.operator.outputs import LeadVerdict
from steadyhand.core.safety.latch import StopKind
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import SteadyhandError
from steadyhand.ground.stamps import ns_from_s, s_from_ns
from steadyhand.nodes.demo.course import STREAMING, Course, Led, killed_span
from steadyhand.nodes.demo.estops import EstopPath, measure
from steadyhand.nodes.demo.glimpse import Glimpse, Glimpses, Watcher
from steadyhand.nodes.demo.leader import Leader
from steadyhand.nodes.demo.report import EstopTaken, Findings, with_one_way
from steadyhand.nodes.demo.stage import Stage, StageSettings, set_up
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.operator.approach import ApproachBounds
from steadyhand.nodes.operator.punctual import punctual
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import killed

SHOW_EVERY_S: Final = 0.2
RECOVERED_WITHIN_S: Final = 20.0
"""From a stop to playing again; a killed link is dead for a part of it."""

SEEN_PLAYING_S: Final = 1.0
"""A run goes on for so long after it has recovered, and before each e-stop that is measured."""

CHECK_EVERY: Final = 50
"""Steps between two looks whether every process is alive."""

PATHS: Final[tuple[EstopPath, ...]] = ("datagram", "control")


class DemoSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One demo.

    Attributes:
        scenario: what is played, as `simulate` has it.
        robot: the arm; its rate and playout keys are the scenario's.
        own_id: whether the robot file's id is kept.
        link: the link as typed.
        gaps: what to do about a trace's pauses.
        log: where tick records are written.
    """

    scenario: Scenario
    robot: RobotConfig
    own_id: bool
    link: str
    gaps: str
    log: Path


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A demo that has ended."""

    course: Course
    findings: Findings


class CutShortError(Exception):
    """The run cannot go on, and why; what was recorded so far is reported all the same."""


def play(settings: DemoSettings, watcher: Watcher, interrupted: Event) -> Played:
    """Play the scenario with real processes.

    Ctrl-C ends it softly: the arm brakes to rest, every process is ended, what was recorded is returned.

    Raises:
        SteadyhandError: something could not be set up, or died before the first setpoint was sent.
    """
    run = _Run(settings, watcher, interrupted)
    stage_settings = StageSettings(
        robot=settings.robot,
        own_id=settings.own_id,
        pose_deg=settings.scenario.motion.at(0.0),
        link=settings.link,
        gaps=settings.gaps,
        seed=settings.scenario.seed,
        log=settings.log,
    )
    with set_up(stage_settings, run.glimpses.take, watcher.say) as stage:
        with run.shown(), punctual() as run.granted:
            run.through(stage)
        return run.played(stage)


class _Run:
    """What one run knows while it is under way."""

    def __init__(self, settings: DemoSettings, watcher: Watcher, interrupted: Event) -> None:
        self._interrupted = interrupted
        self.scenario = settings.scenario
        self.settings = settings
        self.watcher = watcher
        self.leader: Leader | None = None
        self.glimpses = Glimpses(self._led_of, self._tell_stop)
        self.phase = "setting up"
        self.estops: list[EstopTaken] = []
        self.reengagements = 0
        self.end_ns = 0
        self.cut_short = ""
        self.faults: int | None = None
        self.granted = ""
        self._answered: Stopped | None = None
        self._steps = 0

    # ---- the order of events

    def through(self, stage: Stage) -> None:
        """Everything in its order; what goes wrong on the way is kept, and what is left is left out."""
        try:
            leader = self._begin(stage)
            self._lead_to_the_end(stage, leader)
            for path in PATHS:
                self._measure(stage, leader, path)
            self.phase = "ending"
        except KeyboardInterrupt:
            self.cut_short = "it was interrupted"
        except CutShortError as error:
            self.cut_short = str(error)
        except SteadyhandError as error:
            if self.leader is None or not self.leader.led:
                raise
            self.cut_short = str(error)
        finally:
            self.end_ns = self.end_ns or time.monotonic_ns()
            self.faults = stage.console.faults()

    def _begin(self, stage: Stage) -> Leader:
        """Engage, and start the motion, the network and the script together."""
        leader = Leader(
            stage.engine,
            self.scenario.motion,
            period_ns=self.scenario.period_ns,
            robot_id=stage.robot.robot.id,
            bounds=ApproachBounds.from_config(stage.robot),
        )
        self.phase = "engaging"
        stage.arm.prepare()
        stage.network.begin(self.scenario.script, self.scenario.duration_s)
        leader.begin(time.monotonic_ns())
        self.leader = leader
        self.phase = "streaming"
        self.watcher.say("streaming")
        return leader

    def _lead_to_the_end(self, stage: Stage, leader: Leader) -> None:
        """Lead for the run's length, a little longer where it has only just recovered."""
        end_ns = leader.begin_ns + self.scenario.duration_ns
        span = killed(self.scenario.script, self.scenario.duration_s)
        told = 0
        while (now_ns := time.monotonic_ns()) < end_ns:
            if self._interrupted.is_set():
                raise KeyboardInterrupt
            if span is not None:
                told = self._tell_script(told, s_from_ns(now_ns - leader.begin_ns), span.begin_s, span.end_s)
            self._lead(stage, leader)
            if leader.stopped:
                self._recover(stage, leader)
                end_ns = max(end_ns, time.monotonic_ns() + ns_from_s(SEEN_PLAYING_S))
        self.end_ns = end_ns

    def _tell_script(self, told: int, time_s: float, begin_s: float, end_s: float) -> int:
        """Say what the script does when it does it; answers how much of it has been said."""
        if told == 0 and time_s >= begin_s:
            self.phase = "link killed"
            self.watcher.say(f"{time_s:.2f} s: the link is killed, both paths")
            return 1
        if told == 1 and time_s >= end_s:
            self.phase = "streaming"
            self.watcher.say(f"{time_s:.2f} s: the link lives again")
            return 2
        return told

    def _lead(self, stage: Stage, leader: Leader) -> LeadVerdict:
        self._steps += 1
        if self._steps % CHECK_EVERY == 0:
            stage.check()
        return leader.step()

    # ---- stops

    def _recover(self, stage: Stage, leader: Leader) -> None:
        """Reset what the network has stopped, engage, and join the motion again.

        Raises:
            CutShortError: something else stopped the arm. Whoever pressed an e-stop wants it stopped, and
                a fault is looked at by a person, not by a demo.
        """
        stop = self._stop_of(stage)
        if stop.cause.kind is not StopKind.STALL:
            raise CutShortError(f"the arm was stopped ({stop.cause.kind.value}): {stop.cause.detail}")
        self.phase = "recovering"
        recover_s = self.scenario.recover_s
        if recover_s < 0.0:
            raise CutShortError(f"the arm was stopped and is left so: {stop.cause.detail}")
        self._rest(stop.at_ns + ns_from_s(recover_s))
        self._engage_again(stage, leader, "the network is looked at; the demo goes on")

    def _tell_stop(self, stop: Stopped) -> None:
        """Say a stop when it is recorded: the operator's end may hear of it much later."""
        self.watcher.say(f"{self._at_s(stop.at_ns):.2f} s: STOPPED, {stop.cause.detail}")

    def _engage_again(self, stage: Stage, leader: Leader, reason: str) -> None:
        stage.arm.reset(reason, RECOVERED_WITHIN_S)
        stage.arm.prepare(RECOVERED_WITHIN_S)
        state = stage.arm.state
        if state is None:
            raise CutShortError("the arm's pose is not known")
        leader.rejoin(state.joint_positions)
        self.reengagements += 1
        self.phase = "streaming"
        self.watcher.say(f"{self._at_s(time.monotonic_ns()):.2f} s: reset, engaged again")

    def _stop_of(self, stage: Stage) -> Stopped:
        """The stop that the operator has just heard of, as the follower recorded it."""
        deadline_s = time.monotonic() + RECOVERED_WITHIN_S
        while time.monotonic() < deadline_s:
            stop = self.glimpses.last_stop
            if stop is not None and stop is not self._answered:
                self._answered = stop
                return stop
            stage.check()
            time.sleep(SHOW_EVERY_S / 10)
        raise CutShortError("the follower says it is stopped and has not recorded why")

    def _rest(self, until_ns: int) -> None:
        time.sleep(max(0.0, s_from_ns(until_ns - time.monotonic_ns())))

    # ---- e-stops

    def _measure(self, stage: Stage, leader: Leader, path: EstopPath) -> None:
        """Play for a moment, press with one path dead, and reset."""
        self.phase = f"e-stop over {path} alone"
        until_ns = time.monotonic_ns() + ns_from_s(SEEN_PLAYING_S)
        while time.monotonic_ns() < until_ns:
            self._lead(stage, leader)
            if leader.stopped:
                self._recover(stage, leader)
                until_ns = time.monotonic_ns() + ns_from_s(SEEN_PLAYING_S)
        newest = self.glimpses.newest
        if newest is None or newest.engage != STREAMING:
            told = "" if newest is None or newest.stopped_by is None else f": {newest.stopped_by.detail}"
            raise CutShortError(f"the arm is not playing any more, and no word of it comes through{told}")
        taken = measure(stage, path, lambda: self.glimpses.last_stop, leader.step)
        self._answered = self.glimpses.last_stop
        self.estops.append(taken)
        self.watcher.say(_estop_line(taken))
        if path != PATHS[-1]:
            self._engage_again(stage, leader, "the e-stop is measured")

    # ---- what is to be seen

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show a glimpse now and then, from a thread of its own."""
        over = threading.Event()

        def show() -> None:
            while not over.wait(SHOW_EVERY_S):
                self.watcher.show(self._glimpse())

        thread = threading.Thread(target=show, name="view", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(2.0)

    def _glimpse(self) -> Glimpse:
        return self.glimpses.sum_up(
            Glimpse(
                phase=self.phase,
                elapsed_s=self._at_s(time.monotonic_ns()),
                duration_s=self.scenario.duration_s,
                link="killed" if self.phase == "link killed" else "up",
                estop=_estop_line(self.estops[-1]) if self.estops else "",
            )
        )

    def _at_s(self, now_ns: int) -> float:
        return -1.0 if self.leader is None else s_from_ns(now_ns - self.leader.begin_ns)

    def _led_of(self, seq: int) -> Led | None:
        return None if self.leader is None else self.leader.led_of(seq)

    # ---- the end

    def played(self, stage: Stage) -> Played:
        """Close the witnesses, and say what they saw. The arm is brought to rest first."""
        stage.arm.close()
        stage.network.close()
        stage.recorder.close()
        leader = self.leader
        if leader is None:
            raise KeyboardInterrupt
        records = stage.recorder.records
        course = Course(
            period_ns=self.scenario.period_ns,
            records=records,
            records_missed=stage.recorder.missed,
            led=leader.led,
            packets=stage.network.packets,
            packets_missed=stage.network.missed,
            first_seq=leader.first_seq,
            begin_ns=leader.begin_ns,
            end_ns=self.end_ns,
            killed_ns=self._killed_ns(leader, records),
        )
        return Played(
            course=course,
            findings=Findings(
                controller_faults=self.faults,
                estops=tuple(with_one_way(taken, course) for taken in self.estops),
                granted=(*stage.granted, f"operator: {self.granted}"),
                log=self.settings.log,
                reengagements=self.reengagements,
                lost_periods=leader.lost_slots,
                cut_short=self.cut_short,
            ),
        )

    def _killed_ns(self, leader: Leader, records: list[TickRecord]) -> tuple[int, int] | None:
        span = killed(self.scenario.script, self.scenario.duration_s)
        if span is None:
            return None
        kill_ns = leader.begin_ns + ns_from_s(span.begin_s)
        if kill_ns >= self.end_ns:
            return None
        revive_ns = leader.begin_ns + ns_from_s(span.end_s)
        return killed_span(records, kill_ns=kill_ns, revive_ns=revive_ns, end_ns=self.end_ns)


def _estop_line(taken: EstopTaken) -> str:
    if taken.follower_ms is None:
        return f"e-stop over {taken.path} alone: did not stop the arm"
    return f"e-stop over {taken.path} alone: {taken.follower_ms:.1f} ms from send to stop"
