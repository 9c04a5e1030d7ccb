"""How much of a log can be trusted, said exactly (R15)."""

from enum import IntEnum, StrEnum
from typing import Final

import msgspec

DAMAGES_KEPT: Final = 1000
"""More are counted and not listed: a file of nothing but damage is no reason to fill the memory."""


class Trust(IntEnum):
    """What is known of a record."""

    VERIFIED = 0
    """In the verified part: every byte of the file up to the checkpoint behind it is as it was written."""
    RESUMED = 1
    """Its own segment is as it was written, but something before it is not: the run has a hole there."""
    UNVERIFIED = 2
    """Whole by its lengths, and no checkpoint vouches for it."""


class DamageKind(StrEnum):
    """What is wrong with a stretch of the file."""

    CHANGED = "changed"
    """Bytes are not as they were written; the lengths hold, so its records are delivered, unverified."""
    BROKEN = "broken"
    """Lengths do not lead from checkpoint to checkpoint: nothing in it can be told apart or is delivered."""
    CUT = "cut"
    """The file ends inside a record, or in bytes that are none."""
    OPEN = "open"
    """The file ends in whole records that no checkpoint covers: a run that was killed."""


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of the file that is not verified.

    Attributes:
        kind: what is wrong.
        begin: offset of its first byte.
        end: offset behind its last.
        delivered: records of it that were delivered, unverified.
    """

    kind: DamageKind
    begin: int
    end: int
    delivered: int = 0


class Integrity(msgspec.Struct, kw_only=True):
    """What a scan found so far; final once it has ended.

    Attributes:
        size_bytes: of the file.
        verified_bytes: of the verified part, from the first byte on, through its last checkpoint.
        verified_records: in it.
        verified_until_ns: time of that checkpoint, monotonic; None where there is none.
        verified_wall_ns: its wall time; 0 where it bears none.
        resumed_records: in segments that hold, behind a damage.
        unverified_records: delivered with nothing that vouches for them.
        lost_records: written, by the checkpoints' own counts, and not delivered.
        cut_bytes: at the end of the file, that are no whole record.
        damages: stretches that are not verified, in the order of the file.
        damages_unlisted: further ones.
    """

    size_bytes: int
    verified_bytes: int = 0
    verified_records: int = 0
    verified_until_ns: int | None = None
    verified_wall_ns: int = 0
    resumed_records: int = 0
    unverified_records: int = 0
    lost_records: int = 0
    cut_bytes: int = 0
    damages: list[Damage] = msgspec.field(default_factory=list)
    damages_unlisted: int = 0

    @property
    def complete(self) -> bool:
        """Whether every byte of the file is verified."""
        return self.verified_bytes == self.size_bytes

    @property
    def records(self) -> int:
        """All that were delivered."""
        return self.verified_records + self.resumed_records + self.unverified_records

    def note(self, damage: Damage) -> None:
        """List a damage, or count it."""
        if len(self.damages) < DAMAGES_KEPT:
            self.damages.append(damage)
        else:
            self.damages_unlisted += 1

    def in_words(self) -> str:
        """One line for a person."""
        if self.complete:
            return f"complete: all {self.verified_records} records verified"
        said = [
            f"verified: {self.verified_records} records, {self.verified_bytes} of {self.size_bytes} bytes"
        ]
        told = {
            "verified behind a damage": self.resumed_records,
            "unverified": self.unverified_records,
            "lost": self.lost_records,
            "bytes cut at the end": self.cut_bytes,
        }
        said += [f"{count} {name}" for name, count in told.items() if count]
        damaged = [one for one in self.damages if one.kind in (DamageKind.CHANGED, DamageKind.BROKEN)]
        if damaged:
            said.append(f"first damage between bytes {damaged[0].begin} and {damaged[0].end}")
        return "; ".join(said)
