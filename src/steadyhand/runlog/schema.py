"""The schema record: the first of every file, which makes the file readable by itself (R15, R16).

Canonical JSON: the channel table with each layout and its hash, the configuration as text with its hash,
versions. Nothing in it differs between two runs of the same seed; that is provenance, channel 2.
"""

import hashlib
from typing import Any, Final

import msgspec

from steadyhand import __version__
from steadyhand.runlog.channels import FIRST_OUTPUT, MAX_CHANNEL, SCHEMA_CHANNEL, STACKS, Channel, numbered
from steadyhand.runlog.codec import JsonCodec
from steadyhand.runlog.faults import (
    MalformedPayload,
    PayloadFault,
    SchemaMismatch,
    UndeclaredChannel,
)
from steadyhand.runlog.layouts import layout_hash


class ChannelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a log's own channel table.

    Attributes:
        number: in record headers.
        name: in tables and file names.
        hash: SHA-256 of `layout`.
        layout: how its payload is laid out (`layouts`).
    """

    number: int
    name: str
    hash: str
    layout: dict[str, Any]

    @property
    def is_output(self) -> bool:
        """Whether a replay compares it."""
        return self.number >= FIRST_OUTPUT


class LogSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says of itself.

    Attributes:
        stack: whose run it is: "arm", "flight".
        channels: in the order of their numbers.
        configuration: the robot file, canonical text.
        configuration_hash: SHA-256 of it.
        versions: of this program and whatever a replay depends on.
    """

    stack: str
    channels: tuple[ChannelEntry, ...]
    configuration: str = ""
    configuration_hash: str = ""
    versions: dict[str, str] = msgspec.field(default_factory=dict)

    def entry(self, number: int) -> ChannelEntry | None:
        """The row of a channel, or None where it is not declared."""
        return next((row for row in self.channels if row.number == number), None)


def schema_for(stack: str, *, configuration: str = "", versions: dict[str, str] | None = None) -> LogSchema:
    """The schema of a new log.

    Args:
        stack: a key of `STACKS`.
        configuration: the robot file's canonical text (`edge.robot_yaml.dump_robot`).
        versions: beside our own, "python" for example.

    Raises:
        KeyError: no such stack.
    """
    rows = [
        ChannelEntry(number=one.number, name=one.name, hash=one.schema_hash, layout=one.codec.layout)
        for one in STACKS[stack]
    ]
    return LogSchema(
        stack=stack,
        channels=tuple(rows),
        configuration=configuration,
        configuration_hash=_sha256(configuration),
        versions={"steadyhand": __version__, **(versions or {})},
    )


def _fault_in(schema: LogSchema) -> PayloadFault | None:
    """Hashes are of what they stand beside, and numbers and names are each one channel's."""
    numbers = [row.number for row in schema.channels]
    if numbers != sorted(set(numbers)) or not all(SCHEMA_CHANNEL < one <= MAX_CHANNEL for one in numbers):
        return MalformedPayload("channel numbers are not 2 to 65535 in rising order")
    if len({row.name for row in schema.channels}) != len(numbers):
        return MalformedPayload("two channels have one name")
    for row in schema.channels:
        if not row.name.isidentifier() or not row.name.isascii():
            return MalformedPayload(f"channel {row.number} has a name that is no word")
        if layout_hash(row.layout) != row.hash:
            return MalformedPayload(f"the hash of channel {row.number} is not its layout's")
    if _sha256(schema.configuration) != schema.configuration_hash:
        return MalformedPayload("the configuration's hash is not its own")
    return None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


SCHEMA: Final = JsonCodec[LogSchema](LogSchema, _fault_in, sort_keys=True)
"""Channel 1."""


def channel_of(schema: LogSchema, number: int) -> Channel:
    """The channel by which this build reads records of that number in that log.

    Raises:
        UndeclaredChannel: the log does not have it.
        SchemaMismatch: this build has no such channel, or has it with another layout.
    """
    row = schema.entry(number)
    if row is None:
        raise UndeclaredChannel(f"channel {number} is not in the log's own table")
    ours = numbered(schema.stack).get(number)
    if ours is None:
        raise SchemaMismatch(f"channel {number} ({row.name}) of a {schema.stack} log is not known here")
    if ours.schema_hash != row.hash:
        raise SchemaMismatch(f"channel {number} ({row.name}) was written with another schema")
    return ours
