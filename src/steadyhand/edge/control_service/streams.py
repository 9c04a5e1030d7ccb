"""The two streams of the control service, at the operator's end: events in, actions out."""

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any, Final, Self

import grpc
import msgspec

from steadyhand.edge.control_service.errors import CallFault, ControlError, in_words
from steadyhand.edge.control_service.methods import METHODS
from steadyhand.wire import control_pb2
from steadyhand.wire.control_auth import ControlSigner

WATCH: Final = METHODS["WatchEvents"]
ACTIONS: Final = METHODS["StreamActions"]
ACTIONS_KEPT: Final = 20
"""Actions that wait for a connection that takes none; older ones are dropped, for they are old motion."""


class ControlEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the follower.

    Attributes:
        kind: its name: Stopped, Moved, SafetyNote, …
        fields: what it says.
        at_ns: the follower host's monotonic clock.
        priority: whether it changes the arm's state.
        dropped: diagnostics dropped since the last event, because this watcher was too slow.
    """

    kind: str
    fields: dict[str, Any]
    at_ns: int
    priority: bool
    dropped: int


class EventWatch:
    """Iterates over the follower's events; the next one is waited for. Ended by `cancel`, from any thread.

    Raises ControlError, out of the iteration, where the stream ends otherwise or holds what is not the
    follower's.
    """

    def __init__(self, call: Any, signer: ControlSigner | None, where: str) -> None:
        self._call = call
        self._signer = signer
        self._where = where
        self._number = 0
        self._cancelled = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ControlEvent:
        try:
            data: bytes = next(self._call)
        except StopIteration:
            raise
        except grpc.RpcError as error:
            if self._cancelled:
                raise StopIteration from None
            code, details = error.code(), error.details()
            raise in_words(WATCH.name, self._where, code, details or "") from None
        return self._read(data)

    def wait_open(self) -> None:
        """Wait until the follower has begun to watch for us: nothing is missed from here on.

        A follower that refuses is told of by the iteration.
        """
        self._call.initial_metadata()

    def cancel(self) -> None:
        """End the iteration."""
        self._cancelled = True
        self._call.cancel()

    def _read(self, data: bytes) -> ControlEvent:
        """Each event is the follower's and follows the one before: none is left out unseen."""
        signed = control_pb2.SignedEvent.FromString(data)
        self._number += 1
        if self._signer is not None and not (
            signed.number == self._number
            and self._signer.is_event(WATCH.path, signed.number, signed.event, signed.mac)
        ):
            self.cancel()
            raise ControlError(
                WATCH.name, CallFault.FORGED, f"an event of {self._where} is not the follower's"
            )
        event = control_pb2.Event.FromString(signed.event)
        return ControlEvent(
            kind=event.kind,
            fields=msgspec.json.decode(event.json or "{}", type=dict[str, Any]),
            at_ns=event.at_ns,
            priority=event.priority,
            dropped=event.dropped,
        )


class ActionStream:
    """The ordered path of setpoints (`transport: grpc`). One thread sends; `close` ends it.

    Args:
        start: begins the call, given the iterator of serialized messages.
        signer: of the session; None with `auth: none`.
        where: for messages.

    Attributes:
        dropped: actions that were too old before the connection took them.
    """

    def __init__(
        self, start: Callable[[Iterator[bytes]], Any], signer: ControlSigner | None, where: str
    ) -> None:
        self.dropped = 0
        self._signer = signer
        self._where = where
        self._waiting: deque[bytes] = deque()
        self._changed = Condition()
        self._closed = False
        self._call = start(self._messages())

    @property
    def broken(self) -> bool:
        """Whether the stream has ended, by whichever side; a new one has to be opened."""
        return bool(self._call.done())

    def send(self, payload: bytes) -> None:
        """Hand over one action's protobuf; it leaves as soon as the connection takes it."""
        with self._changed:
            if len(self._waiting) >= ACTIONS_KEPT:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(payload)
            self._changed.notify()

    def close(self, timeout_s: float = 1.0) -> control_pb2.StreamActionsReply:
        """Send what waits, end the stream, and answer the follower's account of it.

        Raises:
            ControlError: the stream broke, or the follower did not answer in time.
        """
        self._end()
        try:
            return control_pb2.StreamActionsReply.FromString(self._call.result(timeout=timeout_s))
        except grpc.FutureTimeoutError:
            self._call.cancel()
            raise ControlError(ACTIONS.name, CallFault.TIMEOUT, f"no answer from {self._where}") from None
        except grpc.RpcError:
            code, details = self._call.code(), self._call.details() or ""
            raise in_words(ACTIONS.name, self._where, code, details) from None

    def cancel(self) -> None:
        """Drop the stream and all that waits."""
        self._end()
        self._call.cancel()

    def _end(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _messages(self) -> Iterator[bytes]:
        """Runs in a thread of gRPC's, which asks for the next when the connection has taken the last."""
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                payload = self._waiting.popleft()
            message = control_pb2.StreamedAction(payload=payload)
            if self._signer is not None:
                message.counter, message.mac = self._signer.action(ACTIONS.path, payload)
            yield message.SerializeToString()
