"""The codecs: document 002's acceptance list, an item a test, and the same for the arm's own."""

import math
import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.core.follower import inbox
from steadyhand.core.follower.inputs import EditGuard, EmergencyStop, Reply
from steadyhand.core.follower.outputs import FrameKind, Moved, ProgramFault, Released, SafetyNote, SendJoints
from steadyhand.core.follower.outputs import StopMotion as Stop
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.errors import InputError
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.runlog import messages
from steadyhand.runlog.arm_layouts import COMMAND, RELEASED, STATE, StateOut
from steadyhand.runlog.channels import ARM, FLIGHT, numbered
from steadyhand.runlog.codec import Codec
from steadyhand.runlog.faults import (
    CountBeyondBounds,
    MalformedPayload,
    NonFiniteValue,
    NotCanonical,
    PayloadFault,
    PayloadTruncated,
    ProgressDecreasing,
    SampleTimesNotIncreasing,
    TrailingBytes,
    UnknownCode,
    Unrecordable,
)
from steadyhand.runlog.layouts import describe
from steadyhand.runlog.planner_reference import (
    MAX_REFERENCE_SAMPLES,
    PLANNER_REFERENCE,
    SAMPLE_BYTES,
    Reference,
    ReferenceSample,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
I64 = st.integers(-(1 << 63), (1 << 63) - 1)
JOINTS = st.lists(FINITE, min_size=1, max_size=16).map(tuple)
SIX = (1.0, -2.0, 3.5, 0.0, 1e-9, 179.9)


def sample(t_ns: int, progress: float = 0.0) -> ReferenceSample:
    return ReferenceSample(t_ns, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0), 0.5, progress)


def reference(count: int) -> Reference:
    return Reference(tuple(sample(index * 10, index * 0.25) for index in range(count)))


def samples_payload(samples: list[tuple[int, list[float]]]) -> bytes:
    packed = [struct.pack("<q11d", t_ns, *values) for t_ns, values in samples]
    return struct.pack("<I", len(samples)) + b"".join(packed)


# ---- document 002, acceptance 1


@pytest.mark.parametrize("count", [0, 1, 64])
def test_a_reference_comes_back_for_0_1_and_64_samples(count: int) -> None:
    payload = PLANNER_REFERENCE.encode(reference(count))
    assert len(payload) == 4 + 96 * count
    assert PLANNER_REFERENCE.decode(payload) == reference(count)


def test_a_sample_is_96_bytes() -> None:
    assert SAMPLE_BYTES == 96
    assert MAX_REFERENCE_SAMPLES == 64


def test_a_count_of_65_is_rejected() -> None:
    with pytest.raises(CountBeyondBounds):
        PLANNER_REFERENCE.decode(samples_payload([(index, [0.0] * 11) for index in range(65)]))
    with pytest.raises(Unrecordable):
        PLANNER_REFERENCE.encode(reference(65))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", range(11))
def test_a_value_that_is_not_finite_is_rejected_in_any_field(field: int, value: float) -> None:
    values = [0.0] * 11
    values[field] = value
    with pytest.raises(NonFiniteValue):
        PLANNER_REFERENCE.decode(samples_payload([(0, [0.0] * 11), (1, values)]))


@pytest.mark.parametrize("later_ns", [10, 9, -1])
def test_sample_times_that_do_not_increase_are_rejected(later_ns: int) -> None:
    with pytest.raises(SampleTimesNotIncreasing):
        PLANNER_REFERENCE.decode(samples_payload([(10, [0.0] * 11), (later_ns, [0.0] * 11)]))


def test_progress_that_decreases_is_rejected_and_one_that_stays_is_not() -> None:
    first, less = [0.0] * 10 + [1.0], [0.0] * 10 + [0.999]
    with pytest.raises(ProgressDecreasing):
        PLANNER_REFERENCE.decode(samples_payload([(0, first), (1, less)]))
    assert len(PLANNER_REFERENCE.decode(samples_payload([(0, first), (1, first)])).samples) == 2


def test_one_trailing_byte_is_rejected() -> None:
    with pytest.raises(TrailingBytes):
        PLANNER_REFERENCE.decode(PLANNER_REFERENCE.encode(reference(2)) + b"\0")


@pytest.mark.parametrize("count", [0, 1, 64])
def test_a_payload_truncated_by_one_byte_is_rejected(count: int) -> None:
    with pytest.raises(PayloadTruncated):
        PLANNER_REFERENCE.decode(PLANNER_REFERENCE.encode(reference(count))[:-1])


def test_what_lies_behind_the_count_cannot_make_two_references_differ() -> None:
    """Canonical: the unused samples of document 002's fixed array do not exist here."""
    assert PLANNER_REFERENCE.decode(struct.pack("<I", 0)) == Reference()


# ---- the arm's outputs

OUTPUTS: list[tuple[Codec, Any]] = [
    (STATE, None),
    (STATE, StateOut(arrival_ns=-5, joints_deg=SIX, speeds_deg_s=SIX, fault_code=1, fault_sub_code=-32)),
    (STATE, StateOut(arrival_ns=5, joints_deg=(1.0,), estop_pressed=True, enabled=False)),
    (COMMAND, None),
    *[(COMMAND, SendJoints(SIX, 7, kind)) for kind in FrameKind],
    (RELEASED, None),
    (RELEASED, Released(9, FrameKind.FRESH, SIX, 1, 2)),
    (RELEASED, Released(10, FrameKind.SYNTHETIC, SIX, 3, 4)),
]


@pytest.mark.parametrize(("codec", "value"), OUTPUTS)
def test_an_output_comes_back(codec: Codec, value: Any) -> None:
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(("codec", "value"), OUTPUTS)
def test_an_output_is_rejected_with_a_byte_more_and_at_every_shorter_length(codec: Codec, value: Any) -> None:
    payload = codec.encode(value)
    with pytest.raises(TrailingBytes):
        codec.decode(payload + b"\0")
    for length in range(len(payload)):
        with pytest.raises(PayloadTruncated):
            codec.decode(payload[:length])


@pytest.mark.parametrize(
    ("kind", "code"),
    [(FrameKind.FRESH, 0), (FrameKind.HOLD, 1), (FrameKind.SYNTHETIC, 2), (FrameKind.BRAKE, 3)],
)
def test_each_command_says_fresh_hold_synthetic_or_synchronous(kind: FrameKind, code: int) -> None:
    assert COMMAND.encode(SendJoints(SIX, 1, kind))[12] == code


def test_a_kind_that_is_not_in_the_table_is_rejected() -> None:
    command = bytearray(COMMAND.encode(SendJoints(SIX, 1, FrameKind.FRESH)))
    command[12] = 4
    with pytest.raises(UnknownCode):
        COMMAND.decode(bytes(command))
    released = bytearray(RELEASED.encode(Released(1, FrameKind.FRESH, SIX, 0, 0)))
    released[28] = 1
    with pytest.raises(UnknownCode, match="kind 1"):
        RELEASED.decode(bytes(released))


def test_a_flag_that_is_not_in_the_table_is_rejected() -> None:
    state = bytearray(STATE.encode(StateOut(arrival_ns=0, joints_deg=SIX)))
    state[20] |= 4
    with pytest.raises(UnknownCode):
        STATE.decode(bytes(state))


@pytest.mark.parametrize("joints", [0, 17])
def test_no_joint_and_a_seventeenth_are_rejected(joints: int) -> None:
    command = struct.pack("<IqBB", 1, 0, 0, joints) + bytes(8 * joints)
    released = struct.pack("<IqqqBB", 1, 0, 0, 0, 0, joints) + bytes(8 * joints)
    state = struct.pack("<IqiiBBB", 1, 0, 0, 0, 0, joints, 0) + bytes(8 * joints)
    for codec, payload in ((COMMAND, command), (RELEASED, released), (STATE, state)):
        with pytest.raises(CountBeyondBounds):
            codec.decode(payload)


def test_a_count_of_two_in_one_tick_is_rejected() -> None:
    for codec in (COMMAND, RELEASED, STATE):
        with pytest.raises(CountBeyondBounds, match="count 2"):
            codec.decode(struct.pack("<I", 2) + bytes(200))


def test_speeds_are_none_or_one_per_joint() -> None:
    payload = struct.pack("<IqiiBBB", 1, 0, 0, 0, 0, 6, 5) + bytes(88)
    with pytest.raises(CountBeyondBounds, match="5 speeds"):
        STATE.decode(payload)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_command_and_a_setpoint_are_finite_and_a_measured_joint_may_be_anything(value: float) -> None:
    """The controller's numbers are judged by the core, so the log has to be able to hold them."""
    joints = (*SIX[:5], value)
    for codec, values in ((COMMAND, (1, 0, 0, 6)), (RELEASED, (1, 0, 0, 0, 0, 6))):
        layout = "<IqBB" if len(values) == 4 else "<IqqqBB"
        with pytest.raises(NonFiniteValue):
            codec.decode(struct.pack(layout, *values) + struct.pack("<6d", *joints))
    back = STATE.decode(STATE.encode(StateOut(arrival_ns=0, joints_deg=joints)))
    assert back is not None
    assert repr(back.joints_deg) == repr(joints)


@given(joints=JOINTS, seq=I64, kind=st.sampled_from(FrameKind))
def test_any_finite_command_comes_back(joints: tuple[float, ...], seq: int, kind: FrameKind) -> None:
    command = SendJoints(joints, seq, kind)
    assert COMMAND.decode(COMMAND.encode(command)) == command


# ---- packed values

CAUSE = StopCause(kind=StopKind.GUARD, detail="12.5° behind", name="divergence")
PACKED: dict[int, list[Any]] = {
    2: [messages.Provenance(host="bench", pid=7, wall_s=1.5e9, machine={"b": "2", "a": "1"})],
    3: [
        inbox.DatagramIn(
            now_ns=1, wall_s=0.1, datagram=b"S7A1", seal="authentic", session_id=(1 << 64) - 1, counter=5,
            bundle=b"\0\xff",
        ),
        inbox.DatagramIn(now_ns=2, wall_s=0.2, datagram=b"noise"),
    ],
    4: [
        inbox.ControlIn(now_ns=1, command=EmergencyStop(source="console")),
        inbox.ControlIn(
            now_ns=2,
            command=EditGuard(block="stream_shaper", changes={"v_max_deg_s": 100.0, "mode": "rest_target"}),
        ),
        inbox.RefusalIn(now_ns=3, request="prepare_stream", reason="leaving"),
    ],
    5: [
        inbox.MeasuredIn(
            measured=MeasuredArm(
                arrival_ns=3, joints_deg=SIX, tcp_position_mm=(1.0, 2.0, 3.0), digital_outputs=0
            )
        )
    ],
    6: [inbox.ActionIn(now_ns=1, wall_s=0.0, session_id=1, payload=b"action")],
    7: [
        inbox.SessionIn(now_ns=1, session_id=1, operator="ada"),
        inbox.SessionEndIn(now_ns=2, operator="ada"),
    ],
    8: [inbox.TickIn(now_ns=1), inbox.EventsIn(now_ns=2), inbox.ReportIn(now_ns=3, wall_s=1.5)],
    9: [inbox.WriteIn(now_ns=1, outcome=WriteOutcome.TRANSIENT, detail="EAGAIN")],
    10: [messages.SnapshotIn(why="head", state=bytes(range(256)))],
    11: [
        messages.Gap(source="ring", missed=3, after_ns=1, before_ns=9),
        messages.RecorderNote(kind=messages.NoteKind.CLOCK_STEP, detail="-3 s"),
    ],
    20: [
        Moved(at_ns=1, state="streaming", by="probe"),
        SafetyNote(at_ns=2, kind="JumpAbsorbed", fields={"joint": 3, "by": [1, 2.5, None, {"x": "y"}]}),
        ProgramFault(at_ns=3, where="tick", traceback="Traceback…"),
    ],
    21: [messages.ModeOut(state="stopped", operator="ada", cause=CAUSE), messages.ModeOut(state="idle")],
    22: [{"robot_id": "fr3", "joint_positions": [1.0, -0.0, 1e-7], "extras": {"engage": "idle"}}],
    23: [Stop("guard")],
    24: [Reply(outcome="refused", reason="stopped; reset first")],
    25: [messages.ScheduleOut(next_tick_ns=10)],
}  # fmt: skip
EVERY = [(number, value) for number, values in PACKED.items() for value in values]
CHANNELS = numbered("arm")


def test_every_channel_is_tried_here() -> None:
    assert set(PACKED) | {16, 17, 18, 19} == set(CHANNELS)


@pytest.mark.parametrize(("number", "value"), EVERY)
def test_a_packed_value_comes_back(number: int, value: Any) -> None:
    codec = CHANNELS[number].codec
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(("number", "value"), EVERY)
def test_a_packed_value_is_rejected_with_a_byte_more_and_at_every_shorter_length(
    number: int, value: Any
) -> None:
    codec = CHANNELS[number].codec
    payload = codec.encode(value)
    with pytest.raises(TrailingBytes):
        codec.decode(payload + b"\0")
    # Of JSON that ends inside a number nobody can say more than that it is malformed.
    fault = PayloadTruncated if number != 22 else (PayloadTruncated, MalformedPayload)
    for length in range(len(payload)):
        with pytest.raises(fault):
            codec.decode(payload[:length])


def test_a_value_written_another_way_than_the_one_is_rejected() -> None:
    codec = CHANNELS[2].codec
    value = PACKED[2][0]
    assert codec.encode(value).index(b"a") < codec.encode(value).index(b"\xa1b")
    unsorted = msgspec.msgpack.encode(value)
    assert msgspec.msgpack.decode(unsorted, type=messages.Provenance) == value
    with pytest.raises(NotCanonical):
        codec.decode(unsorted)
    with pytest.raises(NotCanonical):
        CHANNELS[22].codec.decode(b'{"a": 1}')
    with pytest.raises(NotCanonical):
        CHANNELS[22].codec.decode(b'{"a":1,"a":2}')


def test_a_value_of_another_type_is_rejected_by_what_is_wrong_with_it() -> None:
    with pytest.raises(MalformedPayload, match="perhaps"):
        CHANNELS[9].codec.decode(
            msgspec.msgpack.encode({"type": "WriteIn", "now_ns": 1, "outcome": "perhaps", "detail": ""})
        )
    with pytest.raises(MalformedPayload):
        CHANNELS[22].codec.decode(b"[1]")


def test_a_measured_frame_has_as_many_joints_as_a_frame_can_carry() -> None:
    for joints in ((), (0.0,) * 17):
        frame = inbox.MeasuredIn(measured=MeasuredArm(arrival_ns=0, joints_deg=joints))
        with pytest.raises(Unrecordable):
            CHANNELS[5].codec.encode(frame)
        with pytest.raises(CountBeyondBounds):
            CHANNELS[5].codec.decode(msgspec.msgpack.encode(frame))


def test_a_measured_joint_that_is_no_number_is_recorded_as_it_came() -> None:
    frame = inbox.MeasuredIn(measured=MeasuredArm(arrival_ns=0, joints_deg=(math.nan, math.inf)))
    assert repr(CHANNELS[5].codec.decode(CHANNELS[5].codec.encode(frame))) == repr(frame)


def test_depth_without_end_is_a_typed_fault() -> None:
    deep = b"\x83\xa4type\xaaSafetyNote\xa5at_ns\x01\xa6fields\x81\xa1x" + b"\x91" * 100_000
    with pytest.raises(MalformedPayload):
        CHANNELS[20].codec.decode(deep)


def test_a_text_that_is_none_is_not_recorded() -> None:
    note = messages.RecorderNote(kind=messages.NoteKind.ENDED, detail="\ud800")
    with pytest.raises(Unrecordable):
        CHANNELS[11].codec.encode(note)


EVERY_CODEC = [*ARM, *FLIGHT]


@given(payload=st.binary(max_size=200), which=st.sampled_from(range(len(EVERY_CODEC))))
def test_any_bytes_are_a_value_or_a_typed_fault(payload: bytes, which: int) -> None:
    codec = EVERY_CODEC[which].codec
    try:
        value = codec.decode(payload)
    except PayloadFault:
        return
    assert codec.encode(value) == payload


@given(data=st.data())
def test_any_broken_payload_is_a_value_or_a_typed_fault(data: st.DataObject) -> None:
    number, value = data.draw(st.sampled_from(EVERY))
    codec = CHANNELS[number].codec
    payload = bytearray(codec.encode(value))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = codec.decode(bytes(payload))
    except PayloadFault:
        return
    assert codec.encode(read) == payload


# ---- layouts


def test_a_schema_hash_changes_with_the_layout_and_not_with_the_words_about_it() -> None:
    class One(msgspec.Struct):
        """Said one way."""

        a: int

    one = describe(msgspec.inspect.type_info(One))
    One.__doc__ = "Said another way."
    assert describe(msgspec.inspect.type_info(One)) == one

    class Other(msgspec.Struct):
        a: int
        b: float | None = None

    assert describe(msgspec.inspect.type_info(Other)) != one


def test_a_type_without_a_layout_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError):
        describe(msgspec.inspect.type_info(set[int]))


def test_every_fault_is_one_line_for_the_command_line() -> None:
    assert issubclass(PayloadFault, InputError)


def test_numbers_and_names_are_each_one_channels() -> None:
    for stack in (ARM, FLIGHT):
        assert len({one.number for one in stack}) == len({one.name for one in stack}) == len(stack)
    assert [one.number for one in ARM if not one.is_input] == list(range(16, 26))
