"""The arm's motions as functions of time: whoever asks at any instant gets the same answer.

Nothing here is integrated step by step, so a state read every 8 ms and one read every 1 ms agree to
the last bit where they meet.
"""

import math
from collections.abc import Sequence

import msgspec

from steadyhand.ground.stamps import NS_PER_S

Joints = tuple[float, ...]
Moving = tuple[Joints, Joints]
"""Pose in degrees and velocity in °/s, both of shape (n_joints,)."""


class Rest(msgspec.Struct, frozen=True):
    """The arm stands. Ends only by being told to."""

    pose_deg: Joints

    def at(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`."""
        return self.pose_deg, (0.0,) * len(self.pose_deg)


class Braking(msgspec.Struct, frozen=True):
    """Every joint slows down at the same rate, each until it stands."""

    start_ns: int
    pose_deg: Joints
    velocity_deg_s: Joints
    accel_deg_s2: float
    end_ns: int

    @classmethod
    def of(cls, start_ns: int, moving: Moving, accel_deg_s2: float) -> "Braking":
        """Brake from a moving pose at `start_ns`."""
        fastest = max(map(abs, moving[1]))
        stop_ns = start_ns + math.ceil(fastest / accel_deg_s2 * NS_PER_S)
        return cls(start_ns, moving[0], moving[1], accel_deg_s2, stop_ns)

    def at(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`."""
        elapsed_s = max(now_ns - self.start_ns, 0) / NS_PER_S
        poses, velocities = [], []
        for pose_deg, velocity in zip(self.pose_deg, self.velocity_deg_s, strict=True):
            braking_s = min(elapsed_s, abs(velocity) / self.accel_deg_s2)
            slowed = abs(velocity) - self.accel_deg_s2 * braking_s
            poses.append(pose_deg + math.copysign((abs(velocity) + slowed) / 2.0 * braking_s, velocity))
            velocities.append(math.copysign(max(slowed, 0.0), velocity))
        return tuple(poses), tuple(velocities)


class Approach(msgspec.Struct, frozen=True):
    """One joint's difference from where it should be, brought to nothing.

    The difference and its rate go to zero together, in the least time that an acceleration and a
    greatest rate allow: `first_s` towards zero, `coast_s` at a steady rate, `last_s` braking into it.
    A rate that was above the greatest one already is kept, not raised.
    """

    offset_deg: float
    rate_deg_s: float
    side: float
    peak_deg_s: float
    accel_deg_s2: float
    first_s: float
    coast_s: float
    last_s: float

    @classmethod
    def of(
        cls, offset_deg: float, rate_deg_s: float, *, accel_deg_s2: float, rate_max_deg_s: float
    ) -> "Approach":
        """Plan from a difference and its rate."""
        brake_point_deg = offset_deg + rate_deg_s * abs(rate_deg_s) / (2.0 * accel_deg_s2)
        side = math.copysign(1.0, brake_point_deg)
        away_deg, closing = side * offset_deg, -side * rate_deg_s
        peak = math.sqrt(max(accel_deg_s2 * away_deg + closing * closing / 2.0, 0.0))
        coast_s, allowed = 0.0, max(rate_max_deg_s, closing)
        if peak > allowed:
            ramps_deg = (2.0 * allowed * allowed - closing * closing) / (2.0 * accel_deg_s2)
            peak, coast_s = allowed, max(away_deg - ramps_deg, 0.0) / allowed
        first_s = max(peak - closing, 0.0) / accel_deg_s2
        last_s = peak / accel_deg_s2
        return cls(offset_deg, rate_deg_s, side, peak, accel_deg_s2, first_s, coast_s, last_s)

    @property
    def duration_s(self) -> float:
        """How long until nothing is left."""
        return self.first_s + self.coast_s + self.last_s

    def at(self, elapsed_s: float) -> tuple[float, float]:
        """Difference and rate `elapsed_s` after the plan."""
        remaining_s = self.duration_s - elapsed_s
        if remaining_s <= 0.0:
            return 0.0, 0.0
        if elapsed_s <= self.first_s:
            rate = self.rate_deg_s - self.side * self.accel_deg_s2 * elapsed_s
            return self.offset_deg + (self.rate_deg_s + rate) / 2.0 * elapsed_s, rate
        # The rest is counted back from the end, where both are exactly zero.
        if remaining_s <= self.last_s:
            rate = self.accel_deg_s2 * remaining_s
            return self.side * rate * remaining_s / 2.0, -self.side * rate
        coasted_deg = self.peak_deg_s * (remaining_s - self.last_s / 2.0)
        return self.side * coasted_deg, -self.side * self.peak_deg_s


class Rejoin(msgspec.Struct, frozen=True):
    """All joints' approaches, from one instant."""

    start_ns: int
    approaches: tuple[Approach, ...]
    end_ns: int

    @classmethod
    def of(
        cls,
        start_ns: int,
        offset_deg: Joints,
        rate_deg_s: Joints,
        *,
        accel_deg_s2: float,
        rate_max_deg_s: float,
    ) -> "Rejoin":
        """Plan every joint from its own difference."""
        approaches = tuple(
            Approach.of(offset, rate, accel_deg_s2=accel_deg_s2, rate_max_deg_s=rate_max_deg_s)
            for offset, rate in zip(offset_deg, rate_deg_s, strict=True)
        )
        longest_s = max(approach.duration_s for approach in approaches)
        return cls(start_ns, approaches, start_ns + math.ceil(longest_s * NS_PER_S))

    def added_to(self, moving: Moving, now_ns: int) -> Moving:
        """The motion with what is left of the differences on top."""
        elapsed_s = (now_ns - self.start_ns) / NS_PER_S
        left = [approach.at(elapsed_s) for approach in self.approaches]
        return (
            tuple(pose + offset for pose, (offset, _) in zip(moving[0], left, strict=True)),
            tuple(velocity + rate for velocity, (_, rate) in zip(moving[1], left, strict=True)),
        )


class Segment(msgspec.Struct, frozen=True):
    """One accepted frame in execution: a straight line in joint space from the setpoint before it.

    Attributes:
        start_ns: its turn.
        end_ns: when the arm is at `to_deg`.
        from_deg: the setpoint before.
        to_deg: the setpoint.
        velocity_deg_s: the constant velocity between the two.
        steady_deg_s: the velocity this frame and the one before it have in common.
    """

    start_ns: int
    end_ns: int
    from_deg: Joints
    to_deg: Joints
    velocity_deg_s: Joints
    steady_deg_s: Joints

    @classmethod
    def of(
        cls, start_ns: int, duration_ns: int, from_deg: Joints, to_deg: Joints, steady_deg_s: Joints
    ) -> "Segment":
        """Lay a segment of a given duration."""
        duration_s = duration_ns / NS_PER_S
        velocity = tuple((to - start) / duration_s for start, to in zip(from_deg, to_deg, strict=True))
        return cls(start_ns, start_ns + duration_ns, from_deg, to_deg, velocity, steady_deg_s)

    def at(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`, exactly `to_deg` at its end."""
        if now_ns >= self.end_ns:
            return self.to_deg, self.velocity_deg_s
        elapsed_s = (now_ns - self.start_ns) / NS_PER_S
        moved = zip(self.from_deg, self.velocity_deg_s, strict=True)
        return tuple(start + velocity * elapsed_s for start, velocity in moved), self.velocity_deg_s


def in_common(velocity_deg_s: Joints, before_deg_s: Joints, most_deg_s: float) -> Joints:
    """The velocity two frames share, joint by joint: the slower, nothing where they differ in sign.

    A single step is executed within its frame and ends as abruptly as it began; only what lasted
    longer has to be braked out. No joint is faster than `most_deg_s`.
    """
    return tuple(
        math.copysign(min(abs(now), abs(before), most_deg_s), now) if now * before > 0.0 else 0.0
        for now, before in zip(velocity_deg_s, before_deg_s, strict=True)
    )


class Following(msgspec.Struct, frozen=True):
    """The arm executes a segment, and makes up what it was away from it."""

    segment: Segment
    rejoin: Rejoin | None

    @property
    def end_ns(self) -> int:
        """When the segment is done; the rejoining may go on into the next."""
        return self.segment.end_ns

    def at(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`."""
        return self._joined(self.segment.at(now_ns), now_ns)

    def steady_at(self, now_ns: int) -> Moving:
        """Pose at `now_ns`, and the velocity that would have to be braked out from there."""
        return self._joined((self.segment.at(now_ns)[0], self.segment.steady_deg_s), now_ns)

    def _joined(self, moving: Moving, now_ns: int) -> Moving:
        return moving if self.rejoin is None else self.rejoin.added_to(moving, now_ns)


class Settling(msgspec.Struct, frozen=True):
    """The arm goes to a pose by itself and stays: a fault without a sweep."""

    target_deg: Joints
    rejoin: Rejoin

    @property
    def end_ns(self) -> int:
        """When every joint is there."""
        return self.rejoin.end_ns

    def at(self, now_ns: int) -> Moving:
        """Pose and velocity at `now_ns`."""
        return self.rejoin.added_to((self.target_deg, (0.0,) * len(self.target_deg)), now_ns)


def difference(one: Sequence[float], other: Sequence[float]) -> Joints:
    """one − other, joint by joint."""
    return tuple(left - right for left, right in zip(one, other, strict=True))
