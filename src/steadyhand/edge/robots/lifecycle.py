"""The lifecycle of a robot's two ports, as tables: what may follow what, and nothing else.

Both run unconfigured → inactive → active → inactive, and from anywhere into the error state. The
data port has one state more, between inactive and active, in which the readiness probe owns the
channel alone (document 003, step 9). A pair that a table does not name is a programmer's error: it
raises and changes nothing. A test walks the whole product of both tables.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class PortState(StrEnum):
    """Where a port is."""

    UNCONFIGURED = "unconfigured"
    """No socket is open."""
    INACTIVE = "inactive"
    """Connected, or trying to be; the state feed is read, nothing is commanded."""
    SETTLING = "settling"
    """Data port only: the stream is open and the probe waits to see its setpoints accepted."""
    ACTIVE = "active"
    """Data port: setpoints are written. Control port: the arm is enabled."""
    ERROR = "error"
    """A fatal outcome was reported. Stopping still works; motion is refused until `recover`."""


class PortEvent(StrEnum):
    """What can happen to a port."""

    CONFIGURE = "configure"
    START = "start"
    """Data port: open the stream. Control port: the arm is enabled."""
    ACCEPTED = "accepted"
    """The probe saw its setpoints taken."""
    GAVE_UP = "gave_up"
    """The probe did not."""
    END = "end"
    """Data port: end the stream. Control port: the arm is disabled."""
    FAIL = "fail"
    RECOVER = "recover"
    CLOSE = "close"


class LifecycleError(RuntimeError):
    """A call out of order: ours to repair, so it raises."""


Table = Mapping[tuple[PortState, PortEvent], PortState]

_S, _E = PortState, PortEvent

_COMMON: Final[dict[tuple[PortState, PortEvent], PortState]] = {
    (_S.UNCONFIGURED, _E.CONFIGURE): _S.INACTIVE,
    **{(state, _E.CLOSE): _S.UNCONFIGURED for state in PortState},
    **{(state, _E.FAIL): _S.ERROR for state in PortState},
    (_S.INACTIVE, _E.END): _S.INACTIVE,
    (_S.ACTIVE, _E.START): _S.ACTIVE,
    (_S.ACTIVE, _E.END): _S.INACTIVE,
    # Stopping is always allowed, and does not mend what is broken.
    (_S.ERROR, _E.END): _S.ERROR,
    (_S.ERROR, _E.RECOVER): _S.INACTIVE,
}

DATA_TABLE: Final[Table] = {
    **_COMMON,
    (_S.UNCONFIGURED, _E.END): _S.UNCONFIGURED,
    (_S.INACTIVE, _E.START): _S.SETTLING,
    (_S.SETTLING, _E.START): _S.SETTLING,
    (_S.SETTLING, _E.ACCEPTED): _S.ACTIVE,
    (_S.SETTLING, _E.GAVE_UP): _S.INACTIVE,
    (_S.SETTLING, _E.END): _S.INACTIVE,
}

CONTROL_TABLE: Final[Table] = {
    **{pair: state for pair, state in _COMMON.items() if pair[0] is not _S.SETTLING},
    (_S.INACTIVE, _E.START): _S.ACTIVE,
}


class Lifecycle:
    """Walks one table.

    Args:
        table: `DATA_TABLE` or `CONTROL_TABLE`.
    """

    __slots__ = ("_state", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._state = PortState.UNCONFIGURED

    @property
    def state(self) -> PortState:
        """Where the port is."""
        return self._state

    def require(self, event: PortEvent) -> PortState:
        """Where `event` would lead; changes nothing.

        Raises:
            LifecycleError: the table does not allow it here.
        """
        following = self._table.get((self._state, event))
        if following is None:
            raise LifecycleError(f"{event.value} is not allowed while {self._state.value}")
        return following

    def take(self, event: PortEvent) -> PortState:
        """Carry `event` out and answer the new state.

        Raises:
            LifecycleError: the table does not allow it here; the state stays.
        """
        self._state = self.require(event)
        return self._state
