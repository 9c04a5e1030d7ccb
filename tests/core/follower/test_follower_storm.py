"""Random and mutated datagrams through the whole of `receive`, into a buffer that is playing.

The decoders alone are stormed in tests/wire, the buffer alone in tests/core/playout. Here a sound
stream plays while damaged ones arrive between its datagrams: version 1 and 2 as they are, version 3
damaged after sealing, and sealed around damaged payloads and bundles, so that the damage is authentic.
"""

from collections import Counter
from random import Random
from typing import Any, Final

import pytest

from steadyhand.core.follower.inputs import EnterIdle, PrepareStream, ProbeReady, ResetEmergency
from steadyhand.core.follower.outputs import ProgramFault
from steadyhand.core.safety.latch import StopKind
from steadyhand.wire.action_frame import encode_bundle, encode_sealed, encode_single
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry, encode_body
from steadyhand.wire.head import ACTION_MAGIC, encode_head
from steadyhand.wire.rejections import Reason
from steadyhand.wire.sealing import Sealer
from tests.wire.test_wire_any_bytes import DAMAGES

KEY: Final = bytes(range(32))
PER_TICK: Final = 8
"""Damaged datagrams between two sound ones."""

AUTHENTIC: Final = 0.01
"""Share of them that are sealed around the damage: most of those stop the arm."""

PATIENCE: Final = 40
"""Ticks without a release after which the operator begins anew: a damaged number may have sealed past all."""


class Storm:
    """A rig with a sender that damages what it sends, and an operator who never gives up."""

    def __init__(self, rig: Any, seed: int, *, sealed: bool) -> None:
        self.rig = rig
        self.dice = Random(seed)
        self.sealed = sealed
        self.session = 7
        self.sealer: Sealer = rig.sealer
        self.recent: list[Entry] = []
        self.sent: list[bytes] = []
        self.twins: list[bytes] = []
        self.stops: Counter[str] = Counter()
        self.released = 0
        self.last: tuple[int, int] | None = None
        self.idle_ticks = 0
        rig.observe()
        self.engage()

    # ---- what is sent

    def sound(self) -> bytes:
        """The next setpoint of a slow sweep, with up to two copies of those before it."""
        rig, dice = self.rig, self.dice
        rig.pose = (rig.pose[0] + (0.1 if rig.seq // 300 % 2 else -0.1), *rig.pose[1:])
        fields = {"leader_timestamp_s": 9.0 + rig.now_ns / 1e9} if rig.seq % 512 < 64 else {}
        entry = Entry(rig.seq, encode_action(rig.setpoint(rig.pose, **fields)))
        rig.seq += 1
        self.recent = [entry, *self.recent[:2]]
        entries = self.recent[: 1 + int(3 * dice.random())]
        datagram = self.framed(entries)
        self.sent = [datagram, *self.sent[:9]]
        # Its twin arrives only damaged: under the counter of one that was taken nothing else is looked at.
        self.twins = [self.framed(entries), *self.twins[:9]]
        return datagram

    def framed(self, entries: list[Entry]) -> bytes:
        if self.sealed:
            return encode_sealed(robot_id="arm", entries=entries, sealer=self.sealer)
        if len(entries) == 1:
            return encode_single(robot_id="arm", entry=entries[0])
        return encode_bundle(robot_id="arm", entries=entries)

    def damaged(self) -> bytes:
        """Something that no sender should send."""
        chance = self.dice.random()
        if chance < 0.08:
            return self.noise()
        if chance < 0.12:
            return self.sent[int(self.dice.random() * len(self.sent))]
        if chance < 0.12 + AUTHENTIC:
            return self.around_damage()
        return self.damage(self.twins[int(self.dice.random() * len(self.twins))])

    def damage(self, data: bytes) -> bytes:
        hurt = DAMAGES[int(self.dice.random() * len(DAMAGES))](data, self.dice)
        # Mostly what stands behind the head: with a foreign magic or name nothing is looked at.
        return hurt if self.dice.random() < 0.3 else data[:14] + hurt[14:]

    def noise(self) -> bytes:
        noise = self.dice.randbytes(int(self.dice.random() * 80))
        if self.dice.random() < 0.3:
            return noise
        version = 1 + int(3 * self.dice.random())
        return encode_head(ACTION_MAGIC, version, self.rig.seq, "arm") + noise

    def around_damage(self) -> bytes:
        """A frame around a damaged payload, or sealed around a damaged bundle."""
        seq = self.rig.seq
        self.rig.seq += 1
        payload = DAMAGES[int(self.dice.random() * len(DAMAGES))](self.recent[0].payload, self.dice)
        entry = Entry(seq, payload[:300] or b"\x00")
        if not self.sealed or self.dice.random() < 0.7:
            return self.framed([entry])
        body = DAMAGES[int(self.dice.random() * len(DAMAGES))](encode_body([entry, *self.recent]), self.dice)
        return self.sealer.seal(encode_head(ACTION_MAGIC, 3, seq, "arm"), body[:1100])

    # ---- what is done about it

    def run(self, datagrams: int) -> None:
        for number in range(datagrams):
            if number % PER_TICK == 0:
                self.rig.deliver(self.sound())
                self.tick()
            self.rig.deliver(self.damaged())
        self.check()

    def tick(self) -> None:
        rig = self.rig
        released = rig.tick().released
        self.idle_ticks += 1
        if released is not None:
            self.released += 1
            self.idle_ticks = 0
            resets = rig.core.stream.buffer.stats.epoch_resets
            if self.last is not None and self.last[0] == resets:
                # Never back. Not "on by less than half a circle": before the first release a damaged
                # number from anywhere behind is in order, and the next one is then far ahead.
                assert (self.last[1] - released.seq) & 0xFFFFFFFF > 1 << 20
            self.last = (resets, released.seq)
        if self.idle_ticks > PATIENCE or rig.core.state.value in ("stopped", "idle"):
            self.check()
            self.engage()

    def engage(self) -> None:
        """Come to rest, reset, open a new session, engage: whatever it takes."""
        rig = self.rig
        cause = rig.core.cause
        if cause is not None:
            self.stops[cause.kind.value] += 1
            assert cause.kind is not StopKind.PROGRAM_ERROR, cause.detail
        rig.control(EnterIdle())
        for _ in range(200):
            rig.control(ResetEmergency())
            if rig.core.state.value == "idle":
                break
            rig.tick()
        self.session += 1
        key = {"session_id": self.session, "command_key": KEY, "operator": "ann"}
        assert rig.core.open_session(**key, now_ns=rig.now_ns).outcome == "done"
        self.sealer = Sealer(session_id=self.session, key=KEY)
        rig.pose = rig.measured
        for request in (PrepareStream(operator="ann"), ProbeReady()):
            reply = rig.control(request)
            assert reply.outcome == "done", reply
        self.last, self.idle_ticks, self.recent = None, 0, []
        self.sent, self.twins = [], []
        rig.deliver(self.sound())
        rig.commands.clear()
        rig.frames.clear()

    def check(self) -> None:
        """R6 over everything so far, and no exception anywhere."""
        rig = self.rig
        stats = rig.core.stream.buffer.stats
        assert stats.offered == stats.accounted() + rig.core.stream.buffer.depth
        assert not [event for event in rig.events if isinstance(event, ProgramFault)]
        rig.events.clear()


def storm(make_rig: Any, seed: int, datagrams: int, *, sealed: bool) -> None:
    """One storm, and what it must have reached to be worth its length."""
    auth = {} if sealed else {"auth": "none"}
    rig = make_rig(remote_node=auth, communication={"playout_adaptive_max_ms": 100.0})
    made = Storm(rig, seed, sealed=sealed)
    made.run(datagrams)
    assert made.released > datagrams // 20
    rejections = rig.core.ingress.rejections
    expected = {Reason.WRONG_MAGIC, Reason.TRUNCATED, Reason.WRONG_VERSION, Reason.MALFORMED_PROTOBUF}
    expected |= {Reason.BUNDLE_ORDER, Reason.TRAILING_BYTES, Reason.EMPTY_PAYLOAD}
    if sealed:
        expected |= {Reason.UNAUTHENTIC, Reason.REPLAYED, Reason.NOT_SEALED, Reason.RETIRED_SESSION}
        assert made.stops[StopKind.UNREADABLE_COMMAND.value] > datagrams // 500
    else:
        expected |= {Reason.SEALED, Reason.JOINT_COUNT, Reason.BUNDLE_COUNT}
    assert [reason for reason in expected if not rejections.of(reason)] == []


@pytest.mark.slow
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_thousand_damaged_datagrams_into_a_playing_buffer_raise_nothing(
    seed: int, sealed: bool, make_rig: Any
) -> None:
    storm(make_rig, seed, 50_000, sealed=sealed)


@pytest.mark.soak
@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
@pytest.mark.parametrize("seed", range(10, 20))
def test_two_million_damaged_datagrams_into_a_playing_buffer_raise_nothing(
    seed: int, sealed: bool, make_rig: Any
) -> None:
    storm(make_rig, seed, 100_000, sealed=sealed)
