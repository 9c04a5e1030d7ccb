"""One arm in a program's hands: prepare, stream, send, idle, stop, reset.

Every call waits for the follower's word and answers with a value or an error that says what to do.
Nothing engages by itself: not a reset, not a link that is back. Setpoints of one arm come from one
thread at a time; `stop` may be called from any.
"""

import time
from types import TracebackType
from typing import Final, Self

from steadyhand.core.operator.follower_word import ACTIVE
from steadyhand.core.operator.notices import RequestRefused
from steadyhand.core.operator.outputs import EstopReport, LeadVerdict, OperatorReport
from steadyhand.edge.clock import SYSTEM_CLOCK
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError, SteadyhandError
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.stamps import s_from_ns
from steadyhand.nodes.operator import troubles
from steadyhand.nodes.operator.engine import OperatorEngine
from steadyhand.nodes.operator.errors import EngineFailed, LinkLost
from steadyhand.nodes.operator.leaders import Pose, Poses, checked_pose, poses_at_rate
from steadyhand.nodes.operator.leading import Leading, Start
from steadyhand.nodes.operator.pacing import Pace
from steadyhand.nodes.operator.summary import StreamSummary, Tally
from steadyhand.nodes.operator.view import ArmEvent, OperatorView

PREPARE_TIMEOUT_S: Final = 20.0
"""Enabling drives, and the probe after it, take seconds."""
IDLE_TIMEOUT_S: Final = 10.0
LEAVE_TIMEOUT_S: Final = 3.0
"""For the same on the way out with an error, which is then told no later than that."""
STOP_TIMEOUT_S: Final = 2.0
RESET_TIMEOUT_S: Final = 5.0
ASK_AGAIN_S: Final = 0.5
"""Pause between two askings of something that may be granted a moment later."""


class Arm:
    """An arm that is led from here; `steadyhand.connect` makes one.

    A context manager: leaving the block, by whatever way, an exception or Ctrl-C included, enters
    idle (the arm brakes to rest) and closes the session.

    Args:
        config: the robot file.
        engine: running.
    """

    def __init__(self, config: RobotConfig, engine: OperatorEngine) -> None:
        self.robot_id: Final = config.robot.id
        self.n_joints: Final = config.robot.n_joints
        self._leading = Leading(config, engine)
        self._engine = engine
        self._closed = False

    # ---- what is seen

    @property
    def rate_hz(self) -> float:
        """The action rate: one setpoint a period is what the follower plays."""
        return self._leading.rate_hz

    @property
    def state(self) -> RobotState | None:
        """The newest state of the arm; None before the first. `joint_positions` are degrees."""
        return self._engine.state

    @property
    def report(self) -> OperatorReport:
        """Link, engagement, e-stop and counters, now."""
        return self.view.report

    @property
    def view(self) -> OperatorView:
        """All there is to be seen of this end: the report, the session, the newest state."""
        return self._engine.view()

    def events(self) -> tuple[ArmEvent, ...]:
        """What happened since the last call, at this end and at the follower, oldest first."""
        return self._engine.call(lambda loop, _: loop.take_events())

    # ---- engaging

    def connected(self, timeout_s: float, *, patient: bool = True) -> OperatorView:
        """Wait until a session is open and the arm's state has come.

        Args:
            timeout_s: how long.
            patient: go on asking where the follower says no; else that is raised at once.

        Raises:
            Refused: the follower said no, another operator leads for instance.
            LinkLost: nobody answered, or nothing was heard.
        """

        def ready(view: OperatorView) -> OperatorView | None:
            known = view.open and view.report.silent_ms is not None
            return view if known or (view.session.refused and not patient) else None

        view = self._engine.until(ready, timeout_s)
        if view is None or not view.open:
            raise troubles.not_connected(view or self.view, self.robot_id, timeout_s)
        return view

    def prepare(self, timeout_s: float = PREPARE_TIMEOUT_S) -> None:
        """Engage: drives on, probe, and the arm holds its pose until the first setpoint.

        Raises:
            Stopped: the arm is latched; reset first.
            Refused: the follower said no, with its reason.
            LinkLost: no answer in time.
        """
        deadline_s = time.monotonic() + timeout_s
        view = self.connected(timeout_s)
        if view.streaming:
            return
        if view.stopped:
            raise troubles.stopped(view, self.robot_id)
        left_s = deadline_s - time.monotonic()
        if not view.measured and not self._engine.until(lambda view: view.measured or None, left_s):
            raise troubles.not_measured(self.robot_id)
        asked_ns = self._engine.call(lambda loop, now_ns: loop.prepare(now_ns))

        def decided(view: OperatorView) -> OperatorView | None:
            over = view.disengaged is not None and view.disengaged.at_ns >= asked_ns
            said = view.refused_since("prepare_stream", asked_ns) is not None
            return view if view.streaming or view.stopped or over or said or not view.open else None

        seen = self._engine.until(decided, max(0.0, deadline_s - time.monotonic()))
        if seen is None or not seen.streaming:
            raise self._not_prepared(seen or self.view, asked_ns, timeout_s)

    def _not_prepared(self, view: OperatorView, asked_ns: int, timeout_s: float) -> SteadyhandError:
        if view.stopped:
            return troubles.stopped(view, self.robot_id)
        refusal = view.refused_since("prepare_stream", asked_ns)
        if refusal is not None:
            return troubles.refused("prepare_stream", refusal.reason, self.robot_id)
        if view.disengaged is not None and view.disengaged.at_ns >= asked_ns:
            return troubles.refused("prepare_stream", view.disengaged.by, self.robot_id)
        return LinkLost(
            f"the arm is not ready after {timeout_s:g} s: the follower is {view.report.follower or 'silent'}",
            where=self.robot_id,
            hint="events() tells what it did; is the controller in automatic mode?",
        )

    # ---- leading

    def stream(
        self,
        poses: Poses,
        rate_hz: float | None = None,
        *,
        duration_s: float | None = None,
        start: Start = "ramp",
    ) -> StreamSummary:
        """Lead the arm through `poses`, then enter idle.

        Engages where that was not done, goes to the first pose, sends a pose a period, holds the
        last one until the arm is there, and enters idle; so too on an exception and on Ctrl-C.

        Args:
            poses: a `Motion`, an iterable of poses, or a function from the seconds since the motion
                began to a pose, None ending it. A pose is one angle a joint, degrees.
            rate_hz: rate of the poses; None: the action rate. Another one is joined by straight lines.
            duration_s: end after so long.
            start: "ramp" moves from where the arm stands to the first pose, smoothly and slowly;
                "refuse" refuses a motion that begins farther than 1° from there.

        Raises:
            InputError: a pose that is none, or no pose at all.
            Stopped, Refused, LinkLost, NotEngaged: as they say.
        """
        source = poses_at_rate(
            poses,
            stream_hz=self.rate_hz,
            rate_hz=rate_hz,
            n_joints=self.n_joints,
            duration_s=duration_s,
        )
        first = next(source, None)
        if first is None:
            raise InputError("there is no pose to stream", where="stream")
        try:
            self.prepare()
            tally = Tally(Pace(self._leading.period_ns))
            self._leading.go_to(first, start, tally)
            tally.begin()
            self._leading.play(source, tally)
            self._leading.settle(tally)
        except BaseException:
            self._idle_quietly()
            raise
        summary = tally.summary(self.view)
        self.idle()
        return summary

    def move_to(self, joints_deg: Pose) -> None:
        """Engage where that was not done, move to a pose smoothly and slowly, and stay engaged there."""
        goal_deg = checked_pose(joints_deg, self.n_joints, where="move_to")
        try:
            self.prepare()
            tally = Tally(Pace(self._leading.period_ns))
            self._leading.go_to(goal_deg, "ramp", tally)
            self._leading.settle(tally)
        except BaseException:
            self._idle_quietly()
            raise

    def send(self, joints_deg: Pose) -> bool:
        """Send one setpoint now, for a loop that paces itself at `rate_hz`.

        Returns:
            Whether it left; False where this process was held up so long that it is old by now.

        Raises:
            NotEngaged: prepare first, or the engagement is over.
            Stopped: the arm is latched.
            LinkLost: the follower is silent; it stops the arm.
            Refused: the first setpoint of an engagement is farther than 1° from where the arm stands.
            InputError: not a pose of this arm.
        """
        pose_deg = checked_pose(joints_deg, self.n_joints, where="send")
        self._leading.first(pose_deg)
        return self._leading.send(pose_deg, SYSTEM_CLOCK.now_ns()) is LeadVerdict.SENT

    # ---- leaving, stopping, resetting

    def idle(self, timeout_s: float = IDLE_TIMEOUT_S) -> None:
        """Soft stop: nothing is sent from here on, the arm brakes to rest, the stream ends.

        Raises:
            LinkLost: the follower has not confirmed it; it stops by itself.
        """

        def at_rest(view: OperatorView) -> bool | None:
            return True if view.report.follower and view.report.follower not in ACTIVE else None

        deadline_s = time.monotonic() + timeout_s
        while (left_s := deadline_s - time.monotonic()) > 0.0:
            self._engine.call(lambda loop, now_ns: loop.idle(now_ns))
            if self._engine.until(at_rest, min(2.0 * ASK_AGAIN_S, left_s)):
                return
        raise LinkLost(
            f"no word that the arm is at rest within {timeout_s:g} s",
            where=self.robot_id,
            hint="nothing is sent to it any more; look at the arm",
        )

    def _idle_quietly(self) -> None:
        """On the way out with another error: that one is told."""
        try:
            self.idle(LEAVE_TIMEOUT_S)
        except SteadyhandError as error:
            text = str(error)
            self._engine.post(lambda loop, now_ns: loop.say(text, now_ns))

    def stop(self, reason: str = "operator", timeout_s: float = STOP_TIMEOUT_S) -> EstopReport:
        """E-stop, on both paths, repeated until the follower confirms it; from any thread.

        Returns:
            The emergency; `acknowledged` says whether the follower has confirmed it by now. Copies
            go on being sent while it has not.
        """
        self.press(reason)
        confirmed = self._engine.until(_confirmed, timeout_s)
        estop = confirmed or self.view.report.estop
        if estop is None:
            raise EngineFailed("the e-stop was not begun", where=self.robot_id)
        return estop

    def press(self, reason: str = "operator") -> None:
        """E-stop, waiting for nothing: what a signal handler may call."""
        self._engine.post(lambda loop, now_ns: loop.press(reason, now_ns))

    def reset(self, reason: str, timeout_s: float = RESET_TIMEOUT_S) -> None:
        """Release the latch, once somebody has looked at the arm. Does not engage.

        Asked again until `timeout_s`, since an arm that still moves is not reset; nothing to do
        where the arm is not stopped.

        Args:
            reason: recorded at the follower.
            timeout_s: how long to go on asking.

        Raises:
            Refused: the cause stands; it is named.
            LinkLost: no answer, or no session.
        """
        deadline_s = time.monotonic() + timeout_s
        if not self.connected(timeout_s).stopped:
            return
        refusal: RequestRefused | None = None
        while True:
            asked_ns = self._engine.call(lambda loop, now_ns: loop.reset(reason, now_ns))

            def decided(view: OperatorView, asked_ns: int = asked_ns) -> OperatorView | None:
                done = view.reset_ns >= asked_ns and not view.stopped
                return view if done or view.refused_since("reset_emergency", asked_ns) else None

            view = self._engine.until(decided, max(ASK_AGAIN_S, deadline_s - time.monotonic()))
            if view is None and refusal is not None:
                # The newest asking is still under way; the one before it was told what stands.
                raise troubles.refused("reset_emergency", refusal.reason, self.robot_id)
            if view is None:
                raise LinkLost("no answer to the reset", where=self.robot_id, hint="ask again")
            refusal = view.refused_since("reset_emergency", asked_ns)
            if refusal is None or not view.stopped:
                return
            left_s = deadline_s - time.monotonic()
            # Not asked again where the answer would come too late: granted later, it would surprise.
            if left_s <= ASK_AGAIN_S + s_from_ns(view.now_ns - asked_ns):
                raise troubles.refused("reset_emergency", refusal.reason, self.robot_id)
            self._engine.until(_never, min(ASK_AGAIN_S, left_s))

    # ---- the end

    def close(self) -> None:
        """Enter idle where engaged, let an unconfirmed e-stop reach the follower, close the session."""
        if self._closed:
            return
        self._closed = True
        try:
            self._leave_in_order()
        except EngineFailed:
            pass  # Told to whoever called last; the follower has stopped.
        finally:
            self._engine.close()

    def _leave_in_order(self) -> None:
        view = self.view
        if view.report.engaged or (view.open and view.report.follower in ACTIVE):
            self._idle_quietly()
        estop = view.report.estop
        if estop is not None and estop.standing and not estop.acknowledged:
            self._engine.until(_confirmed, STOP_TIMEOUT_S)
        self._engine.call(lambda loop, now_ns: loop.leave(now_ns))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _never(view: OperatorView) -> None:
    """A pause that ends with the engine."""


def _confirmed(view: OperatorView) -> EstopReport | None:
    estop = view.report.estop
    return estop if estop is not None and estop.acknowledged else None
