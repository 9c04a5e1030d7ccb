"""What the operator asks of the control service, and what the answers do to this end.

A reply counts only for the request it names, and only while that request is still what the operator
wants: a "done" for a stream that was prepared before an e-stop engages nobody.
"""

from collections.abc import Callable
from itertools import count

from steadyhand.core.operator.estop import Estop
from steadyhand.core.operator.gates import Gates
from steadyhand.core.operator.inputs import ControlReply
from steadyhand.core.operator.notices import Notice, RequestRefused, ResetConfirmed
from steadyhand.core.operator.outputs import NOTHING, Outbound, RequestIdle, RequestPrepare, RequestReset
from steadyhand.core.operator.uplink import Uplink


class Control:
    """The requests of one operator's end."""

    def __init__(self, *, uplink: Uplink, tell: Callable[[Notice], None]) -> None:
        self._ids = count(1)
        self._uplink = uplink
        self._tell = tell
        self._prepare_id: int | None = None
        self._idle_id: int | None = None
        self._reset_id: int | None = None

    def next_request_id(self) -> int:
        """Number a request; ids are never used twice in a process."""
        return next(self._ids)

    # ---- asking

    def prepare(self, estop: Estop, now_ns: int) -> Outbound:
        """Ask for the stream; refused here while an e-stop stands or nobody could seal what follows."""
        if estop.standing:
            return self.refuse("prepare_stream", "an emergency stop stands; reset first", now_ns)
        if not self._uplink.ready:
            return self.refuse("prepare_stream", "no session is open", now_ns)
        self._prepare_id, self._idle_id = self.next_request_id(), None
        return Outbound(requests=(RequestPrepare(request_id=self._prepare_id),))

    def idle(self, gates: Gates, now_ns: int) -> Outbound:
        """Leave the stream: nothing is forwarded from here on, whatever the answer will be."""
        self._prepare_id = None
        gates.disengage("enter_idle", now_ns)
        self._idle_id = self.next_request_id()
        return Outbound(requests=(RequestIdle(request_id=self._idle_id),))

    def reset(self, estop: Estop, reason: str, now_ns: int) -> Outbound:
        """Ask for the latch's release; refused here while the follower has not confirmed the e-stop.

        Released before it arrives, the e-stop would stop the arm again after the reset.
        """
        if not estop.confirmed:
            return self.refuse("reset_emergency", "the emergency stop is not confirmed yet", now_ns)
        self._reset_id = self.next_request_id()
        return Outbound(requests=(RequestReset(request_id=self._reset_id, reason=reason),))

    def forget(self) -> None:
        """Whatever was asked for is not wanted any more: an e-stop, or another session."""
        self._prepare_id = self._reset_id = None

    # ---- answers

    def replied(
        self, reply: ControlReply, *, gates: Gates, estop: Estop, stopped: bool, now_ns: int
    ) -> Outbound:
        """Take one answer; one that nobody waits for any more changes nothing.

        Args:
            reply: the answer.
            gates: of this end.
            estop: of this end.
            stopped: whether the newest telemetry says the follower is latched.
            now_ns: local monotonic time.
        """
        agreed = reply.outcome in ("done", "ignored")
        if estop.note_reply(reply.request_id, confirmed=agreed, now_ns=now_ns):
            return NOTHING
        if reply.request_id == self._prepare_id:
            self._prepare_id = None
            if agreed:
                gates.engage(now_ns)
                return NOTHING
            return self.refuse("prepare_stream", reply.reason or reply.outcome, now_ns)
        if reply.request_id == self._reset_id:
            self._reset_id = None
            return self._reset_replied(reply, estop, stopped=stopped, now_ns=now_ns)
        if reply.request_id == self._idle_id:
            self._idle_id = None
            if not agreed:
                return self.refuse("enter_idle", reply.reason or reply.outcome, now_ns)
        return NOTHING

    def _reset_replied(self, reply: ControlReply, estop: Estop, *, stopped: bool, now_ns: int) -> Outbound:
        """A reset is confirmed by "done", or where somebody else has reset the follower before."""
        if reply.outcome == "done" or estop.settled_at_the_robot(stopped=stopped):
            self._tell(ResetConfirmed(at_ns=now_ns, episode_id=estop.settle()))
            return NOTHING
        return self.refuse("reset_emergency", reply.reason or reply.outcome, now_ns)

    def refuse(self, request: str, reason: str, now_ns: int) -> Outbound:
        """Say no to the operator."""
        self._tell(RequestRefused(at_ns=now_ns, request=request, reason=reason))
        return NOTHING
