"""Tables of a log: rows for what there is, and for nothing else."""

import csv
import sys
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import pytest

from steadyhand.core.follower.inbox import MeasuredIn
from steadyhand.core.follower.outputs import FrameKind, Moved, Released, SendJoints, Stopped
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.ground.errors import InputError
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.runlog import messages
from steadyhand.runlog.arm_layouts import StateOut
from steadyhand.runlog.channels import numbered
from steadyhand.runlog.dump import dump
from steadyhand.runlog.framing import RECORD_HEADER, checkpoint_bytes, file_header
from steadyhand.runlog.integrity import Trust
from steadyhand.runlog.overview import GAPS_KEPT, NOTES_KEPT, overview
from steadyhand.runlog.planner_reference import Reference, ReferenceSample
from steadyhand.runlog.reader import RunLog
from steadyhand.runlog.rows import rows_of
from steadyhand.runlog.scan import Record
from steadyhand.runlog.schema import SCHEMA, schema_for
from steadyhand.runlog.tables import BATCH_ROWS, widen
from steadyhand.runlog.writer import ClockPair, RunLogWriter

Values = list[tuple[int, int, Any]]


def log_of(stack: str, values: Values, *, tail: Values | None = None, wall: bool = False) -> RunLog:
    """A log of values by channel and time; those of `tail` behind its last checkpoint."""
    sink = BytesIO()
    channels = numbered(stack)
    clocks = (lambda: ClockPair(0, 1)) if wall else None
    writer = RunLogWriter(sink, schema_for(stack, configuration="a: 1\n"), now_ns=0, clocks=clocks)
    for channel, time_ns, value in values:
        writer.append(channel, time_ns, channels[channel].codec.encode(value))
    writer.finish(0)
    for channel, time_ns, value in tail or []:
        writer.append(channel, time_ns, channels[channel].codec.encode(value))
    writer.flush()
    return RunLog(sink, "test.shlog")


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- the reference (document 002 §4)


def reference(t_ns: int, count: int) -> Reference:
    return Reference(
        tuple(
            ReferenceSample(t_ns + index, (index + 0.1, 0.2, 0.3), (1.1, 1.2, 1.3), (2.1, 2.2, 2.3), 3.0, 4.0)
            for index in range(count)
        )
    )


def test_references_of_0_1_and_3_samples_are_3_records_and_4_rows(tmp_path: Path) -> None:
    log = log_of("flight", [(18, 1000 * (1 + count), reference(50, count)) for count in (0, 1, 3)])
    assert [one.records for one in overview(log).channels if one.name == "reference"] == [3]
    assert dump(log, tmp_path).rows == {"reference.csv": 4}
    rows = rows_in(tmp_path / "reference.csv")
    assert [(row["count"], row["index"]) for row in rows] == [("1", "0"), ("3", "0"), ("3", "1"), ("3", "2")]
    assert list(rows[0]) == [
        "t_ns", "t_s", "count", "index", "sample_t_ns",
        "p_x", "p_y", "p_z", "v_x", "v_y", "v_z", "a_x", "a_y", "a_z", "yaw", "progress",
    ]  # fmt: skip
    assert list(rows[3].values()) == [
        "4000", "4e-06", "3", "2", "52", "2.1", "0.2", "0.3", "1.1", "1.2", "1.3", "2.1", "2.2", "2.3",
        "3.0", "4.0",
    ]  # fmt: skip


def test_a_planner_that_never_aimed_has_a_table_with_a_header(tmp_path: Path) -> None:
    dump(log_of("flight", [(18, 1, Reference())]), tmp_path)
    assert (tmp_path / "reference.csv").read_text().startswith("t_ns,t_s,count,index,sample_t_ns,p_x")
    assert rows_in(tmp_path / "reference.csv") == []


# ---- an arm

POSE = (1.0, 2.0)
NEAR = (1.5, 2.25)


def tick(
    t_ns: int, *, state: bool = True, released: bool = True, kind: FrameKind = FrameKind.FRESH
) -> Values:
    return [
        (16, t_ns, StateOut(arrival_ns=t_ns - 2_500_000, joints_deg=POSE) if state else None),
        (18, t_ns, Released(7, FrameKind.FRESH, NEAR, t_ns - 50, t_ns) if released else None),
        (17, t_ns, SendJoints(NEAR, 7, kind) if kind is not FrameKind.HOLD or released else None),
    ]


def test_an_arms_reference_has_a_row_per_sample_and_none_for_an_empty_tick(tmp_path: Path) -> None:
    log = log_of("arm", tick(10_000_000) + tick(20_000_000, released=False))
    dump(log, tmp_path)
    (row,) = rows_in(tmp_path / "reference.csv")
    assert (row["count"], row["index"], row["seq"], row["kind"]) == ("1", "0", "7", "fresh")
    assert (row["target_deg_1"], row["arrived_ns"]) == ("1.5", "9999950")


def test_setpoint_and_feedback_are_joined_by_stamp(tmp_path: Path) -> None:
    values = [
        *tick(10_000_000),
        (5, 12_000_000, MeasuredIn(measured=MeasuredArm(arrival_ns=12_000_000, joints_deg=POSE))),
        *tick(20_000_000, released=False, kind=FrameKind.BRAKE),
        *tick(30_000_000, released=False, kind=FrameKind.HOLD),
        *tick(40_000_000, state=False),
    ]
    dump(log_of("arm", values), tmp_path)
    first, braking, last = rows_in(tmp_path / "setpoint_feedback.csv")
    assert first["t_ns"] == "10000000"
    assert [first[f"{name}_1"] for name in ("setpoint_deg", "command_deg", "measured_deg")] == [
        "1.5", "1.5", "1.0",
    ]  # fmt: skip
    assert first["measured_age_ms"] == "2.5"
    assert (braking["kind"], braking["setpoint_deg_1"], braking["command_deg_2"]) == ("brake", "", "2.25")
    assert (last["t_ns"], last["measured_deg_1"], last["measured_age_ms"]) == ("40000000", "", "")


def test_a_union_says_which_and_its_parts_have_columns_of_their_own(tmp_path: Path) -> None:
    cause = StopCause(kind=StopKind.STALL, detail="no, setpoint", name="dry")
    events = [(20, 1, Moved(at_ns=1, state="idle", by="ada")), (20, 2, Stopped(at_ns=2, cause=cause))]
    dump(log_of("arm", events), tmp_path)
    moved, stopped = rows_in(tmp_path / "events.csv")
    assert (moved["type"], moved["state"], moved["cause_kind"]) == ("Moved", "idle", "")
    assert (stopped["type"], stopped["cause_kind"], stopped["cause_detail"]) == (
        "Stopped", "stall", "no, setpoint",
    )  # fmt: skip


def test_unverified_records_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    log = log_of("arm", tick(10_000_000), tail=tick(20_000_000))
    report = dump(log, tmp_path / "without")
    assert (report.left_out, report.rows["reference.csv"]) == (3, 1)
    report = dump(log, tmp_path / "with", unverified=True)
    assert (report.left_out, report.rows["reference.csv"]) == (0, 2)


def test_a_record_that_is_no_value_is_counted_and_told(tmp_path: Path) -> None:
    sink = BytesIO()
    writer = RunLogWriter(sink, schema_for("arm"), now_ns=0)
    writer.append(17, 1, b"\xff")
    writer.append(17, 2, numbered("arm")[17].codec.encode(SendJoints(POSE, 1, FrameKind.FRESH)))
    writer.finish(2)
    report = dump(RunLog(sink, "test"), tmp_path)
    assert report.unreadable == 1
    assert "channel 17" in report.faults[0]
    assert report.rows["command.csv"] == 1


def test_floats_are_written_so_that_they_read_back_exactly(tmp_path: Path) -> None:
    joints = (0.1 + 0.2, 1e-300)
    dump(log_of("arm", [(17, 123_456_789_012_345_678, SendJoints(joints, 1, FrameKind.FRESH))]), tmp_path)
    (row,) = rows_in(tmp_path / "command.csv")
    assert (float(row["joints_deg_1"]), float(row["joints_deg_2"])) == joints
    assert row["t_ns"] == "123456789012345678"


def test_a_table_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("steadyhand.runlog.tables.CsvTable.write", full)
    with pytest.raises(InputError, match="No space left"):
        dump(log_of("arm", tick(10_000_000)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_free_form_value_is_one_cell() -> None:
    record = Record(22, 5, b"", Trust.VERIFIED, 0)
    assert rows_of(record, {"a": [1, {"b": 2}]}) == [{"t_ns": 5, "t_s": 5e-9, "json": '{"a":[1,{"b":2}]}'}]
    note = messages.SnapshotIn(why="head", state=b"\x01\xff")
    assert rows_of(record, note)[0]["state"] == "01ff"


def test_a_column_is_as_wide_as_what_is_in_it() -> None:
    columns: dict[str, type] = {}
    widen(columns, {"a": None, "b": 1, "c": 1, "d": True})
    widen(columns, {"a": 2, "b": 1.5, "c": "x", "d": True, "e": None})
    assert columns == {"a": int, "b": float, "c": str, "d": bool, "e": type(None)}


# ---- Parquet


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pyarrow.*not installed.*steadyhand\[parquet\]"):
        dump(log_of("arm", tick(1)), tmp_path, parquet=True)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What of pyarrow is called, and nothing else of it: the batches that would be in the file."""
    written: list[Any] = []

    class Writer:
        def __init__(self, path: str, schema: list[tuple[str, str]]) -> None:
            self.path = Path(path)
            self.path.write_text("parquet")
            self.schema = schema

        def write_table(self, table: tuple[list[Any], list[tuple[str, str]]]) -> None:
            written.append(table)

        def close(self) -> None:
            """Twice does no harm."""

    arrow, parquet = ModuleType("pyarrow"), ModuleType("pyarrow.parquet")
    for kind in ("int64", "float64", "bool_", "string", "null"):
        setattr(arrow, kind, lambda kind=kind: kind)
    arrow.schema = list  # type: ignore[attr-defined]
    arrow.Table = type("Table", (), {"from_pylist": staticmethod(lambda rows, schema: (rows, schema))})  # type: ignore[attr-defined]
    parquet.ParquetWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    return written


def test_parquet_has_the_same_rows_with_a_type_per_column(tmp_path: Path, stand_in: list[Any]) -> None:
    log = log_of("arm", tick(10_000_000) + tick(20_000_000))
    assert dump(log, tmp_path, parquet=True).rows["command.parquet"] == 2
    assert (tmp_path / "command.parquet").exists()
    rows, schema = next(one for one in stand_in if one[1][-1] == ("joints_deg_2", "float64"))
    assert schema[:4] == [("t_ns", "int64"), ("t_s", "float64"), ("seq", "int64"), ("kind", "string")]
    assert [row["t_ns"] for row in rows] == [10_000_000, 20_000_000]


def test_real_parquet_reads_back(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `parquet`")
    dump(log_of("arm", tick(10_000_000) + tick(20_000_000)), tmp_path, parquet=True)
    rows = parquet.read_table(tmp_path / "command.parquet").to_pylist()
    assert [row["joints_deg_1"] for row in rows] == [1.5, 1.5]


# ---- the overview


def test_an_overview_counts_gaps_and_pauses_and_names_the_configuration() -> None:
    gap = messages.Gap(source="ring", missed=12, after_ns=1, before_ns=2)
    note = messages.RecorderNote(kind=messages.NoteKind.CLOCK_STEP, detail="-3 s")
    where = messages.Provenance(host="bench", pid=3, wall_s=1.0)
    values = [(2, 0, where), *tick(1_000_000_000), (11, 1_100_000_000, gap), (11, 1_200_000_000, note)]
    told = overview(log_of("arm", [*values, *tick(1_750_000_000)], tail=tick(2_000_000_000), wall=True))
    assert (told.stack, told.records, told.complete, told.duration_s) == ("arm", 13, False, 2.0)
    assert (told.gaps, told.notes, told.provenance) == ([gap], [note], where)
    assert told.configuration == "a: 1\n"
    assert len(told.configuration_hash) == 64
    state = next(one for one in told.channels if one.name == "state")
    assert (state.records, state.longest_pause_ns, state.readable) == (3, 750_000_000, "")
    assert (told.integrity.verified_records, told.integrity.unverified_records) == (10, 3)
    assert told.to_json()["integrity"]["unverified_records"] == 3


def forged(*records: tuple[int, bytes]) -> RunLog:
    """A log whose checksum holds over records that its own table does not have."""
    data = file_header() + RECORD_HEADER.pack(1, len(SMALL), 0) + SMALL
    for channel, payload in records:
        data += RECORD_HEADER.pack(channel, len(payload), 0) + payload
    count = 1 + len(records)
    data += checkpoint_bytes(offset=len(data), records=count, time_ns=0, wall_ns=0, crc_before=crc32(data))
    return RunLog(BytesIO(data), "test")


SMALL = SCHEMA.encode(schema_for("flight"))


def test_a_channel_that_is_not_in_the_logs_table_is_counted_and_not_read(tmp_path: Path) -> None:
    log = forged((77, b"x"), (11, b"no note"))
    told = overview(log)
    assert told.complete
    stranger = told.channels[-1]
    assert (stranger.number, stranger.name, stranger.records) == (77, "", 1)
    assert "not in the log's own table" in stranger.readable
    assert told.notes == []
    report = dump(log, tmp_path)
    assert (report.unreadable, list(report.rows)) == (2, ["reference.csv"])


def test_gaps_and_notes_without_end_are_counted_and_not_kept() -> None:
    gap = messages.Gap(source="ring", missed=1, after_ns=1, before_ns=2)
    note = messages.RecorderNote(kind=messages.NoteKind.DISK_LOW)
    many: Values = [(11, index, one) for index in range(GAPS_KEPT + 5) for one in (gap, note)]
    told = overview(log_of("flight", many))
    assert (len(told.gaps), told.gaps_unlisted, len(told.notes)) == (GAPS_KEPT, 5, NOTES_KEPT)


def test_a_long_table_is_written_in_batches(tmp_path: Path, stand_in: list[Any]) -> None:
    values = [(17, index, SendJoints(POSE, index, FrameKind.FRESH)) for index in range(BATCH_ROWS + 1)]
    dump(log_of("arm", values), tmp_path, parquet=True)
    assert sorted({len(rows) for rows, _ in stand_in}) == [1, BATCH_ROWS]
