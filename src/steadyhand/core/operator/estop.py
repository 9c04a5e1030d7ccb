"""The e-stop at the operator's end: both paths at once, repeated until confirmed, then held (R11).

One emergency is one episode. It stands from the press until the operator's reset is confirmed, and
while it stands nothing but its own copies leaves. A press while it is unconfirmed is sent again at
once and stays the same emergency; a press after the confirmation is a new one, since somebody else
may have reset the arm meanwhile.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from steadyhand.core.operator.notices import AckPath, EstopAcknowledged, EstopSent, Notice
from steadyhand.core.operator.outputs import NOTHING, EstopReport, Outbound, RequestEstop
from steadyhand.core.operator.settings import OperatorSettings
from steadyhand.core.operator.uplink import Uplink
from steadyhand.ground.robot_state import MAX_EPISODE_ID
from steadyhand.ground.setpoint import Setpoint
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, ms_from_ns, s_from_ns
from steadyhand.wire.action_payload import encode_action

CONTROL_RETRY_NS: Final = 100 * NS_PER_MS
"""Pause after a control request that failed; a refused connection fails within a millisecond."""

CONTROL_PATIENCE_NS: Final = NS_PER_S
"""A control request without any answer is made again; the episode makes the repetition harmless."""

REQUESTS_REMEMBERED: Final = 16
"""Requests of one episode whose late replies still count."""


class Episode(msgspec.Struct, kw_only=True):
    """One emergency.

    Attributes:
        episode_id: u64, never 0.
        reason: who pressed, or what failed.
        payload: the encoded e-stop, the same in every copy.
        sessions: session ids under which copies have left; 0 for plain ones.
        pressed_ns: when the first copy left.
        due_ns: when the next copy leaves, unless it is confirmed before.
        datagrams: copies sent.
        requests: control requests under way or failed: id to the time it was made.
        ask_ns: when the control request is made again, unless it is confirmed before.
        datagram_ms: from the first copy to the telemetry that confirms; None: not yet.
        control_ms: from the control request to its confirming reply; None: not yet.
        standing: until the operator's reset is confirmed.
    """

    episode_id: int
    reason: str
    payload: bytes
    pressed_ns: int
    due_ns: int
    ask_ns: int
    sessions: set[int] = msgspec.field(default_factory=set)
    datagrams: int = 0
    requests: dict[int, int] = msgspec.field(default_factory=dict)
    datagram_ms: float | None = None
    control_ms: float | None = None
    standing: bool = True

    @property
    def acknowledged(self) -> bool:
        """Whether the follower has confirmed it on either path."""
        return self.datagram_ms is not None or self.control_ms is not None


class Estop:
    """Keeps the newest emergency.

    Args:
        settings: of this end.
        uplink: what encodes and seals the datagrams.
        next_request_id: numbers a control request.
        first_episode_id: u64; episodes count from here. It must not repeat an earlier process's,
            or its first e-stop could pass for a late copy of one that a reset has settled.
        tell: takes a notice.
    """

    def __init__(
        self,
        settings: OperatorSettings,
        uplink: Uplink,
        *,
        next_request_id: Callable[[], int],
        first_episode_id: int,
        tell: Callable[[Notice], None],
    ) -> None:
        self.episode: Episode | None = None
        self._settings = settings
        self._uplink = uplink
        self._next_request_id = next_request_id
        self._next_episode_id = first_episode_id
        self._tell = tell

    @property
    def standing(self) -> bool:
        """Whether everything else is held back."""
        return self.episode is not None and self.episode.standing

    @property
    def confirmed(self) -> bool:
        """Whether the follower knows of the e-stop that stands; True where none does."""
        return self.episode is None or not self.episode.standing or self.episode.acknowledged

    # ---- pressing

    def press(self, reason: str, now_ns: int) -> Outbound:
        """Send the e-stop on both paths now; nothing sent before rides along any more."""
        self._uplink.forget_history()
        episode = self.episode
        if episode is None or not episode.standing or episode.acknowledged:
            episode = self._begin(reason, now_ns)
        episode.due_ns = now_ns + self._settings.period_ns
        # The copy first: should it fail, no request counts as made, and `ask_alone` makes it.
        copy = self._copy(episode)
        return copy.then(Outbound(requests=(self._request(episode, now_ns),)))

    def ask_alone(self, now_ns: int) -> Outbound:
        """After a program fault at this end: the control request, where a copy cannot be made."""
        episode = self.episode
        if episode is None or not episode.standing:
            request = RequestEstop(
                request_id=self._next_request_id(),
                session_id=self._uplink.session_id,
                episode_id=0,
                reason="program fault at the operator's end",
            )
            return Outbound(requests=(request,))
        if episode.acknowledged or now_ns < episode.ask_ns:
            return NOTHING
        return Outbound(requests=(self._request(episode, now_ns),))

    def _begin(self, reason: str, now_ns: int) -> Episode:
        episode_id = self._next_episode_id & MAX_EPISODE_ID or 1
        self._next_episode_id = episode_id + 1
        stop = Setpoint(
            joints_deg=(),
            timestamp_s=s_from_ns(now_ns),
            emergency_stop=True,
            episode_id=episode_id,
            robot_id=self._settings.robot_id,
            extras={"reason": reason},
        )
        self.episode = Episode(
            episode_id=episode_id,
            reason=reason,
            payload=encode_action(stop),
            pressed_ns=now_ns,
            due_ns=now_ns,
            ask_ns=now_ns,
        )
        self._tell(EstopSent(at_ns=now_ns, episode_id=episode_id, reason=reason))
        return self.episode

    def _copy(self, episode: Episode) -> Outbound:
        datagram = self._uplink.estop(episode.payload)
        episode.sessions.add(self._uplink.session_id)
        episode.datagrams += 1
        return Outbound(datagrams=(datagram,))

    def _request(self, episode: Episode, now_ns: int) -> RequestEstop:
        request_id, session_id = self._next_request_id(), self._uplink.session_id
        episode.sessions.add(session_id)
        episode.requests[request_id] = now_ns
        while len(episode.requests) > REQUESTS_REMEMBERED:
            del episode.requests[next(iter(episode.requests))]
        episode.ask_ns = now_ns + CONTROL_PATIENCE_NS
        return RequestEstop(
            request_id=request_id,
            session_id=session_id,
            episode_id=episode.episode_id,
            reason=episode.reason,
        )

    # ---- repeating

    def repeat(self, now_ns: int) -> Outbound:
        """A copy every period and the control request after its pause, until either is confirmed."""
        episode = self.episode
        if episode is None or not episode.standing or episode.acknowledged:
            return NOTHING
        outbound = NOTHING
        if now_ns >= episode.due_ns:
            outbound = self._copy(episode)
            episode.due_ns += self._settings.period_ns
            if episode.due_ns <= now_ns:
                episode.due_ns = now_ns + self._settings.period_ns
        if now_ns >= episode.ask_ns:
            outbound = outbound.then(Outbound(requests=(self._request(episode, now_ns),)))
        return outbound

    @property
    def due_ns(self) -> int | None:
        """When `repeat` is wanted; None where there is nothing to repeat."""
        episode = self.episode
        if episode is None or not episode.standing or episode.acknowledged:
            return None
        return min(episode.due_ns, episode.ask_ns)

    # ---- confirming

    def note_telemetry(self, confirmed: tuple[int | None, int] | None, now_ns: int) -> None:
        """The telemetry names the episode: the datagrams' round trip ends here.

        Which path reached the follower first it cannot say; that one did is what counts.
        """
        episode = self.episode
        if episode is None or confirmed is None or episode.datagram_ms is not None:
            return
        session_id, episode_id = confirmed
        if episode_id != episode.episode_id or not (session_id is None or session_id in episode.sessions):
            return
        episode.datagram_ms = ms_from_ns(now_ns - episode.pressed_ns)
        self._acknowledged(episode, AckPath.DATAGRAM, episode.datagram_ms, now_ns)

    def note_reply(self, request_id: int, *, confirmed: bool, now_ns: int) -> bool:
        """Take a reply if it is to one of this episode's requests; True where it was."""
        episode = self.episode
        if episode is None or request_id not in episode.requests:
            return False
        asked_ns = episode.requests[request_id]
        if confirmed:
            if episode.control_ms is None:
                episode.control_ms = ms_from_ns(now_ns - asked_ns)
                self._acknowledged(episode, AckPath.CONTROL, episode.control_ms, now_ns)
        elif request_id == next(reversed(episode.requests)):
            episode.ask_ns = now_ns + CONTROL_RETRY_NS
        return True

    def _acknowledged(self, episode: Episode, path: AckPath, round_trip_ms: float, now_ns: int) -> None:
        self._tell(
            EstopAcknowledged(
                at_ns=now_ns, episode_id=episode.episode_id, path=path, round_trip_ms=round_trip_ms
            )
        )

    # ---- after it

    def settle(self) -> int:
        """The operator's reset is confirmed: others may send again. Returns the episode settled, or 0."""
        episode = self.episode
        if episode is None or not episode.standing:
            return 0
        episode.standing = False
        return episode.episode_id

    def settled_at_the_robot(self, *, stopped: bool) -> bool:
        """Whether telemetry confirmed the episode and the follower has been reset since, by whomever."""
        episode = self.episode
        return episode is not None and episode.standing and episode.datagram_ms is not None and not stopped

    def report(self) -> EstopReport | None:
        """The newest emergency, for the display."""
        episode = self.episode
        if episode is None:
            return None
        return EstopReport(
            episode_id=episode.episode_id,
            reason=episode.reason,
            standing=episode.standing,
            acknowledged=episode.acknowledged,
            datagrams=episode.datagrams,
            datagram_ms=episode.datagram_ms,
            control_ms=episode.control_ms,
        )
