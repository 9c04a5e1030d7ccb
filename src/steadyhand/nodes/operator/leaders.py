"""Leaders: who says where the arm shall be, as one pose a period of the stream.

A motion, an iterable of poses or a function of time. Poses at another rate than the stream's are
joined by straight lines, a period of the stream apart: the follower plays one setpoint a period, so
any other number of them would starve or flood it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import floor, isfinite
from typing import TypeAlias

from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import JointsDeg, Motion

Pose: TypeAlias = Sequence[float]
PoseFunction: TypeAlias = Callable[[float], "Pose | None"]
"""Seconds since the motion began to a pose; None ends the motion."""

Poses: TypeAlias = "Motion | Iterable[Pose] | PoseFunction"

SAME_RATE: float = 1e-9


def poses_at_rate(
    poses: Poses, *, stream_hz: float, rate_hz: float | None, n_joints: int, duration_s: float | None = None
) -> Iterator[JointsDeg]:
    """One pose a period of the stream.

    Args:
        poses: a motion, an iterable of poses, or a function of the seconds since it began.
        stream_hz: rate of the stream.
        rate_hz: rate of the iterable, or how often the function is asked; None: the stream's. A
            motion is a function of time and is asked as often as the stream needs it.
        n_joints: of the arm.
        duration_s: end after so long; None: when the poses end, a motion after one run.

    Raises:
        InputError: a rate or duration that is none; while it runs, a pose that is none, by number.
    """
    for name, value in (("rate_hz", rate_hz), ("duration_s", duration_s)):
        if value is not None and not (isfinite(value) and value > 0.0):
            raise InputError(f"{name} must be above 0, not {value:g}", where="stream")
    if isinstance(poses, Motion):
        if poses.n_joints != n_joints:
            raise InputError(
                f"{poses.n_joints} joints, and the arm has {n_joints}",
                where=poses.name,
                hint="use a motion recorded on such an arm",
            )
        seconds = poses.duration_s if duration_s is None else duration_s
        return _motion(poses, stream_hz, seconds)
    source_hz = stream_hz if rate_hz is None else rate_hz
    raw = _asked(poses, source_hz) if callable(poses) else iter(poses)
    checked = _checked(raw, n_joints)
    steady = (
        checked if abs(source_hz / stream_hz - 1.0) < SAME_RATE else _joined(checked, source_hz, stream_hz)
    )
    return steady if duration_s is None else _first(steady, floor(duration_s * stream_hz + SAME_RATE) + 1)


def _motion(motion: Motion, stream_hz: float, duration_s: float) -> Iterator[JointsDeg]:
    """Not `resample`: an hour at 100 Hz is made as it is sent."""
    for tick in range(floor(duration_s * stream_hz + SAME_RATE) + 1):
        yield motion.at(tick / stream_hz)


def _asked(function: PoseFunction, rate_hz: float) -> Iterator[Pose]:
    tick = 0
    while (pose := function(tick / rate_hz)) is not None:
        yield pose
        tick += 1


def _checked(poses: Iterator[Pose], n_joints: int) -> Iterator[JointsDeg]:
    """As many finite numbers as the arm has joints; so the follower never has to refuse one."""
    for number, pose in enumerate(poses):
        yield checked_pose(pose, n_joints, where=f"pose {number}")


def checked_pose(pose: Pose, n_joints: int, *, where: str) -> JointsDeg:
    """A pose as the wire carries it.

    Raises:
        InputError: another number of joints, or a joint that is no finite number.
    """
    try:
        joints_deg = tuple(float(angle) for angle in pose)
    except (TypeError, ValueError):
        raise InputError(
            f"{pose!r} is not a list of angles", where=where, hint="degrees, in joint order"
        ) from None
    if len(joints_deg) != n_joints:
        raise InputError(f"{len(joints_deg)} joints, and the arm has {n_joints}", where=where)
    if not all(map(isfinite, joints_deg)):
        raise InputError("a joint that is no finite number", where=where)
    return joints_deg


def _joined(poses: Iterator[JointsDeg], source_hz: float, stream_hz: float) -> Iterator[JointsDeg]:
    """Straight lines between the poses, read a period of the stream apart; the last pose ends it."""
    before = next(poses, None)
    if before is None:
        return
    after, passed, tick = next(poses, None), 0, 0
    while after is not None:
        place = tick * source_hz / stream_hz - passed
        if place >= 1.0:
            before, after, passed = after, next(poses, None), passed + 1
            continue
        yield tuple(a + (b - a) * place for a, b in zip(before, after, strict=True))
        tick += 1
    yield before


def _first(poses: Iterator[JointsDeg], count: int) -> Iterator[JointsDeg]:
    for _ in range(count):
        pose = next(poses, None)
        if pose is None:
            return
        yield pose
