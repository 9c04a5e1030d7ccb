"""The state feed's connection against peers that misbehave. Real sockets, one thread, no sleeps."""

import select
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from steadyhand.edge.robots.fairino import cnde
from steadyhand.edge.robots.fairino.cnde import FrameParser, FrameType
from steadyhand.edge.robots.fairino.cnde_fields import FIELD_TYPES, OUR_RECIPES
from steadyhand.edge.robots.fairino.state_feed import FeedTimes, Phase, StateFeed

MS = 1_000_000
ADDRESS = "127.0.0.1"
TIMES = FeedTimes()


class Clock:
    """Stands still until it is told: what is waited for in real time is only the kernel."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000 * MS


class Peer:
    """A listener in the test's hand: accepts, reads and writes only when told."""

    def __init__(self, backlog: int = 8) -> None:
        self.listener = socket.create_server((ADDRESS, 0), backlog=backlog)
        self.listener.setblocking(False)
        self.port: int = self.listener.getsockname()[1]
        self.connection: socket.socket | None = None

    def accept(self) -> socket.socket | None:
        try:
            connection, _ = self.listener.accept()
        except BlockingIOError:
            return None
        if self.connection is not None:
            self.connection.close()
        self.connection = connection
        self.connection.setblocking(False)
        return self.connection

    def close(self) -> None:
        for one in (self.listener, self.connection):
            if one is not None:
                one.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    one = Peer()
    yield one
    one.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Feed(StateFeed):
    """A feed with its clock at hand."""

    def __init__(self, port: int, clock: Clock) -> None:
        super().__init__(ADDRESS, port, times=TIMES)
        self.clock = clock
        self.open(clock.now_ns)


@pytest.fixture
def feed(peer: Peer, clock: Clock) -> Iterator[Feed]:
    one = Feed(peer.port, clock)
    yield one
    one.close()


def poll_until(feed: Feed, done: Callable[[], object], within_s: float = 10.0) -> list[bytes]:
    """Poll while the clock stands still, until the kernel has delivered what is waited for."""
    payloads: list[bytes] = []
    deadline_s = time.monotonic() + within_s
    while not done():
        assert time.monotonic() < deadline_s, feed.detail
        payloads += feed.poll(feed.clock.now_ns)
        select.select(feed.read_fds(), feed.write_fds(), [], 0.001)
    return payloads


def wait_out(feed: Feed, duration_ns: int) -> None:
    """One nanosecond before its time nothing happens; then it does, at the next poll."""
    phase = feed.phase
    feed.clock.now_ns += duration_ns - 1
    feed.poll(feed.clock.now_ns)
    assert feed.phase is phase
    feed.clock.now_ns += 1
    feed.poll(feed.clock.now_ns)
    assert feed.phase is not phase


def answer(connection: socket.socket, kind: int, text: str = "") -> None:
    connection.sendall(cnde.encode(0, FrameType.MESSAGE, bytes([kind]) + text.encode()))


def stream(feed: Feed, peer: Peer) -> socket.socket:
    """Play the controller as far as the first data frame."""
    poll_until(feed, peer.accept)
    connection = peer.connection
    assert connection is not None
    poll_until(feed, lambda: readable(connection))
    (asked,) = FrameParser().feed(connection.recv(65536))
    names = asked.data[2:].decode().split(",")
    answer(connection, 0, ",".join(FIELD_TYPES[name] for name in names))
    poll_until(feed, lambda: readable(connection))
    connection.recv(65536)
    answer(connection, 0)
    size = feed.layout.size_bytes if feed.layout is not None else 0
    connection.sendall(cnde.encode(1, FrameType.OUTPUT_DATA, b"\x01" * size))
    poll_until(feed, lambda: feed.phase is Phase.STREAMING)
    return connection


def readable(one: socket.socket) -> bool:
    return bool(select.select([one], [], [], 0.0)[0])


def test_it_asks_for_our_fullest_recipe_and_streams(feed: Feed, peer: Peer) -> None:
    stream(feed, peer)
    assert feed.detail == "streaming"
    assert feed.connections == 1
    assert feed.layout is not None
    assert feed.layout.names == OUR_RECIPES[0]
    assert feed.write_fds() == ()
    assert len(feed.read_fds()) == 1


def test_frames_that_come_coalesced_and_in_pieces_are_all_read(feed: Feed, peer: Peer) -> None:
    connection = stream(feed, peer)
    assert feed.layout is not None
    size = feed.layout.size_bytes
    payloads = [bytes([number]) * size for number in range(1, 6)]
    whole = b"".join(cnde.encode(0, FrameType.OUTPUT_DATA, payload) for payload in payloads)
    read: list[bytes] = []

    def take() -> None:
        read.extend(feed.poll(feed.clock.now_ns))

    for start in range(0, len(whole), 700):
        connection.sendall(whole[start : start + 700])
        take()

    def all_read() -> bool:
        take()
        return len(read) == 5

    poll_until(feed, all_read)
    assert read == payloads


def test_garbage_between_frames_is_skipped_and_counted(feed: Feed, peer: Peer) -> None:
    connection = stream(feed, peer)
    assert feed.layout is not None
    payload = b"\x02" * feed.layout.size_bytes
    connection.sendall(b"noise" + cnde.encode(0, FrameType.OUTPUT_DATA, payload))
    read: list[bytes] = []

    def arrived() -> bool:
        read.extend(feed.poll(feed.clock.now_ns))
        return bool(read)

    poll_until(feed, arrived)
    assert read == [payload]
    assert feed.garbage_bytes == 5


def test_a_peer_that_closes_is_a_loss_told_once_and_connected_to_anew(feed: Feed, peer: Peer) -> None:
    stream(feed, peer).close()
    poll_until(feed, lambda: feed.phase is Phase.WAITING)
    assert feed.take_loss() == "the controller closed the connection"
    assert feed.take_loss() is None
    wait_out(feed, TIMES.retry_ns)
    stream(feed, peer)
    assert feed.connections == 2


def test_a_peer_that_is_silent_is_given_up_after_half_a_second(feed: Feed, peer: Peer) -> None:
    stream(feed, peer)
    wait_out(feed, TIMES.silence_ns)
    assert feed.take_loss() == "no state frame in time"


def test_a_late_poll_reads_before_it_gives_up(feed: Feed, peer: Peer) -> None:
    """A process that stalled for a second finds its frames in the socket; they are news."""
    connection = stream(feed, peer)
    assert feed.layout is not None
    connection.sendall(cnde.encode(0, FrameType.OUTPUT_DATA, b"\x02" * feed.layout.size_bytes))
    assert select.select(feed.read_fds(), [], [], 10.0)[0]
    feed.clock.now_ns += 1000 * MS
    assert len(feed.poll(feed.clock.now_ns)) == 1
    assert feed.phase is Phase.STREAMING


def test_a_peer_that_accepts_and_says_nothing_is_given_up_after_a_second(feed: Feed, peer: Peer) -> None:
    poll_until(feed, peer.accept)
    poll_until(feed, lambda: feed.phase is Phase.HANDSHAKE)
    wait_out(feed, TIMES.handshake_ns)
    assert feed.detail == "no state frame after connecting in time"
    assert feed.take_loss() is None


def test_a_connection_nobody_answers_is_given_up_after_a_second(clock: Clock) -> None:
    """A full backlog drops the first packet of a connection, as a black hole does."""
    full = Peer(backlog=0)
    fillers = []
    for _ in range(4):
        filler = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        filler.setblocking(False)
        filler.connect_ex((ADDRESS, full.port))
        fillers.append(filler)
    feed = Feed(full.port, clock)
    feed.poll(clock.now_ns)
    assert feed.phase is Phase.CONNECTING
    wait_out(feed, TIMES.connect_ns)
    assert feed.detail == "no connection in time"
    feed.close()
    for one in fillers:
        one.close()
    full.close()


def test_nobody_listening_is_told_in_the_systems_words_and_tried_again(clock: Clock) -> None:
    peer = Peer()
    port = peer.port
    peer.close()
    feed = Feed(port, clock)
    poll_until(feed, lambda: feed.detail == "connection refused")
    peer.listener = socket.create_server((ADDRESS, port))
    peer.listener.setblocking(False)
    wait_out(feed, TIMES.retry_ns)
    stream(feed, peer)
    feed.close()
    peer.close()


def test_a_refusal_is_told_in_the_controllers_words_and_waited_out_longer_than_a_loss(
    feed: Feed, peer: Peer
) -> None:
    poll_until(feed, peer.accept)
    assert peer.connection is not None
    answer(peer.connection, 3, "another client is connected")
    peer.connection.shutdown(socket.SHUT_WR)
    poll_until(feed, lambda: feed.phase is Phase.WAITING)
    assert feed.detail == "refused: another client is connected"
    wait_out(feed, TIMES.refused_ns)
    assert TIMES.refused_ns > TIMES.retry_ns


def test_hanging_up_is_said_to_the_controller(feed: Feed, peer: Peer) -> None:
    connection = stream(feed, peer)
    feed.close()
    poll_until(feed, lambda: readable(connection))
    frames = FrameParser().feed(connection.recv(65536))
    assert [frame.type for frame in frames] == [FrameType.OUTPUT_STOP]
    assert feed.read_fds() == feed.write_fds() == ()
    assert feed.poll(feed.clock.now_ns) == []
