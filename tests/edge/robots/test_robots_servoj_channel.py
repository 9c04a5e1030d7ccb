"""What becomes of a setpoint that the socket does or does not take."""

import errno
import os
import select
import socket
from collections.abc import Iterator

import pytest

from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.fairino.servoj_channel import ServojChannel

ADDRESS = "127.0.0.1"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind((ADDRESS, 0))
        one.setblocking(False)
        yield one


@pytest.fixture
def channel(listener: socket.socket) -> Iterator[ServojChannel]:
    one = ServojChannel(ADDRESS, listener.getsockname()[1])
    yield one
    one.close()


class Failing:
    """A socket whose sends fail."""

    def __init__(self, error: int) -> None:
        self._error = error

    def send(self, frame: bytes) -> int:
        raise OSError(self._error, os.strerror(self._error))


def test_the_count_advances_with_what_was_taken_and_wraps(
    channel: ServojChannel, listener: socket.socket
) -> None:
    channel.count = 65535
    assert channel.write(b"one").outcome is WriteOutcome.TAKEN
    assert (channel.count, channel.sent) == (0, 1)
    assert listener.recv(100) == b"one"


@pytest.mark.parametrize("error", [errno.EAGAIN, errno.ENOBUFS, errno.ENETUNREACH, errno.EHOSTUNREACH])
def test_what_may_be_over_at_the_next_period_loses_the_frame(
    channel: ServojChannel, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    real = channel._socket
    monkeypatch.setattr(channel, "_socket", Failing(error))
    report = channel.write(b"x")
    assert (report.outcome, report.detail) == (WriteOutcome.TRANSIENT, os.strerror(error).lower())
    assert (channel.count, channel.sent) == (0, 0)
    monkeypatch.setattr(channel, "_socket", real)
    assert channel.write(b"x").outcome is WriteOutcome.TAKEN


@pytest.mark.parametrize("error", [errno.EBADF, errno.EPERM, errno.EMSGSIZE])
def test_what_will_not_pass_by_itself_is_fatal(
    channel: ServojChannel, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    real = channel._socket
    monkeypatch.setattr(channel, "_socket", Failing(error))
    assert channel.write(b"x").outcome is WriteOutcome.FATAL
    monkeypatch.setattr(channel, "_socket", real)


def test_a_refusal_that_comes_back_later_fails_the_next_write_and_every_one_after_it(
    channel: ServojChannel, listener: socket.socket
) -> None:
    """The kernel's answer belongs to a frame that was reported as taken, and it is given only once."""
    listener.close()
    assert channel.write(b"x").outcome is WriteOutcome.TAKEN
    assert select.select([channel.fileno()], [], [], 5.0)[0]
    channel.drain()
    for _ in range(3):
        report = channel.write(b"x")
        assert report.outcome is WriteOutcome.FATAL
        assert "nobody listens" in report.detail
    assert channel.sent == 1


def test_a_refusal_seen_by_the_write_itself_is_fatal_too(
    channel: ServojChannel, listener: socket.socket
) -> None:
    listener.close()
    channel.write(b"x")
    assert select.select([channel.fileno()], [], [], 5.0)[0]
    assert [channel.write(b"x").outcome for _ in range(2)] == [WriteOutcome.FATAL] * 2


def test_replies_are_drained_and_counted(channel: ServojChannel, listener: socket.socket) -> None:
    channel.write(b"x")
    _, sender = listener.recvfrom(100)
    for _ in range(40):
        listener.sendto(b"/f/bIII0III376III1III0III/b/f", sender)
    channel.drain()
    assert channel.replies == 32
    channel.drain()
    assert channel.replies == 40
