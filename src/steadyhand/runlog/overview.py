"""What is in a log, in one pass: channels, counts, gaps, duration, the verified part, configuration."""

from typing import Any, Final

import msgspec

from steadyhand.ground.stamps import s_from_ns
from steadyhand.runlog.channels import NOTES_CHANNEL, PROVENANCE_CHANNEL, SCHEMA_CHANNEL
from steadyhand.runlog.faults import LogFault
from steadyhand.runlog.framing import LOG_VERSION, RECORD_HEADER_BYTES
from steadyhand.runlog.integrity import Integrity
from steadyhand.runlog.messages import Gap, Provenance, RecorderNote
from steadyhand.runlog.reader import RunLog
from steadyhand.runlog.scan import Record

GAPS_KEPT: Final = 1000
NOTES_KEPT: Final = 1000
"""Listed of each; the rest of the gaps is counted."""


class ChannelFigures(msgspec.Struct, kw_only=True):
    """One channel of a log.

    Attributes:
        number: in record headers.
        name: by the log's own table; "" for one that is not in it.
        readable: why its records cannot be read by this build, "" where they can.
        records: how many, whatever is known of them.
        size_bytes: of them, headers included.
        first_ns: time of the first.
        last_ns: time of the last.
        longest_pause_ns: between two of them that follow each other; 0 with fewer than two.
        schema_hash: of its layout, by the log's own table.
    """

    number: int
    name: str = ""
    readable: str = ""
    records: int = 0
    size_bytes: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    longest_pause_ns: int = 0
    schema_hash: str = ""

    def take(self, record: Record) -> None:
        """Count one record."""
        if self.last_ns is None:
            self.first_ns = record.time_ns
        else:
            self.longest_pause_ns = max(self.longest_pause_ns, record.time_ns - self.last_ns)
        self.last_ns = record.time_ns
        self.records += 1
        self.size_bytes += RECORD_HEADER_BYTES + len(record.payload)


class Overview(msgspec.Struct, kw_only=True):
    """One log.

    Attributes:
        log: its name.
        version: of the format.
        stack: whose run it is; "" where the schema is lost.
        integrity: how much is verified.
        complete: whether all of it is.
        first_ns: the earliest record's time, the schema's not counted.
        last_ns: the latest record's.
        duration_s: between them.
        channels: in the order of their numbers, declared ones without a record too.
        gaps: records that the recorder missed, by its own word.
        gaps_unlisted: further ones.
        notes: what else the recorder said.
        configuration: the robot file.
        configuration_hash: its SHA-256.
        versions: of the programs that wrote it.
        provenance: where and when; None in a simulated run.
    """

    log: str
    version: int = LOG_VERSION
    stack: str = ""
    integrity: Integrity
    complete: bool = False
    first_ns: int | None = None
    last_ns: int | None = None
    duration_s: float = 0.0
    channels: list[ChannelFigures]
    gaps: list[Gap] = msgspec.field(default_factory=list)
    gaps_unlisted: int = 0
    notes: list[RecorderNote] = msgspec.field(default_factory=list)
    configuration: str = ""
    configuration_hash: str = ""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    provenance: Provenance | None = None

    @property
    def records(self) -> int:
        """All whole records."""
        return self.integrity.records

    def to_json(self) -> Any:
        """For `--json`."""
        return msgspec.to_builtins(self)


def overview(log: RunLog) -> Overview:
    """Read a log to its end and tell what is in it.

    Raises:
        LogFault: the file cannot be read.
    """
    figures = {SCHEMA_CHANNEL: ChannelFigures(number=SCHEMA_CHANNEL, name="schema")}
    schema = log.schema
    for row in () if schema is None else schema.channels:
        figures[row.number] = ChannelFigures(
            number=row.number, name=row.name, schema_hash=row.hash, readable=_why_not(log, row.number)
        )
    scan = log.scan()
    told = Overview(log=log.name, integrity=scan.integrity, channels=[])
    for record in scan:
        channel = figures.get(record.channel)
        if channel is None:
            channel = ChannelFigures(number=record.channel, readable=_why_not(log, record.channel))
            figures[record.channel] = channel
        channel.take(record)
        _take_words(told, log, record)
    told.channels = [figures[number] for number in sorted(figures)]
    told.complete = scan.integrity.complete
    _take_times(told)
    if schema is not None:
        told.stack, told.versions = schema.stack, schema.versions
        told.configuration, told.configuration_hash = schema.configuration, schema.configuration_hash
    return told


def _why_not(log: RunLog, number: int) -> str:
    try:
        log.channel(number)
    except LogFault as fault:
        return fault.what
    return ""


def _take_words(told: Overview, log: RunLog, record: Record) -> None:
    """Provenance, and the recorder's notes; what cannot be read is counted like any record and no more."""
    if record.channel not in (PROVENANCE_CHANNEL, NOTES_CHANNEL):
        return
    try:
        value = log.decode(record)
    except LogFault:
        return
    match value:
        case Provenance():
            told.provenance = told.provenance or value
        case Gap() if len(told.gaps) < GAPS_KEPT:
            told.gaps.append(value)
        case Gap():
            told.gaps_unlisted += 1
        case RecorderNote() if len(told.notes) < NOTES_KEPT:
            told.notes.append(value)


def _take_times(told: Overview) -> None:
    spoken = [one for one in told.channels if one.number != SCHEMA_CHANNEL]
    firsts = [one.first_ns for one in spoken if one.first_ns is not None]
    lasts = [one.last_ns for one in spoken if one.last_ns is not None]
    if firsts and lasts:
        told.first_ns, told.last_ns = min(firsts), max(lasts)
        told.duration_s = s_from_ns(told.last_ns - told.first_ns)
