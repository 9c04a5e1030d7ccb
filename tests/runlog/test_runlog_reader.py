"""Opening a log: what is refused, and what a log says of its own channels."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from steadyhand.core.follower.inbox import WriteIn
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.errors import InputError
from steadyhand.runlog.channels import numbered
from steadyhand.runlog.faults import (
    LogHeaderCut,
    MalformedPayload,
    NotARunLog,
    NotCanonical,
    SchemaLost,
    SchemaMismatch,
    UndeclaredChannel,
    UnsupportedLogFlags,
    UnsupportedLogVersion,
)
from steadyhand.runlog.framing import FILE_HEADER, MAGIC, file_header
from steadyhand.runlog.integrity import Trust
from steadyhand.runlog.layouts import layout_hash
from steadyhand.runlog.reader import RunLog, open_log
from steadyhand.runlog.scan import Record
from steadyhand.runlog.schema import SCHEMA, ChannelEntry, LogSchema, schema_for
from steadyhand.runlog.writer import RunLogWriter

OpenBytes = Callable[[bytes], RunLog]
MakeLog = Callable[..., bytes]


def test_version_1_is_unsupported_log_version_1(open_bytes: OpenBytes) -> None:
    with pytest.raises(UnsupportedLogVersion, match="unsupported log version 1"):
        open_bytes(FILE_HEADER.pack(MAGIC, 1, 0, 0))


@pytest.mark.parametrize("version", [0, 3, 0xFFFF])
def test_any_other_version_is_unsupported_too(version: int, open_bytes: OpenBytes) -> None:
    with pytest.raises(UnsupportedLogVersion, match=f"version {version}"):
        open_bytes(FILE_HEADER.pack(MAGIC, version, 0, 0))


@pytest.mark.parametrize(("flags", "reserved"), [(1, 0), (0, 1)])
def test_flags_that_nobody_knows_are_refused(flags: int, reserved: int, open_bytes: OpenBytes) -> None:
    with pytest.raises(UnsupportedLogFlags):
        open_bytes(FILE_HEADER.pack(MAGIC, 2, flags, reserved))


def test_what_is_no_log_says_so(open_bytes: OpenBytes) -> None:
    for data in (b"PK\x03\x04 and more", b"\x89PNG\r\n\x1a\n", b"x"):
        with pytest.raises(NotARunLog, match=r"test\.shlog: not a run log"):
            open_bytes(data)


def test_a_text_transfer_is_noticed(open_bytes: OpenBytes) -> None:
    with pytest.raises(NotARunLog):
        open_bytes(file_header().replace(b"\r\n", b"\n"))


@pytest.mark.parametrize("length", range(16))
def test_a_header_that_is_cut_says_so(length: int, open_bytes: OpenBytes) -> None:
    with pytest.raises(LogHeaderCut):
        open_bytes(file_header()[:length])


def test_a_file_that_is_not_there_or_no_file_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.shlog", tmp_path, Path("a\0b")):
        with pytest.raises(InputError), open_log(path):
            pass


def test_a_log_names_its_channels_and_their_values(make_log: MakeLog, open_bytes: OpenBytes) -> None:
    payload = numbered("arm")[9].codec.encode(WriteIn(now_ns=1, outcome=WriteOutcome.TAKEN))
    log = open_bytes(make_log([(9, 1, payload)]))
    records = list(log.scan())
    assert isinstance(log.decode(records[0]), LogSchema)
    assert log.channel(9).name == "write_in"
    assert log.decode(records[1]).outcome is WriteOutcome.TAKEN
    assert log.schema_trust is Trust.VERIFIED


def test_a_channel_that_is_not_in_the_logs_own_table_is_refused(
    make_log: MakeLog, open_bytes: OpenBytes
) -> None:
    log = open_bytes(make_log([]))
    with pytest.raises(UndeclaredChannel, match="channel 18"):
        log.decode(Record(18, 0, b"\0\0\0\0", Trust.VERIFIED, 0))


def changed(schema: LogSchema, number: int) -> LogSchema:
    """As another build would write it: one channel with another layout."""
    rows = []
    for row in schema.channels:
        layout = {"encoding": "fixed", "fields": ["count u32"]} if row.number == number else row.layout
        rows.append(ChannelEntry(number=row.number, name=row.name, hash=layout_hash(layout), layout=layout))
    return msgspec.structs.replace(schema, channels=tuple(rows))


def test_a_channel_written_with_another_schema_is_refused_by_name(open_bytes: OpenBytes) -> None:
    sink = BytesIO()
    writer = RunLogWriter(sink, changed(schema_for("arm"), 17), now_ns=0)
    writer.append(17, 1, b"\0\0\0\0")
    writer.append(18, 1, b"\0\0\0\0")
    writer.finish(1)
    log = open_bytes(sink.getvalue())
    _, command, reference = log.scan()
    with pytest.raises(SchemaMismatch, match=r"channel 17 \(command\)"):
        log.decode(command)
    assert log.decode(reference) is None


def test_a_stack_that_nobody_knows_has_channels_that_nobody_reads(open_bytes: OpenBytes) -> None:
    sink = BytesIO()
    RunLogWriter(sink, msgspec.structs.replace(schema_for("arm"), stack="submarine"), now_ns=0)
    with pytest.raises(SchemaMismatch, match="submarine"):
        open_bytes(sink.getvalue()).channel(16)


def test_without_its_schema_a_log_has_records_and_no_values(make_log: MakeLog, open_bytes: OpenBytes) -> None:
    data = make_log([(9, 1, b"x"), (9, 2_000_000_000, b"y")])
    log = open_bytes(data.replace(b'"stack"', b'"stock"'))
    assert log.schema is None
    assert [one.channel for one in log.scan()] == [1, 9, 9]
    with pytest.raises(SchemaLost):
        log.channel(9)


def test_a_schema_that_contradicts_itself_is_refused() -> None:
    whole = schema_for("arm", configuration="a: 1\n")
    rows = whole.channels
    wrong = [
        msgspec.structs.replace(whole, configuration="a: 2\n"),
        msgspec.structs.replace(whole, channels=rows[::-1]),
        msgspec.structs.replace(whole, channels=(*rows, rows[-1])),
        msgspec.structs.replace(whole, channels=(msgspec.structs.replace(rows[0], number=0), *rows[1:])),
        msgspec.structs.replace(whole, channels=(msgspec.structs.replace(rows[0], name="../x"), *rows[1:])),
        msgspec.structs.replace(whole, channels=(msgspec.structs.replace(rows[0], name="state"), *rows[1:])),
        msgspec.structs.replace(whole, channels=(msgspec.structs.replace(rows[0], hash="0"), *rows[1:])),
    ]
    encode = msgspec.json.Encoder(order="deterministic").encode
    for schema in wrong:
        with pytest.raises(MalformedPayload):
            SCHEMA.decode(encode(schema))
    with pytest.raises(NotCanonical):
        SCHEMA.decode(msgspec.json.format(encode(whole)))


def test_two_schemas_of_the_same_run_are_the_same_bytes() -> None:
    one = schema_for("arm", configuration="x", versions={"python": "3.11", "numpy": "2"})
    other = schema_for("arm", configuration="x", versions={"numpy": "2", "python": "3.11"})
    assert SCHEMA.encode(one) == SCHEMA.encode(other)
