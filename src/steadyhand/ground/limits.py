"""How far and how fast each joint may go."""

import math
from collections.abc import Sequence

import msgspec

from steadyhand.ground.errors import ConfigError


class JointLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Range and speed of every joint, shapes (n_joints,). Bounds are inclusive.

    Attributes:
        lower_deg: least angle of each joint.
        upper_deg: greatest angle of each joint.
        speed_deg_s: greatest speed of each joint, either way.

    Raises:
        ConfigError: at construction, where the three differ in length or are empty, a value is not
            finite, a range is empty, or a speed is not positive.
    """

    lower_deg: tuple[float, ...]
    upper_deg: tuple[float, ...]
    speed_deg_s: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse limits that could not limit anything; silence here would be found by an arm."""
        counts = {len(self.lower_deg), len(self.upper_deg), len(self.speed_deg_s)}
        if len(counts) != 1 or counts == {0}:
            raise ConfigError(
                "joint limits need one lower, one upper and one speed value per joint",
                where="joint_limits",
                hint=f"got {len(self.lower_deg)}, {len(self.upper_deg)} and {len(self.speed_deg_s)}",
            )
        for index, bounds in enumerate(zip(self.lower_deg, self.upper_deg, self.speed_deg_s, strict=True)):
            lower_deg, upper_deg, speed_deg_s = bounds
            where = f"joint_limits, joint {index + 1}"
            if not all(map(math.isfinite, bounds)):
                raise ConfigError("a limit is not a finite number", where=where)
            if not lower_deg < upper_deg:
                raise ConfigError(f"the range {lower_deg}° to {upper_deg}° is empty", where=where)
            if not speed_deg_s > 0.0:
                raise ConfigError(f"the speed limit {speed_deg_s} °/s allows no motion", where=where)

    @property
    def n_joints(self) -> int:
        """How many joints are limited."""
        return len(self.lower_deg)

    def first_outside(self, joints_deg: Sequence[float]) -> int | None:
        """Index of the first joint outside its range, None where all are inside.

        A value that is not a number is outside.

        Raises:
            ValueError: the number of joints is not that of the limits.
        """
        for index, (joint_deg, lower_deg, upper_deg) in enumerate(
            zip(joints_deg, self.lower_deg, self.upper_deg, strict=True)
        ):
            if not lower_deg <= joint_deg <= upper_deg:
                return index
        return None

    def narrowed(self, margin_deg: float) -> "JointLimits":
        """Return the same limits with every range `margin_deg` shorter at both ends.

        Raises:
            ConfigError: nothing is left of a range.
        """
        return JointLimits(
            lower_deg=tuple(lower_deg + margin_deg for lower_deg in self.lower_deg),
            upper_deg=tuple(upper_deg - margin_deg for upper_deg in self.upper_deg),
            speed_deg_s=self.speed_deg_s,
        )
