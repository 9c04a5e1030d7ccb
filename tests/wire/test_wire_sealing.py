"""Who may speak: sealed datagrams, their sessions and their counters."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.wire.head import ACTION_MAGIC, TELEMETRY_MAGIC, Head, encode_head, read_head
from steadyhand.wire.rejections import Reason, Rejection
from steadyhand.wire.replay_window import REPLAY_WINDOW
from steadyhand.wire.sealing import (
    MAX_COUNTER,
    RETIRED_REMEMBERED,
    SEAL_OVERHEAD_BYTES,
    Sealer,
    SealError,
    Unsealed,
    Unsealer,
)

calm = settings(deadline=None, derandomize=True)
KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
HEAD = encode_head(ACTION_MAGIC, 3, 7, "fr3")


def _unsealer(session_id: int = 5, key: bytes = KEY) -> Unsealer:
    unsealer = Unsealer()
    unsealer.open_session(session_id=session_id, key=key)
    return unsealer


def _unseal(unsealer: Unsealer, datagram: bytes, magic: bytes = ACTION_MAGIC) -> Unsealed | Rejection:
    head = read_head(datagram, magic)
    assert isinstance(head, Head), head
    return unsealer.unseal(head)


def _reason(answer: Unsealed | Rejection) -> Reason:
    assert isinstance(answer, Rejection), answer
    return answer.reason


@calm
@given(session_id=st.integers(0, (1 << 64) - 1), key=st.binary(min_size=32, max_size=32), text=st.binary())
def test_what_is_sealed_comes_out_once(session_id: int, key: bytes, text: bytes) -> None:
    unsealer, sealer = _unsealer(session_id, key), Sealer(session_id=session_id, key=key)
    for counter in range(3):
        datagram = sealer.seal(HEAD, text)
        assert len(datagram) == len(HEAD) + len(text) + SEAL_OVERHEAD_BYTES
        assert _unseal(unsealer, datagram) == Unsealed(session_id, counter, text)
        assert _reason(_unseal(unsealer, datagram)) is Reason.REPLAYED


def test_flipping_any_bit_is_never_authentic() -> None:
    datagram = Sealer(session_id=5, key=KEY).seal(HEAD, b"payload")
    unsealer = _unsealer()
    for bit in range(8 * len(datagram)):
        forged = bytearray(datagram)
        forged[bit // 8] ^= 1 << bit % 8
        head = read_head(bytes(forged), ACTION_MAGIC)
        if isinstance(head, Head):
            assert isinstance(unsealer.unseal(head), Rejection)
    assert isinstance(_unseal(unsealer, datagram), Unsealed), "and the forgeries shut nobody out"


def test_every_cut_is_rejected() -> None:
    datagram = Sealer(session_id=5, key=KEY).seal(HEAD, b"payload")
    for length in range(len(HEAD), len(datagram)):
        rejected = _reason(_unseal(_unsealer(), datagram[:length]))
        short = length < len(HEAD) + SEAL_OVERHEAD_BYTES
        assert rejected is (Reason.TRUNCATED if short else Reason.UNAUTHENTIC)


def test_a_key_opens_only_its_own_direction() -> None:
    command = Sealer(session_id=5, key=KEY).seal(HEAD, b"x")
    assert _reason(_unseal(_unsealer(key=OTHER_KEY), command)) is Reason.UNAUTHENTIC


def test_a_sealed_command_is_no_telemetry_even_under_the_same_key() -> None:
    datagram = Sealer(session_id=5, key=KEY).seal(HEAD, b"x")
    turned = TELEMETRY_MAGIC + datagram[4:]
    assert _reason(_unseal(_unsealer(), turned, TELEMETRY_MAGIC)) is Reason.UNAUTHENTIC


def test_the_robots_name_is_bound_by_the_seal() -> None:
    datagram = Sealer(session_id=5, key=KEY).seal(HEAD, b"x")
    assert _reason(_unseal(_unsealer(), datagram.replace(b"fr3", b"fr4"))) is Reason.UNAUTHENTIC


def test_a_forged_counter_does_not_move_the_window() -> None:
    unsealer, sealer = _unsealer(), Sealer(session_id=5, key=KEY)
    honest = sealer.seal(HEAD, b"x")
    at = len(HEAD) + 8
    forged = honest[:at] + MAX_COUNTER.to_bytes(8, "big") + honest[at + 8 :]
    assert _reason(_unseal(unsealer, forged)) is Reason.UNAUTHENTIC
    assert isinstance(_unseal(unsealer, honest), Unsealed)


def test_late_datagrams_are_taken_within_the_window_and_stale_behind_it() -> None:
    unsealer, sealer = _unsealer(), Sealer(session_id=5, key=KEY)
    datagrams = [sealer.seal(HEAD, b"x") for _ in range(REPLAY_WINDOW + 1)]
    assert isinstance(_unseal(unsealer, datagrams[-1]), Unsealed)
    assert isinstance(_unseal(unsealer, datagrams[1]), Unsealed)
    assert _reason(_unseal(unsealer, datagrams[0])) is Reason.STALE_COUNTER
    assert _reason(_unseal(unsealer, datagrams[1])) is Reason.REPLAYED


def test_a_shuffled_and_doubled_stream_comes_out_once_each() -> None:
    unsealer, sealer = _unsealer(), Sealer(session_id=5, key=KEY)
    stream = [sealer.seal(HEAD, b"%d" % i) for i in range(300)] * 2
    random.Random(1).shuffle(stream)
    opened = [answer for answer in (_unseal(unsealer, d) for d in stream) if isinstance(answer, Unsealed)]
    assert sorted(answer.counter for answer in opened) == list(range(300))


# Sessions


def test_without_a_session_every_frame_is_of_an_unknown_one() -> None:
    datagram = Sealer(session_id=5, key=KEY).seal(HEAD, b"x")
    unsealer = Unsealer()
    assert unsealer.session_id is None
    assert _reason(_unseal(unsealer, datagram)) is Reason.UNKNOWN_SESSION


def test_a_new_session_retires_the_old_one_at_once() -> None:
    unsealer, old = _unsealer(5), Sealer(session_id=5, key=KEY)
    straggler = old.seal(HEAD, b"x")
    unsealer.open_session(session_id=6, key=OTHER_KEY)
    assert unsealer.session_id == 6
    assert _reason(_unseal(unsealer, straggler)) is Reason.RETIRED_SESSION
    fresh = Sealer(session_id=6, key=OTHER_KEY).seal(HEAD, b"x")
    assert isinstance(_unseal(unsealer, fresh), Unsealed)
    stranger = Sealer(session_id=7, key=KEY).seal(HEAD, b"x")
    assert _reason(_unseal(unsealer, stranger)) is Reason.UNKNOWN_SESSION


def test_a_session_can_end_without_a_new_one() -> None:
    unsealer, sealer = _unsealer(5), Sealer(session_id=5, key=KEY)
    unsealer.retire_session()
    unsealer.retire_session()
    assert unsealer.session_id is None
    assert _reason(_unseal(unsealer, sealer.seal(HEAD, b"x"))) is Reason.RETIRED_SESSION


def test_a_session_is_never_opened_twice() -> None:
    unsealer = _unsealer(5)
    with pytest.raises(SealError, match="used before"):
        unsealer.open_session(session_id=5, key=OTHER_KEY)
    unsealer.open_session(session_id=6, key=KEY)
    with pytest.raises(SealError, match="used before"):
        unsealer.open_session(session_id=5, key=KEY)
    assert unsealer.session_id == 6


def test_a_bad_key_leaves_the_living_session_alone() -> None:
    unsealer = _unsealer(5)
    with pytest.raises(ValueError, match="32 bytes"):
        unsealer.open_session(session_id=6, key=b"short")
    assert unsealer.session_id == 5


def test_retired_sessions_are_remembered_within_a_bound() -> None:
    unsealer = _unsealer(0)
    for session_id in range(1, RETIRED_REMEMBERED + 2):
        unsealer.open_session(session_id=session_id, key=KEY)
    forgotten = Sealer(session_id=0, key=KEY).seal(HEAD, b"x")
    remembered = Sealer(session_id=1, key=KEY).seal(HEAD, b"x")
    assert _reason(_unseal(unsealer, forgotten)) is Reason.UNKNOWN_SESSION
    assert _reason(_unseal(unsealer, remembered)) is Reason.RETIRED_SESSION


def test_a_new_session_begins_with_an_empty_window() -> None:
    unsealer, first = _unsealer(5), Sealer(session_id=5, key=KEY)
    for _ in range(3):
        _unseal(unsealer, first.seal(HEAD, b"x"))
    unsealer.open_session(session_id=6, key=OTHER_KEY)
    assert isinstance(_unseal(unsealer, Sealer(session_id=6, key=OTHER_KEY).seal(HEAD, b"x")), Unsealed)


def test_a_counter_is_never_used_twice_even_at_its_end() -> None:
    sealer = Sealer(session_id=5, key=KEY)
    sealer._next_counter = MAX_COUNTER
    assert isinstance(_unseal(_unsealer(), sealer.seal(HEAD, b"x")), Unsealed)
    with pytest.raises(SealError, match="counter"):
        sealer.seal(HEAD, b"x")


@pytest.mark.parametrize("session_id", [-1, 1 << 64])
def test_a_session_id_is_a_u64(session_id: int) -> None:
    with pytest.raises(ValueError, match="u64"):
        Sealer(session_id=session_id, key=KEY)
