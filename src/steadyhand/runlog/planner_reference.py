"""The planner's reference: the target its controller was asked to track (document 002 §1).

A count, then only the counted samples, 96 bytes each. Two invariants hold: sample times strictly
increase (I2), progress does not decrease (I3). Unused samples do not exist here, so two references that
say the same are equal, whatever lay behind their count.
"""

import math
import struct
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

from steadyhand.runlog.codec import FixedCodec
from steadyhand.runlog.faults import (
    CountBeyondBounds,
    NonFiniteValue,
    PayloadTruncated,
    ProgressDecreasing,
    SampleTimesNotIncreasing,
    TrailingBytes,
)

MAX_REFERENCE_SAMPLES: Final = 64

Vector: TypeAlias = tuple[float, float, float]

_COUNT: Final = struct.Struct("<I")
_SAMPLE: Final = struct.Struct("<q11d")
SAMPLE_BYTES: Final = _SAMPLE.size


class ReferenceSample(msgspec.Struct, frozen=True, gc=False):
    """Where the vehicle should be at one moment.

    Attributes:
        t_ns: the moment.
        position_m: x, y, z.
        velocity_m_s: its derivative.
        acceleration_m_s2: and that one's.
        yaw_rad: heading.
        progress: along the course; what it counts is the planner's.
    """

    t_ns: int
    position_m: Vector
    velocity_m_s: Vector
    acceleration_m_s2: Vector
    yaw_rad: float
    progress: float


class Reference(msgspec.Struct, frozen=True):
    """What the planner aims at: 0 to 64 samples, each later than the one before."""

    samples: tuple[ReferenceSample, ...] = ()


def _write(reference: Reference) -> bytes:
    packed = [
        _SAMPLE.pack(
            one.t_ns,
            *one.position_m,
            *one.velocity_m_s,
            *one.acceleration_m_s2,
            one.yaw_rad,
            one.progress,
        )
        for one in reference.samples
    ]
    return _COUNT.pack(len(packed)) + b"".join(packed)


def _read(payload: bytes) -> Reference:
    if len(payload) < _COUNT.size:
        raise PayloadTruncated("no room for a count")
    (count,) = _COUNT.unpack_from(payload)
    if count > MAX_REFERENCE_SAMPLES:
        raise CountBeyondBounds(f"{count} samples, at most {MAX_REFERENCE_SAMPLES}")
    wanted = _COUNT.size + count * SAMPLE_BYTES
    if len(payload) < wanted:
        raise PayloadTruncated(f"{len(payload)} bytes of {wanted}")
    if len(payload) > wanted:
        raise TrailingBytes(f"{len(payload) - wanted} bytes behind the last sample")
    samples = []
    for index, (t_ns, *values) in enumerate(_SAMPLE.iter_unpack(payload[_COUNT.size :])):
        if not all(map(math.isfinite, values)):
            raise NonFiniteValue(f"sample {index} has a value that is not finite")
        px, py, pz, vx, vy, vz, ax, ay, az, yaw, progress = values
        samples.append(ReferenceSample(t_ns, (px, py, pz), (vx, vy, vz), (ax, ay, az), yaw, progress))
    for index, (one, following) in enumerate(pairwise(samples), start=1):
        if following.t_ns <= one.t_ns:
            raise SampleTimesNotIncreasing(f"sample {index} is not later than the one before (I2)")
        if following.progress < one.progress:
            raise ProgressDecreasing(f"sample {index} is behind the one before (I3)")
    return Reference(tuple(samples))


PLANNER_REFERENCE: Final = FixedCodec[Reference](
    {
        "fields": ["count u32, 0 to 64", "count × sample"],
        "sample": ["t_ns i64", "position 3 × f64", "velocity 3 × f64", "acceleration 3 × f64",
                   "yaw f64", "progress f64"],
        "invariants": ["sample times strictly increase", "progress does not decrease"],
    },
    _write,
    _read,
)  # fmt: skip
"""Channel 18 of a flight log."""
