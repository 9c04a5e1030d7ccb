"""Small logs in memory, for tests that break them."""

from collections.abc import Callable, Sequence
from io import BytesIO

import pytest

from steadyhand.runlog.reader import RunLog
from steadyhand.runlog.schema import LogSchema, schema_for
from steadyhand.runlog.writer import RunLogWriter

Given = tuple[int, int, bytes]
"""channel, time_ns, payload."""

MakeLog = Callable[..., bytes]
OpenBytes = Callable[[bytes], RunLog]


def small_schema() -> LogSchema:
    """Three channels: a file of a few hundred bytes can be broken at each of them."""
    whole = schema_for("arm", configuration="robot: sim\n")
    kept = tuple(row for row in whole.channels if row.number in (9, 11, 17))
    return LogSchema(
        stack="arm",
        channels=kept,
        configuration=whole.configuration,
        configuration_hash=whole.configuration_hash,
        versions=whole.versions,
    )


@pytest.fixture(scope="session")
def make_log() -> MakeLog:
    """The bytes of a simulated log with these records, closed or as a kill leaves it."""

    def make(
        records: Sequence[Given], *, finish: bool = True, schema: LogSchema | None = None, now_ns: int = 0
    ) -> bytes:
        sink = BytesIO()
        writer = RunLogWriter(sink, schema or small_schema(), now_ns=now_ns)
        for channel, time_ns, payload in records:
            writer.append(channel, time_ns, payload)
        if finish:
            writer.finish(now_ns)
        writer.flush()
        return sink.getvalue()

    return make


@pytest.fixture(scope="session")
def open_bytes() -> OpenBytes:
    """A log from bytes. Raises what opening raises."""
    return lambda data: RunLog(BytesIO(data), "test.shlog")


@pytest.fixture(scope="session")
def three_segments(make_log: MakeLog) -> tuple[bytes, list[Given]]:
    """A log of three segments behind the schema's, and what was put into it."""
    given = [
        (9, 100, b"first"),
        (17, 200, bytes(range(40))),
        (9, 1_500_000_000, b""),
        (11, 1_500_000_001, b"third, with more"),
        (17, 2_600_000_000, b"\xff" * 25),
        (9, 2_600_000_001, b"last"),
    ]
    return make_log(given), given
