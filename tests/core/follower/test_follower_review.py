"""What a fresh pair of eyes found: rules that held in one file and were forgotten in the next."""

import math
from typing import Any

import pytest

from steadyhand.core.follower.inputs import (
    EditGuard,
    EmergencyStop,
    PrepareStream,
    ProbeReady,
    ResetEmergency,
    ScaleSpeed,
    ToggleGuard,
)
from steadyhand.core.follower.outputs import RequestRefused, SafetyNote, SendJoints
from steadyhand.core.safety.latch import StopKind
from steadyhand.ground.errors import ConfigError
from steadyhand.wire.head import ACTION_MAGIC, VERSION_SEALED, encode_head

MS = 1_000_000
RESET = ResetEmergency(operator="ann", reason="checked")


def test_a_lowered_ceiling_outlives_an_edit(make_rig: Any) -> None:
    rig = make_rig()
    rig.observe()
    rig.core.control(ScaleSpeed(share=0.5), rig.now_ns)
    lowered = rig.core.stream.envelope.report()["stream_shaper"]["v_max_deg_s"]
    rig.core.control(EditGuard(block="state_feed", changes={"max_age_ms": 90.0}), rig.now_ns)
    rig.core.control(PrepareStream(), rig.now_ns)
    assert rig.core.stream.envelope.report()["stream_shaper"]["v_max_deg_s"] == lowered


def test_a_switched_guard_stays_switched_over_an_edit(make_rig: Any) -> None:
    rig = make_rig()
    rig.observe()
    reply, _ = rig.core.control(ToggleGuard(name="joint_limits", enabled=False), rig.now_ns)
    assert reply.outcome == "done"
    rig.core.control(EditGuard(block="state_feed", changes={"max_age_ms": 90.0}), rig.now_ns)
    rig.core.control(PrepareStream(), rig.now_ns)
    assert not rig.core.stream.envelope.report()["joint_limits"]["enabled"]


@pytest.mark.parametrize("place", range(6))
def test_a_speed_that_is_no_number_counts_as_moving(make_rig: Any, place: int) -> None:
    rig = make_rig()
    rig.core.control(EmergencyStop(source="ann"), rig.now_ns)
    rig.observe(speeds_deg_s=tuple(math.nan if joint == place else 0.0 for joint in range(6)))
    assert rig.core.control(RESET, rig.now_ns)[0].outcome == "refused"


def test_without_reported_speeds_the_poses_say_whether_the_arm_stands(make_rig: Any) -> None:
    rig = make_rig()
    rig.core.control(EmergencyStop(source="ann"), rig.now_ns)
    home = rig.measured
    for step in range(3):
        rig.now_ns += 8 * MS
        rig.observe(joints_deg=(home[0] + 0.4 * step, *home[1:]), speeds_deg_s=())
    reply, _ = rig.core.control(RESET, rig.now_ns)
    assert (reply.outcome, reply.reason) == ("refused", "the arm still moves at 50.0 °/s")
    rig.now_ns += 8 * MS
    rig.observe(joints_deg=(home[0] + 0.8, *home[1:]), speeds_deg_s=())
    assert rig.core.control(RESET, rig.now_ns)[0].outcome == "done"


@pytest.mark.parametrize("name", ["command_guard", "command_speed", "cap_delta"])
def test_an_edit_of_a_retired_name_warns_and_changes_nothing(make_rig: Any, name: str) -> None:
    rig = make_rig()
    reply, _ = rig.core.control(EditGuard(block=name, changes={"max_deg": 3.0}), rig.now_ns)
    rig.tick()
    notes = [event.kind for event in rig.events if isinstance(event, SafetyNote)]
    assert (reply.outcome, notes) == ("done", ["RetiredNameUsed"])


def test_a_file_with_a_retired_block_runs_and_is_warned(make_rig: Any) -> None:
    rig = make_rig(safety={"command_guard": {"max_deg": 3.0}})
    rig.tick()
    notes = [event for event in rig.events if isinstance(event, SafetyNote)]
    assert [(note.kind, note.fields["name"]) for note in notes] == [("RetiredNameUsed", "command_guard")]


def test_passthrough_sends_a_slot_read_again_within_its_window_as_fresh(make_rig: Any) -> None:
    rig = make_rig(communication={"playout_buffer_ms": 0.0})
    rig.engage()
    rig.stream(5)
    before, holds = len(rig.commands), rig.core.stream.holds
    rig.tick()
    sent = [command for command in rig.commands[before:] if isinstance(command, SendJoints)]
    assert [frame.kind.value for frame in sent] == ["fresh"]
    assert rig.core.stream.holds == holds


def test_no_stream_begins_on_an_arm_that_moves(make_rig: Any) -> None:
    rig = make_rig()
    rig.observe()
    rig.core.control(PrepareStream(), rig.now_ns)
    rig.observe(speeds_deg_s=(50.0,) + (0.0,) * 5)
    rig.core.control(ProbeReady(), rig.now_ns)
    assert rig.core.state.value == "stopped"
    refused = [event.reason for event in rig.core.take_events() if isinstance(event, RequestRefused)]
    assert refused == ["the arm moves at 50.0 °/s"]


def test_a_controller_that_judges_the_tool_makes_its_bound_mandatory(make_rig: Any) -> None:
    with pytest.raises(ConfigError, match="tcp_speed"):
        make_rig(robot={"trigger": "tcp_speed"})


def test_a_shipped_arm_without_limits_of_its_own_has_the_vendors(make_rig: Any) -> None:
    assert make_rig().core.settings.arm.limits_deg[0] == (-175.0, 175.0)
    own = ((-100.0, 100.0),) * 6
    assert make_rig(robot={"joint_limits_deg": own}).core.settings.arm.limits_deg == own


def test_a_broken_bundle_under_a_good_seal_stops_the_arm(make_rig: Any) -> None:
    rig = make_rig()
    rig.engage()
    head = encode_head(ACTION_MAGIC, VERSION_SEALED, 5, "arm")
    rig.deliver(rig.sealer.seal(head, b"\x05not a bundle"))
    assert rig.core.cause is not None
    assert rig.core.cause.kind is StopKind.UNREADABLE_COMMAND
    assert rig.core.cause.detail.startswith("bundle: ")


def test_the_same_bytes_under_a_bad_seal_are_only_counted(make_rig: Any) -> None:
    rig = make_rig()
    rig.engage()
    head = encode_head(ACTION_MAGIC, VERSION_SEALED, 5, "arm")
    broken = bytearray(rig.sealer.seal(head, b"\x05not a bundle"))
    broken[-1] ^= 1
    rig.deliver(bytes(broken))
    assert rig.core.state.value == "streaming"


@pytest.mark.parametrize("buffer_ms", [50.0, 0.0])
def test_an_arm_that_is_engaged_and_never_led_goes_idle_by_itself(make_rig: Any, buffer_ms: float) -> None:
    rig = make_rig(communication={"playout_buffer_ms": buffer_ms})
    rig.engage()
    for _ in range(3_000):
        rig.tick()
    assert rig.core.state.value == "streaming"
    for _ in range(5):
        rig.tick()
    assert rig.core.state.value == "idle"
    assert any("nothing was led for 30 s" in repr(event) for event in rig.events)


def test_an_arm_that_is_led_stays_engaged(make_rig: Any) -> None:
    rig = make_rig()
    rig.engage()
    rig.stream(3_100, step_deg=0.02)
    assert rig.core.state.value == "streaming"
