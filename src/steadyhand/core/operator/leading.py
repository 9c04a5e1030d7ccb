"""One action of the leader's: an e-stop passes every gate, a setpoint has to pass them all."""

from collections.abc import Callable
from typing import assert_never

from steadyhand.core.operator.gates import Candidate, Gates, built_ns_of, why_unsendable
from steadyhand.core.operator.notices import Notice, SetpointUnsendable
from steadyhand.core.operator.outputs import Datagram, LeadOutput, LeadVerdict, Outbound, StreamedAction
from steadyhand.core.operator.uplink import Uplink
from steadyhand.ground.errors import InputError
from steadyhand.ground.setpoint import Setpoint


class Leading:
    """Forwards what the leader builds, and counts what became of it.

    Args:
        gates: what a setpoint has to pass.
        uplink: what encodes it.
        press: sends an e-stop on both paths.
        tell: takes a notice.
    """

    def __init__(
        self,
        *,
        gates: Gates,
        uplink: Uplink,
        press: Callable[[str, int], Outbound],
        tell: Callable[[Notice], None],
    ) -> None:
        self.counts: dict[LeadVerdict, int] = dict.fromkeys(LeadVerdict, 0)
        self._gates = gates
        self._uplink = uplink
        self._press = press
        self._tell = tell
        self._last = LeadVerdict.SENT

    def take(
        self, setpoint: Setpoint, now_ns: int, *, built_ns: int | None, follower_stopped: bool
    ) -> LeadOutput:
        """Forward one action, or name the gate that dropped it."""
        if setpoint.emergency_stop:
            output = self._estop(now_ns, follower_stopped=follower_stopped)
        else:
            built_ns = built_ns_of(setpoint) if built_ns is None else built_ns
            output = self._setpoint(Candidate(setpoint, built_ns), now_ns)
        self.counts[output.verdict] += 1
        self._last = output.verdict
        return output

    def _estop(self, now_ns: int, *, follower_stopped: bool) -> LeadOutput:
        """A leader repeats its e-stop at its own rate: one that stands already is no second emergency."""
        estop = self._gates.estop
        if estop.standing and not estop.settled_at_the_robot(stopped=follower_stopped):
            return LeadOutput(LeadVerdict.ESTOP_REDELIVERED)
        return LeadOutput(LeadVerdict.ESTOP, self._press("the leader", now_ns))

    def _setpoint(self, candidate: Candidate, now_ns: int) -> LeadOutput:
        dropped = self._gates.judge(candidate, now_ns)
        if dropped is LeadVerdict.UNSENDABLE:
            self._tell_unsendable(why_unsendable(self._gates.settings, candidate.setpoint), now_ns)
        if dropped is not None:
            return LeadOutput(dropped)
        try:
            sent = self._uplink.setpoint(candidate.setpoint, now_ns)
        except InputError as error:
            self._tell_unsendable(str(error), now_ns)
            return LeadOutput(LeadVerdict.UNSENDABLE)
        match sent:
            case Datagram():
                return LeadOutput(LeadVerdict.SENT, Outbound(datagrams=(sent,)))
            case StreamedAction():
                return LeadOutput(LeadVerdict.SENT, Outbound(actions=(sent,)))
            case _:
                assert_never(sent)

    def _tell_unsendable(self, reason: str, now_ns: int) -> None:
        if self._last is not LeadVerdict.UNSENDABLE:
            self._tell(SetpointUnsendable(at_ns=now_ns, reason=reason))
