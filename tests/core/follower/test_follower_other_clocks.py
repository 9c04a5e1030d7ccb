"""What becomes of a stream whose clock or path is not what it was (R3, decisions 0003 and 0004)."""

from typing import Any

import pytest

from steadyhand.core.follower.inputs import ResetEmergency

HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
MS = 1_000_000


def stream(rig: Any, ticks: int, *, back_s: float = 0.0) -> int:
    """One plain datagram a period, stamped by a clock that shows `back_s` less; how many were released."""
    released: int = rig.core.stream.buffer.stats.released
    for _ in range(ticks):
        rig.deliver(rig.plain(HOME, stamp_s=500.0 + rig.now_ns / 1e9 - back_s))
        rig.tick()
    after: int = rig.core.stream.buffer.stats.released
    return after - released


def engage_again(rig: Any) -> None:
    assert rig.core.state.value == "stopped"
    assert rig.control(ResetEmergency()).outcome == "done"
    rig.engage()


@pytest.mark.parametrize("back_s", [30.0, 86_400.0])
def test_r3_a_sender_whose_clock_is_set_back_after_its_restart_plays_again(
    back_s: float, make_rig: Any
) -> None:
    rig = make_rig(remote_node={"auth": "none"})
    rig.engage()
    stream(rig, 100)
    for _ in range(300):  # it restarts, three seconds long, and counts from zero
        rig.tick()
    rig.seq = 0
    engage_again(rig)
    assert stream(rig, 50) > 40
    # Its clock is set back: an underrun stops the arm, and who resets it sees it play within seconds.
    assert stream(rig, 20, back_s=back_s) < 10
    engage_again(rig)
    assert stream(rig, 150, back_s=back_s) == 0
    assert rig.core.state.value == "streaming"
    assert stream(rig, 100, back_s=back_s) > 40
    assert rig.core.stream.buffer.stats.clock_steps == 1
    assert rig.core.stream.buffer.stats.aged_dropped == 0
    rig.check_legal()


def test_the_report_says_how_late_the_stream_is_while_nothing_plays(make_rig: Any) -> None:
    """The path has become 900 ms longer: alive and arriving, and nothing moves."""
    rig = make_rig(remote_node={"auth": "none"})
    rig.engage()
    stream(rig, 50)
    assert "held_back" not in rig.core.report(rig.now_ns, 0.0).extras["playout"]
    stream(rig, 20, back_s=0.9)
    cause = rig.core.cause
    assert cause is not None
    assert "900 ms late where the buffer is 50 ms deep" in cause.detail
    engage_again(rig)
    stream(rig, 30, back_s=0.9)
    told = rig.core.report(rig.now_ns, 0.0).extras["playout"]
    assert told["held_back"].startswith("setpoints arrive 89")
    assert len(told["held_back"]) + len(told["last_stall"]) <= 200


def test_r3_a_new_session_passes_the_passthrough_gate_at_once(make_rig: Any) -> None:
    """The old session's numbers say nothing of the new one's, silence or not."""
    rig = make_rig(communication={"playout_buffer_ms": 0.0}, remote_node={"auth": "none"})
    rig.seq = 5_000
    rig.engage()
    rig.deliver(rig.plain(HOME))
    rig.core.ingress.forget_sender()
    rig.seq = 0
    rig.deliver(rig.plain(HOME, stamp_s=0.25))
    assert rig.core.ingress.counts.gate_dropped == 0
