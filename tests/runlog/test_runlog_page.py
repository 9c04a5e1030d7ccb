"""The page `docs/runlog.md` is the specification; every vector on it holds in both directions."""

import hashlib
import re
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from steadyhand.core.follower.inbox import TickIn
from steadyhand.core.follower.outputs import FrameKind, Released, SendJoints
from steadyhand.runlog import framing
from steadyhand.runlog.arm_layouts import CommandKind, StateOut
from steadyhand.runlog.channels import ARM, numbered
from steadyhand.runlog.messages import Gap, ScheduleOut
from steadyhand.runlog.planner_reference import Reference, ReferenceSample
from steadyhand.runlog.reader import RunLog
from steadyhand.runlog.schema import SCHEMA
from steadyhand.runlog.writer import RunLogWriter

TEXT: Final = (Path(__file__).parents[2] / "docs" / "runlog.md").read_text(encoding="utf-8")
TYPES: Final[dict[str, Any]] = {
    "state": StateOut,
    "command": SendJoints,
    "no-command": SendJoints,
    "released": Released,
    "gap": Gap,
    "tick": TickIn,
    "schedule": ScheduleOut,
}

Vector = dict[str, Any]


def read_vectors() -> dict[str, Vector]:
    vectors = [yaml.safe_load(block) for block in re.findall(r"(?s)```yaml\n(vector: .*?)```", TEXT)]
    for vector in vectors:
        lines = [line.split("#")[0] for line in vector["bytes"].splitlines()]
        schema = vector.get("schema", "").encode().hex()
        vector["bytes"] = bytes.fromhex(" ".join(lines).replace("SCHEMA", schema))
    return {vector["vector"]: vector for vector in vectors}


VECTORS: Final = read_vectors()
PAYLOADS: Final = [name for name, vector in VECTORS.items() if vector["of"] == "payload"]


def crc32_by_the_bit(data: bytes) -> int:
    """CRC-32 from its polynomial alone, so that the page does not merely repeat what zlib does."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_the_log_on_the_page_is_what_the_writer_writes() -> None:
    vector = VECTORS["log"]
    sink = BytesIO()
    writer = RunLogWriter(sink, SCHEMA.decode(vector["schema"].encode()), now_ns=vector["time_ns"])
    for record in vector["records"]:
        writer.append(record["channel"], record["time_ns"], bytes.fromhex(record["payload"]))
    writer.finish(vector["records"][-1]["time_ns"])
    assert sink.getvalue() == vector["bytes"]


def test_the_log_on_the_page_reads_back() -> None:
    vector = VECTORS["log"]
    log = RunLog(BytesIO(vector["bytes"]), "page")
    records = list(log.scan())
    assert log.integrity().complete
    assert records[0].payload.decode() == vector["schema"]
    told = [(one.channel, one.time_ns, one.payload.hex()) for one in records[1:]]
    assert told == [(one["channel"], one["time_ns"], one["payload"]) for one in vector["records"]]


def test_the_checkpoints_on_the_page_close_over_their_segments() -> None:
    data: bytes = VECTORS["log"]["bytes"]
    first = data.index(framing.SYNC) - framing.RECORD_HEADER_BYTES + framing.CHECKPOINT_BYTES
    for segment in (data[:first], data[first:]):
        assert crc32_by_the_bit(segment[:-4]) == int.from_bytes(segment[-4:], "little")


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_on_the_page_holds_in_both_directions(name: str) -> None:
    vector = VECTORS[name]
    codec = numbered("arm")[vector["channel"]].codec
    value = vector["value"]
    if value is not None:
        fields = {key: tuple(one) if isinstance(one, list) else one for key, one in value.items()}
        if "kind" in fields:
            fields["kind"] = FrameKind(value["kind"])
        value = TYPES[name](**fields)
    assert codec.encode(value) == vector["bytes"]
    assert codec.decode(vector["bytes"]) == value


def test_the_planners_reference_on_the_page_holds_in_both_directions() -> None:
    vector = VECTORS["planner-reference"]
    samples = [
        ReferenceSample(
            one["t_ns"],
            tuple(one["position"]),
            tuple(one["velocity"]),
            tuple(one["acceleration"]),
            one["yaw"],
            one["progress"],
        )
        for one in vector["samples"]
    ]
    codec = numbered("flight")[18].codec
    assert codec.encode(Reference(tuple(samples))) == vector["bytes"]
    assert codec.decode(vector["bytes"]) == Reference(tuple(samples))


def test_the_page_has_the_channels_as_they_are() -> None:
    rows = re.findall(r"(?m)^\| (\d+) \| `(\w+)` \| (\w+)", TEXT)
    ours = [(str(one.number), one.name, one.codec.layout["encoding"]) for one in ARM]
    assert rows == ours


def test_the_page_has_the_numbers_as_they_are() -> None:
    assert f"`{framing.MAGIC.hex(' ')}`" in TEXT
    assert f"`{framing.SYNC.hex(' ')}`" in TEXT
    assert f"at most {framing.MAX_PAYLOAD_BYTES:,}" in TEXT
    assert f"The payload, {framing.CHECKPOINT_PAYLOAD_BYTES} bytes" in TEXT
    for kind in CommandKind:
        assert f"| {int(kind)} | {kind.name.lower()} |" in TEXT


def test_the_hash_on_the_page_is_of_the_layouts_bytes() -> None:
    schema = VECTORS["log"]["schema"]
    (row,) = msgspec.json.decode(schema)["channels"]
    layout = re.search(r'"layout":(\{.*?\})\}\]', schema)
    assert layout is not None
    assert hashlib.sha256(layout[1].encode()).hexdigest() == row["hash"]
