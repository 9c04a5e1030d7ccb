"""One process of the ring's torture test: `python ring_process.py ROLE FD COUNT`.

A script of its own and not a test module, so that four of them start quickly. Every payload is made
from its number alone, so that any reader can tell a torn one.
"""

import json
import sys
import time
from collections.abc import Callable

from steadyhand.edge.ring import RingWriter
from steadyhand.edge.ring_layout import RingShape
from steadyhand.edge.ring_reader import RingReader, RingRecord
from steadyhand.edge.segment import open_inherited

DEADLINE_S = 60.0
SLOT_BYTES = 512


def payload_of(sequence: int) -> bytes:
    """What record `sequence` must hold: its number, over and over, 8 to 504 bytes."""
    return sequence.to_bytes(8, "little") * (1 + sequence * 7 % 63)


def flood(descriptor: int, depth: int, count: int) -> None:
    """Publish `count` records as fast as Python can, once told to."""
    shape = RingShape(depth=depth, slot_bytes=SLOT_BYTES)
    writer = RingWriter(open_inherited(descriptor, "ring"), shape)
    say("ready")
    sys.stdin.readline()
    for sequence in range(1, count + 1):
        writer.publish(payload_of(sequence))
    say(json.dumps({"published": writer.newest}))


def consume(reader: RingReader, read: Callable[[], RingRecord | None], count: int) -> None:
    """Read until every one of `count` records is accounted for, and say how it went."""
    say("ready")
    torn = disordered = last = 0
    deadline_s = time.monotonic() + DEADLINE_S
    while reader.received + reader.missed < count and time.monotonic() < deadline_s:
        record = read()
        if record is None:
            continue
        torn += record.payload != payload_of(record.sequence)
        disordered += record.sequence <= last
        last = record.sequence
    counts = {"received": reader.received, "missed": reader.missed, "torn": torn, "disordered": disordered}
    say(json.dumps(counts))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(role: str, descriptor: str, depth: str, count: str) -> None:
    if role == "flood":
        flood(int(descriptor), int(depth), int(count))
        return
    segment = open_inherited(int(descriptor), "ring")
    margin_records = 1 if role == "every, short margin" else None
    reader = RingReader(segment, start="first", margin_records=margin_records)
    consume(reader, reader.latest_record if role == "latest" else reader.next_record, int(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
