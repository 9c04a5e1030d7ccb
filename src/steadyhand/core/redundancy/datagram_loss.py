"""Which share of the datagrams never came, whatever their order and whatever copies repaired.

The gaps that the playout buffer counts on arrival are loss and reordering together, and a copy
closes them. Neither may steer redundancy: a link that only reorders needs no copies, and copies
that work must not hide the loss they work against. So datagrams are counted by a number of their
own, and each is judged only once it has had time to come late.
"""

from typing import Final

JUDGED_AFTER: Final = 32
"""Datagrams a straggler may be overtaken by before it counts as lost; a third of a second at 100 Hz."""

LOSS_GAIN: Final = 0.02
"""Weight of one datagram in the average, as in the playout buffer's own."""

MAX_JUMP: Final = 512
"""A jump beyond this is a new numbering, not five seconds of loss."""

_WINDOW: Final = (1 << JUDGED_AFTER) - 1


class DatagramLossEstimator:
    """Smoothed share of lost datagrams, from the number that each carries."""

    def __init__(self) -> None:
        """Start without an opinion: no loss."""
        self._loss = 0.0
        self._newest: int | None = None
        self._seen = 0

    @property
    def loss_pct(self) -> float:
        """Lost datagrams, percent, averaged over the last half second or so at 100 Hz."""
        return 100.0 * self._loss

    def observe(self, counter: int) -> None:
        """Take in one datagram by its number.

        Args:
            counter: the sealed frame's counter, or the unwrapped sequence number of the
                datagram's own setpoint; not those of the copies it carries. Duplicates and what
                comes later than `JUDGED_AFTER` change nothing.
        """
        newest = self._newest
        if newest is None or not -MAX_JUMP <= counter - newest <= MAX_JUMP:
            # All before the first count as seen: nobody sent them to us.
            self._newest, self._seen = counter, _WINDOW
            return
        ahead = counter - newest
        if ahead <= 0:
            self._seen |= (1 << -ahead) & _WINDOW
            return
        leaving = ((self._seen << ahead) >> JUDGED_AFTER) & ((1 << ahead) - 1)
        for bit in range(ahead - 1, -1, -1):
            lost = 0.0 if leaving >> bit & 1 else 1.0
            self._loss += LOSS_GAIN * (lost - self._loss)
        self._seen = (self._seen << ahead | 1) & _WINDOW
        self._newest = counter
