"""Setpoints as text: the vendor's frames, byte by byte, and any other bytes."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.edge.robots.fairino.servoj_udp import (
    MAX_DATAGRAM_BYTES,
    MAX_FRAMES,
    BadFrame,
    Command,
    Frame,
    decode,
    encode,
    encode_end,
    encode_servo_j,
    encode_start,
)

JOINTS_DEG = (0.25, -90.0, 90.5, -0.000001, 1e-9, -179.123456)

# As the vendor's Python SDK (commit 2e2c6c2) formats it: four decimals, four external axes.
VENDOR = (
    b"/f/bIII7III376III132IIIServoJ(0.2500,-90.0000,90.5000,-0.0000,0.0000,-179.1235,"
    b"0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0.0100,0.0000,0.0000,12)III/b/f"
)

angles = st.floats(min_value=-360.0, max_value=360.0)


def test_a_setpoint_byte_by_byte() -> None:
    assert encode_servo_j(7, JOINTS_DEG, period_s=0.01, frame_id=12) == (
        b"/f/bIII7III376III152IIIServoJ(0.250000,-90.000000,90.500000,-0.000001,0.000000,-179.123456,"
        b"0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.010000,0.000000,0.000000,12)III/b/f"
    )


def test_start_and_end_byte_by_byte() -> None:
    assert encode_start(0) == b"/f/bIII0III689III16IIIServoMoveStart()III/b/f"
    assert encode_end(65535) == b"/f/bIII65535III690III14IIIServoMoveEnd()III/b/f"
    assert decode(encode_start(0)) == [Frame(count=0, command=Command.SERVO_MOVE_START)]
    assert decode(encode_end(65535)) == [Frame(count=65535, command=Command.SERVO_MOVE_END)]


def test_the_vendors_own_frame_is_read() -> None:
    stated = VENDOR.replace(b"III132III", f"III{len(VENDOR.split(b'III')[4])}III".encode())
    (frame,) = decode(stated)
    assert isinstance(frame, Frame)
    assert frame.setpoint is not None
    assert frame.setpoint.joints_deg == (0.25, -90.0, 90.5, 0.0, 0.0, -179.1235)
    assert (frame.count, frame.setpoint.period_s, frame.setpoint.frame_id) == (7, 0.01, 12)


@settings(max_examples=200)
@given(
    st.lists(angles, min_size=1, max_size=6),
    st.integers(0, 65535),
    st.sampled_from([0.001, 0.008, 0.01, 0.02]),
    st.integers(0, 65535),
)
def test_what_is_encoded_is_decoded_to_half_a_millionth(
    joints_deg: list[float], count: int, period_s: float, frame_id: int
) -> None:
    (frame,) = decode(encode_servo_j(count, joints_deg, period_s=period_s, frame_id=frame_id))
    assert isinstance(frame, Frame)
    assert frame.setpoint is not None
    padded = [*joints_deg, *[0.0] * (6 - len(joints_deg))]
    for read, sent in zip(frame.setpoint.joints_deg, padded, strict=True):
        assert abs(read - sent) <= 0.5e-6 + 1e-12
    assert (frame.count, frame.setpoint.period_s, frame.setpoint.frame_id) == (count, period_s, frame_id)


def test_six_decimals_add_two_degrees_per_second_squared_at_a_millisecond_and_four_add_two_hundred() -> None:
    """Why six: the second difference of a constant ramp that was rounded, over cmdT squared."""
    for decimals, period_s, bound in ((4, 0.01, 2.0), (4, 0.001, 200.0), (6, 0.01, 0.02), (6, 0.001, 2.0)):
        ramp = [round(0.0123456789 * 7.7 * tick, decimals) for tick in range(2000)]
        noise = [
            abs(after - 2.0 * now + before) / period_s**2
            for before, now, after in zip(ramp, ramp[1:], ramp[2:], strict=False)
        ]
        assert max(noise) <= bound * 1.001
        assert max(noise) >= bound / 4.0


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        (b"", None),
        (b"\x00", "not framed"),
        (b"/f/bIII1III689III16IIIServoMoveStart()III/b", "not framed"),
        (b"x" + encode_start(0), "not framed"),
        (encode_start(0) + b"x", "not framed"),
        (encode_start(65536), "the frame's number is beyond 65535"),
        (encode_start(0).replace(b"III16III", b"III17III"), "the stated length is not the content's"),
        (encode_start(0).replace(b"689", b"688"), "not a command of this port"),
        (encode(0, Command.SERVO_J, "ServoMoveStart()"), "the content is not the command's call"),
        (encode(0, Command.SERVO_MOVE_END, "ServoMoveEnd(1)"), "too many arguments"),
        (encode(0, Command.SERVO_J, "ServoJ(1,2,3)"), "ServoJ takes 16 arguments"),
        (encode(0, Command.SERVO_J, f"ServoJ({','.join(['1_0'] * 16)})"), "ServoJ takes 16 arguments"),
        (
            encode(0, Command.SERVO_J, f"ServoJ({','.join(['one'] * 16)})"),
            "an argument of ServoJ is not a number",
        ),
        (b"\xff" * (MAX_DATAGRAM_BYTES + 1), "longer than any command"),
    ],
)
def test_what_is_no_command_is_named(datagram: bytes, reason: str | None) -> None:
    bad = [frame.reason for frame in decode(datagram) if isinstance(frame, BadFrame)]
    assert bad == ([] if reason is None else [reason])


def test_values_that_are_not_finite_reach_the_controller_which_judges_them() -> None:
    (frame,) = decode(encode(0, Command.SERVO_J, f"ServoJ({','.join(['nan'] * 16)})"))
    assert isinstance(frame, Frame)
    assert frame.setpoint is not None
    assert all(map(math.isnan, frame.setpoint.joints_deg))
    assert frame.setpoint.frame_id == 0


def test_frames_that_arrive_together_are_all_read_up_to_a_bound() -> None:
    both = encode_start(0) + encode_servo_j(1, JOINTS_DEG, period_s=0.01)
    assert [frame.command for frame in decode(both) if isinstance(frame, Frame)] == [
        Command.SERVO_MOVE_START,
        Command.SERVO_J,
    ]
    many = decode(encode_start(0) * (MAX_FRAMES + 1))
    assert len(many) == MAX_FRAMES + 1
    assert isinstance(many[-1], BadFrame)


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes_get_an_answer(datagram: bytes) -> None:
    for frame in decode(datagram):
        assert isinstance(frame, Frame | BadFrame)


@settings(max_examples=200)
@given(st.data())
def test_a_damaged_command_gets_an_answer(data: st.DataObject) -> None:
    frame = bytearray(encode_servo_j(3, JOINTS_DEG, period_s=0.01))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    for read in decode(bytes(frame)):
        assert isinstance(read, Frame | BadFrame)
