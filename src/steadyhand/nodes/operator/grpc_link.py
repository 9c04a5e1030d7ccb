"""The way to a follower's control service: `ControlLink` over the client of `edge.control_service`.

Answers come in threads of gRPC's and go straight to the sink. The event stream has a thread of its
own: while it runs, the control service is heard; when it breaks, the service is asked until it answers
again, under the same session, because motion and telemetry take another path and go on.
"""

import contextlib
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import Any, Final, assert_never, get_args

from google.protobuf.message import Message

from steadyhand.core.operator.inputs import ControlReply, Outcome
from steadyhand.core.operator.outputs import (
    ControlRequest,
    RequestEstop,
    RequestIdle,
    RequestPrepare,
    RequestReset,
    StreamedAction,
)
from steadyhand.edge.control_service.client import PREPARE_TIMEOUT_S, TIMEOUT_S, ControlClient
from steadyhand.edge.control_service.errors import CallFault, ControlError
from steadyhand.edge.control_service.opening import Opened, OpenRefused, OpenWish
from steadyhand.edge.control_service.streams import ActionStream, EventWatch
from steadyhand.ground.errors import SteadyhandError
from steadyhand.nodes.operator.control_link import (
    ControlPath,
    FollowerCard,
    FollowerTold,
    Heard,
    SessionAsk,
    SessionLost,
    SessionNotOpened,
    SessionOpened,
    Sink,
)
from steadyhand.wire import control_pb2

ESTOP_TIMEOUT_S: Final = 1.0
"""The core asks again after a second; an answer that comes later than that still counts."""

WATCH_AGAIN_S: Final = 0.5
"""Pause between two askings whether the control service is back."""

LAST_WORD_S: Final = 0.5
"""How long the last call may take before the connection is closed."""

NO_FAULT: Final = (CallFault.NOT_BELIEVED, CallFault.FORGED)
"""Answers that another asking will not change: the key or the session is not the follower's."""


class GrpcLink:
    """One follower's control service.

    Args:
        client: connects by itself, as often as it has to.
    """

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self._sink: Sink = _nobody
        self._attempt = 0
        self._closed = threading.Event()
        self._watch: EventWatch | None = None
        self._actions: ActionStream | None = None
        self._last_word: Future[Any] | None = None

    def start(self, sink: Sink) -> None:
        """Where answers go from here on."""
        self._sink = sink

    # ---- the session

    def open_session(self, ask: SessionAsk) -> None:
        """Open a session; once it is open, watch its events."""
        self._end_streams()
        self._attempt = ask.attempt
        wish = OpenWish(
            robot_id=ask.robot_id,
            operator=ask.operator,
            config_hash=ask.config_hash,
            take_over=ask.take_over,
            telemetry_host=ask.telemetry_host,
            telemetry_port=ask.telemetry_port,
        )
        asked = self._client.open_session_later(wish)
        asked.add_done_callback(partial(self._session_answered, ask.attempt))

    def _session_answered(self, attempt: int, asked: "Future[Opened | OpenRefused]") -> None:
        try:
            answer = asked.result()
        except ControlError as error:
            refused = error.fault in NO_FAULT
            self._sink(SessionNotOpened(attempt=attempt, refused=refused, reason=error.detail))
            return
        except SteadyhandError as error:
            self._sink(SessionNotOpened(attempt=attempt, refused=True, reason=str(error)))
            return
        match answer:
            case Opened():
                self._sink(_opened(attempt, answer))
                watcher = partial(self._watch_events, attempt)
                threading.Thread(target=watcher, name="steadyhand-events", daemon=True).start()
            case OpenRefused(reason=reason):
                self._sink(SessionNotOpened(attempt=attempt, refused=True, reason=reason))
            case _:
                assert_never(answer)

    def close_session(self) -> None:
        """Tell the follower that this operator goes."""
        self._end_streams()
        self._last_word = self._client.call("CloseSession", control_pb2.CloseSessionRequest(), LAST_WORD_S)

    def close(self) -> None:
        """Hang up, once the follower has heard the last word or had the time to."""
        self._closed.set()
        self._end_streams()
        if self._last_word is not None:
            with contextlib.suppress(ControlError, FutureTimeout):
                self._last_word.result(LAST_WORD_S)
        self._client.close()

    def _end_streams(self) -> None:
        watch, self._watch = self._watch, None
        actions, self._actions = self._actions, None
        if watch is not None:
            watch.cancel()
        if actions is not None:
            actions.cancel()

    # ---- events

    def _watch_events(self, attempt: int) -> None:
        """Until this session is over: hand on every event, and say when nothing is heard any more."""
        while self._is_current(attempt):
            fault = self._events(attempt)
            if not self._is_current(attempt):
                return
            if fault in NO_FAULT:
                self._sink(SessionLost(attempt=attempt, reason="the follower knows this session no more"))
                return
            self._sink(ControlPath(attempt=attempt, up=False, reason="its event stream broke"))
            if not self._answers_again(attempt):
                return
            self._sink(ControlPath(attempt=attempt, up=True))

    def _events(self, attempt: int) -> CallFault | None:
        """Hand on events until the stream ends; how it ended, None where the follower ended it."""
        watch = self._client.watch_events()
        self._watch = watch
        try:
            for event in watch:
                self._sink(
                    FollowerTold(
                        attempt=attempt,
                        kind=event.kind,
                        fields=event.fields,
                        at_ns=event.at_ns,
                        priority=event.priority,
                        dropped=event.dropped,
                    )
                )
        except ControlError as error:
            return error.fault
        except ValueError:  # what gRPC says of a channel that was closed
            return CallFault.CANCELLED
        return None

    def _answers_again(self, attempt: int) -> bool:
        """Ask until somebody answers; False where this session is not the newest any more."""
        while not self._closed.wait(WATCH_AGAIN_S) and self._is_current(attempt):
            try:
                self._client.describe()
            except ControlError as error:
                if error.fault in NO_FAULT:
                    reason = "the follower knows this session no more"
                    self._sink(SessionLost(attempt=attempt, reason=reason))
                    return False
                continue
            return True
        return False

    def _is_current(self, attempt: int) -> bool:
        return attempt == self._attempt and not self._closed.is_set()

    # ---- requests

    def request(self, request: ControlRequest) -> None:
        """Make a request; its answer names it."""
        name, message, timeout_s = _message_of(request)
        asked = self._client.call(name, message, timeout_s)
        if isinstance(request, RequestEstop):
            self._last_word = asked
        asked.add_done_callback(partial(self._answered, self._attempt, request.request_id))

    def _answered(self, attempt: int, request_id: int, asked: "Future[control_pb2.Reply]") -> None:
        try:
            reply = asked.result()
        except ControlError as error:
            self._sink(ControlReply(request_id=request_id, outcome="failed", reason=error.detail))
            if error.fault is CallFault.NOT_BELIEVED:
                self._sink(SessionLost(attempt=attempt, reason=error.detail))
            return
        known = reply.outcome in get_args(Outcome)
        outcome: Any = reply.outcome if known else "failed"
        reason = reply.reason if known else f"an outcome that nobody knows, {reply.outcome[:40]!r}"
        self._sink(ControlReply(request_id=request_id, outcome=outcome, reason=reason))

    # ---- the ordered path

    def send_action(self, action: StreamedAction) -> None:
        """Send on the ordered stream, opened with the first action and again when it broke."""
        if self._closed.is_set():
            return
        if self._actions is None or self._actions.broken:
            self._actions = self._client.stream_actions()
        self._actions.send(action.payload)


def _message_of(request: ControlRequest) -> tuple[str, Message, float]:
    """Call, message, and how long the answer may take."""
    match request:
        case RequestPrepare():
            return "PrepareStream", control_pb2.PrepareStreamRequest(), PREPARE_TIMEOUT_S
        case RequestIdle():
            return "EnterIdle", control_pb2.EnterIdleRequest(), TIMEOUT_S
        case RequestReset(reason=reason):
            return "ResetEmergency", control_pb2.ResetEmergencyRequest(reason=reason), 2 * TIMEOUT_S
        case RequestEstop(session_id=session_id, episode_id=episode_id, reason=reason):
            message = control_pb2.EmergencyStopRequest(
                session_id=session_id, episode_id=episode_id, reason=reason
            )
            return "EmergencyStop", message, ESTOP_TIMEOUT_S
        case _:
            assert_never(request)


def _opened(attempt: int, answer: Opened) -> SessionOpened:
    keys, told = answer.keys, answer.follower
    return SessionOpened(
        attempt=attempt,
        session_id=answer.session_id,
        command_key=b"" if keys is None else keys.command,
        telemetry_key=b"" if keys is None else keys.telemetry,
        follower=FollowerCard(
            version=told.version, granted=tuple(told.granted), guards_json=told.guards_json
        ),
    )


def _nobody(heard: Heard) -> None:
    """Before `start`."""
