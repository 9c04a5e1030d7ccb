"""The last minute of datagrams: bounded, in order, and readable in pieces."""

from steadyhand.core.link import LinkProfile
from steadyhand.edge.impairment.lane import Lane
from steadyhand.edge.impairment.memory import MEMORY_NS, Fate, Packet, PacketMemory
from steadyhand.edge.impairment.schedule import Schedule

MS = 1_000_000
S = 1_000_000_000


def test_a_packet_is_remembered_with_its_sending_and_its_arrival_or_its_fate() -> None:
    memory = PacketMemory()
    memory.note(1 * MS, 11 * MS)
    memory.note(2 * MS, Fate.LOST)
    memory.note(3 * MS, Fate.KILLED)
    memory.note(4 * MS, Fate.OVERFLOWED)
    answer = memory.read(0, 5 * MS, limit=10)
    assert answer.packets == (
        Packet(1 * MS, 11 * MS, "arrives"),
        Packet(2 * MS, None, "lost"),
        Packet(3 * MS, None, "killed"),
        Packet(4 * MS, None, "overflowed"),
    )
    assert (answer.next, answer.missed) == (4, 0)


def test_reading_goes_on_where_it_ended() -> None:
    memory = PacketMemory()
    for number in range(5):
        memory.note(number * MS, number * MS)
    first = memory.read(0, 5 * MS, limit=3)
    second = memory.read(first.next, 5 * MS, limit=3)
    assert [packet.sent_ns // MS for packet in first.packets + second.packets] == [0, 1, 2, 3, 4]
    assert memory.read(second.next, 5 * MS, limit=3).packets == ()


def test_what_was_sent_over_a_minute_ago_is_no_longer_told() -> None:
    memory = PacketMemory()
    for second in range(100):
        memory.note(second * S, second * S)
    answer = memory.read(0, 100 * S, limit=1000)
    assert [packet.sent_ns // S for packet in answer.packets] == list(range(40, 100))
    assert MEMORY_NS == 60 * S
    assert answer.missed == 40


def test_the_memory_is_bounded_and_says_what_was_missed() -> None:
    memory = PacketMemory(capacity=4)
    for number in range(10):
        memory.note(number, number)
    answer = memory.read(3, 10, limit=100)
    assert [packet.sent_ns for packet in answer.packets] == [6, 7, 8, 9]
    assert (answer.next, answer.missed) == (10, 3)


def test_a_cursor_from_the_future_reads_nothing() -> None:
    memory = PacketMemory()
    memory.note(1, 1)
    answer = memory.read(99, 2, limit=10)
    assert (answer.packets, answer.next, answer.missed) == ((), 1, 0)


def test_the_schedule_remembers_each_copy() -> None:
    lane = Lane("udp", "to_follower", LinkProfile(delay_ms=5.0, duplicate=1.0), seed=1, now_ns=0)
    schedule: Schedule[None] = Schedule({"to_follower": lane})
    schedule.offer("to_follower", None, b"a", 1 * MS)
    lane.kill()
    schedule.offer("to_follower", None, b"b", 2 * MS)
    lane.revive()
    lane.set_link(LinkProfile(loss=1.0), 3 * MS)
    schedule.offer("to_follower", None, b"c", 3 * MS)
    fates = [
        (packet.arrival_ns, packet.fate)
        for packet in schedule.memory["to_follower"].read(0, 4 * MS, limit=9).packets
    ]
    assert fates == [(6 * MS, "arrives"), (6 * MS, "arrives"), (None, "killed"), (None, "lost")]
