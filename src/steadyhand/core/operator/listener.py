"""Listening to the follower: each newest state, and each silence, to everybody it concerns."""

from collections.abc import Callable

from steadyhand.core.operator.estop import Estop
from steadyhand.core.operator.follower_word import FollowerWord, read_word
from steadyhand.core.operator.gates import Gates
from steadyhand.core.operator.notices import LinkBack, LinkLost, Notice
from steadyhand.core.operator.outputs import TelemetryOutput
from steadyhand.core.operator.telemetry import Downlink
from steadyhand.core.operator.uplink import Uplink
from steadyhand.core.operator.watch import FollowerWatch
from steadyhand.core.timing import wall_latency_ms
from steadyhand.ground.robot_state import RobotState
from steadyhand.ground.stamps import ms_from_ns


class Listener:
    """Hands what was heard to the e-stop, the deadman, the redundancy and the operator."""

    def __init__(
        self,
        downlink: Downlink,
        *,
        estop: Estop,
        gates: Gates,
        uplink: Uplink,
        tell: Callable[[Notice], None],
    ) -> None:
        self.word = FollowerWord()
        """What the follower said last."""
        self.telemetry_latency_ms: float | None = None
        self._downlink = downlink
        self._estop = estop
        self._gates = gates
        self._uplink = uplink
        self._tell = tell
        self._watch = FollowerWatch()

    @property
    def follower_stopped(self) -> bool:
        """Whether the follower's last word is that it is latched."""
        return self.word.stop is not None

    def forget(self) -> None:
        """Another session: what was said before is not this follower's word."""
        self.word = FollowerWord()
        self.telemetry_latency_ms = None

    # ---- a frame

    def take(self, datagram: bytes, now_ns: int, wall_s: float) -> TelemetryOutput:
        """Take one datagram off the telemetry socket."""
        silent_ns, was_lost = self._downlink.silent_ns(now_ns), self._downlink.lost
        verdict, payload, state = self._downlink.receive(datagram, now_ns)
        if state is not None:
            self._heard(silent_ns, now_ns, was_lost=was_lost)
            self._understand(state, now_ns, wall_s)
        return TelemetryOutput(verdict, state, payload)

    def _heard(self, silent_ns: int | None, now_ns: int, *, was_lost: bool) -> None:
        """The end of a silence, short or long: whoever held back because of it is told."""
        if was_lost:
            self._downlink.lost = False
            silent_ms = None if silent_ns is None else ms_from_ns(silent_ns)
            self._tell(LinkBack(at_ns=now_ns, silent_ms=silent_ms))
        self._gates.note_telemetry(silent_ns, now_ns)

    def _understand(self, state: RobotState, now_ns: int, wall_s: float) -> None:
        word = self.word = read_word(state)
        self.telemetry_latency_ms = wall_latency_ms(receiver_wall_s=wall_s, sender_wall_s=state.timestamp)
        self._estop.note_telemetry(word.estop, now_ns)
        # While nothing is sent the receiver's estimates stand still and teach nothing.
        if word.link is not None and self._gates.engaged:
            self._uplink.on_report(word.link, now_ns)
        for notice in self._watch.note(word, now_ns):
            self._tell(notice)
        name = "stopped" if word.stop is not None else word.engage
        self._gates.note_follower(active=word.active, word=name, now_ns=now_ns)

    # ---- silence

    def watch_silence(self, now_ns: int) -> None:
        """Tell once that the link is lost."""
        if self._downlink.newly_lost(now_ns):
            self._tell_lost("no telemetry", now_ns)

    def link_lost(self, reason: str, now_ns: int) -> None:
        """The owner knows that the link is gone, before the silence says so."""
        if not self._downlink.lost:
            self._downlink.lost = True
            self._tell_lost(reason, now_ns)

    def _tell_lost(self, reason: str, now_ns: int) -> None:
        silent_ns = self._downlink.silent_ns(now_ns)
        silent_ms = None if silent_ns is None else ms_from_ns(silent_ns)
        self._tell(LinkLost(at_ns=now_ns, silent_ms=silent_ms, reason=reason))
