"""The `safety:` block of a robot file, and the policy that says which of it is not optional.

The structs carry values and refuse what is wrong by itself: a bound that is no positive number, a
box inside out. What two blocks say about each other (a shaper without a divergence guard, a
margin under its floor) is refused where the envelope is built, by `core.safety.policy`, because
only there are the arm's period and lag known too.

A block that is absent is a guard that is absent; no number here defaults to "no limit".
"""

import math
from typing import Annotated, Any, Final, Literal

import msgspec

from steadyhand.ground.errors import ConfigError

Point3 = tuple[float, float, float]
TripCount = Annotated[int, msgspec.Meta(ge=1, le=100)]

WINDOW_SLACK_FLOOR_MS: Final = 15.0
"""J of the window form (R9): no less, since the controller and its feed quantise to a period each."""


RobotType = Literal["fairino", "simulated"]
"""Which driver speaks to the arm; the safety policy is by type."""

RetiredBlock = dict[str, Any] | None


def _refuse_unless_positive(block: str, **values: float | None) -> None:
    """Each given value is a finite number above zero; NaN fails, and so does infinity."""
    for key, value in values.items():
        if value is not None and not 0.0 < value < math.inf:
            raise ConfigError(f"{value:g} is not a finite number above 0", where=f"safety.{block}.{key}")


def _refuse_unless_finite(where: str, values: tuple[float, ...]) -> None:
    """Every component is a finite number."""
    if not all(map(math.isfinite, values)):
        raise ConfigError(f"{list(values)} has a component that is not finite", where=where)


class StreamShaperConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may reach the wire: document 001, component 1, with the options of R8.

    Attributes:
        v_max_deg_s: fastest joint speed on the wire (R18).
        a_max_deg_s2: largest joint acceleration on the wire; 500 is proven clean (document 001).
        mode: "rest_target" can always stop on the target and trails a moving one by v²/2a + vT;
            "feed_forward" follows without trail and overshoots a target that freezes.
        synchronised: scale all joints by one factor, so that a jump is a straight line.
        jerk_max_deg_s3: bound on the change of acceleration, by the `ruckig` library where it is
            installed; absent: none. With "rest_target" only.
    """

    v_max_deg_s: float
    a_max_deg_s2: float
    mode: Literal["rest_target", "feed_forward"] = "rest_target"
    synchronised: bool = False
    jerk_max_deg_s3: float | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that bound nothing, and a jerk bound on a law that has none."""
        _refuse_unless_positive(
            "stream_shaper",
            v_max_deg_s=self.v_max_deg_s,
            a_max_deg_s2=self.a_max_deg_s2,
            jerk_max_deg_s3=self.jerk_max_deg_s3,
        )
        if self.jerk_max_deg_s3 is not None and self.mode != "rest_target":
            raise ConfigError(
                "the jerk bound plans to a target at rest",
                where="safety.stream_shaper.jerk_max_deg_s3",
                hint="use mode rest_target, or leave the jerk bound out",
            )


class DivergenceGuardConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the measured arm may be from what it was told (document 001, R9).

    Attributes:
        lag_s: execution lag of controller and feed that the guard allows for (R18).
        form: "window" holds the pose against the setpoints the arm may be executing now, "margin"
            against the newest one with an allowance that grows with speed.
        margin_deg: bare allowance of the margin form.
        window_margin_deg: how far the window is widened on each side.
        window_slack_ms: J, how far the true lag may wander from `lag_s`.
        measured_lag_s: L as the lag tool measured it on this arm; absent: `lag_s` stands for it.
        feed_jitter_ms: largest deviation of a state frame's arrival from its grid, ±.
    """

    lag_s: float
    form: Literal["window", "margin"] = "window"
    margin_deg: float = 3.0
    window_margin_deg: float = 1.0
    window_slack_ms: float = WINDOW_SLACK_FLOOR_MS
    measured_lag_s: float | None = None
    feed_jitter_ms: float = 8.0

    def __post_init__(self) -> None:
        """Refuse values no arm has; the floors need the shaper's bounds and are the guard's."""
        _refuse_unless_positive(
            "divergence_guard",
            lag_s=self.lag_s,
            margin_deg=self.margin_deg,
            window_margin_deg=self.window_margin_deg,
            window_slack_ms=self.window_slack_ms,
            measured_lag_s=self.measured_lag_s,
        )
        if not 0.0 <= self.feed_jitter_ms < math.inf:
            raise ConfigError(
                f"{self.feed_jitter_ms:g} is not a time", where="safety.divergence_guard.feed_jitter_ms"
            )


class StateFeedConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How old the newest measured frame may be while streaming (R9)."""

    max_age_ms: float = 100.0

    def __post_init__(self) -> None:
        """Refuse an age that never comes."""
        _refuse_unless_positive("state_feed", max_age_ms=self.max_age_ms)


class JointLimitsConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gate on the raw target's joints.

    Attributes:
        limits_deg: one (lowest, highest) pair per joint, or empty: those of `robot.joint_limits_deg`.
        trip_count: violations in a row until the trip.
    """

    limits_deg: tuple[tuple[float, float], ...] = ()
    trip_count: TripCount = 1

    def __post_init__(self) -> None:
        """Refuse a range inside out."""
        for index, (lowest_deg, highest_deg) in enumerate(self.limits_deg):
            if not -math.inf < lowest_deg < highest_deg < math.inf:
                raise ConfigError(
                    f"[{lowest_deg:g}, {highest_deg:g}] is not [lowest, highest] in finite degrees",
                    where=f"safety.joint_limits.limits_deg[{index}]",
                )


class BoxArea(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="box", tag_field="shape"
):
    """An axis-parallel box in the base frame: lowest and highest corner, metres."""

    lower_m: Point3
    upper_m: Point3

    def __post_init__(self) -> None:
        """Refuse a box inside out."""
        _refuse_unless_finite("safety.workarea.lower_m", self.lower_m)
        _refuse_unless_finite("safety.workarea.upper_m", self.upper_m)
        if not all(low < high for low, high in zip(self.lower_m, self.upper_m, strict=True)):
            raise ConfigError(
                f"corner {list(self.lower_m)} is not below {list(self.upper_m)} on every axis",
                where="safety.workarea.lower_m",
            )


class CylinderArea(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="cylinder", tag_field="shape"
):
    """An upright cylinder in the base frame, metres: axis, radius, floor and ceiling."""

    radius_m: float
    z_lower_m: float
    z_upper_m: float
    centre_m: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        """Refuse a cylinder without inside."""
        _refuse_unless_positive("workarea", radius_m=self.radius_m)
        _refuse_unless_finite("safety.workarea.centre_m", self.centre_m)
        _refuse_unless_finite("safety.workarea.z_lower_m", (self.z_lower_m, self.z_upper_m))
        if not self.z_lower_m < self.z_upper_m:
            raise ConfigError(
                f"floor {self.z_lower_m:g} is not below ceiling {self.z_upper_m:g}",
                where="safety.workarea.z_lower_m",
            )


class HalfSpace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The side of a wall on which normal · p ≤ offset: `normal` points out of the area.

    Any length of `normal` will do; `offset_m` is metres along the unit normal.
    """

    normal: Point3
    offset_m: float

    def __post_init__(self) -> None:
        """Refuse a wall that faces nowhere."""
        _refuse_unless_finite("safety.workarea.walls", (*self.normal, self.offset_m))
        if not math.hypot(*self.normal) > 0.0:
            raise ConfigError("the normal has no direction", where="safety.workarea.walls.normal")


class HalfSpacesArea(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag="half_spaces",
    tag_field="shape",
):
    """What lies inside every one of these walls."""

    walls: Annotated[tuple[HalfSpace, ...], msgspec.Meta(min_length=1, max_length=64)]


AreaShape = BoxArea | CylinderArea | HalfSpacesArea


class WorkAreaConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the tool point may be: the gate on the raw target, and the shaper's walls.

    Attributes:
        area: a convex region of the base frame.
        trip_count: violations in a row until the trip.
    """

    area: AreaShape
    trip_count: TripCount = 1


class JointSpeedConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ceiling on the measured joint speed; above v_max, so only the arm itself can pass it."""

    max_deg_s: float
    trip_count: TripCount = 3

    def __post_init__(self) -> None:
        """Refuse a ceiling that bounds nothing."""
        _refuse_unless_positive("joint_speed", max_deg_s=self.max_deg_s)


class EefSpeedConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ceiling on the measured speed of the tool point."""

    max_m_s: float
    trip_count: TripCount = 1

    def __post_init__(self) -> None:
        """Refuse a ceiling that bounds nothing."""
        _refuse_unless_positive("eef_speed", max_m_s=self.max_m_s)


class TcpSpeedConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The command-side bound on the tool's speed (R10): shaped, never tripped.

    Attributes:
        max_m_s: no commanded frame moves the tool faster.
        reach_m: per joint, no less than the largest distance the tool can have from its axis,
            shape (n_joints,); empty: taken from the arm's chain where one is known.
    """

    max_m_s: float
    reach_m: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a bound that bounds nothing and a reach that is none."""
        _refuse_unless_positive("tcp_speed", max_m_s=self.max_m_s)
        for index, reach_m in enumerate(self.reach_m):
            if not 0.0 <= reach_m < math.inf:
                raise ConfigError(
                    f"{reach_m:g} is not a distance", where=f"safety.tcp_speed.reach_m[{index}]"
                )


class SafetyConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole `safety:` block. The policy decides what of it may be left out.

    `command_guard`, `command_speed` and `cap_delta` are names of document 003 that document 001
    retired: old files keep them, they bound nothing, and whoever runs such a file is warned (R8).
    """

    stream_shaper: StreamShaperConfig | None = None
    divergence_guard: DivergenceGuardConfig | None = None
    state_feed: StateFeedConfig = StateFeedConfig()
    joint_limits: JointLimitsConfig | None = None
    workarea: WorkAreaConfig | None = None
    joint_speed: JointSpeedConfig | None = None
    eef_speed: EefSpeedConfig | None = None
    tcp_speed: TcpSpeedConfig | None = None
    command_guard: RetiredBlock = None
    command_speed: RetiredBlock = None
    cap_delta: RetiredBlock = None


SafetyKey = Literal[
    "stream_shaper",
    "divergence_guard",
    "joint_limits",
    "workarea",
    "joint_speed",
    "eef_speed",
    "tcp_speed",
]


class StrictRequirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The blocks a strict robot type cannot boot without."""

    required: tuple[SafetyKey, ...]


class SafetyPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`config/safety_policy.yaml`: robot types that are strict, and what each must have.

    A type that is not named is not strict: a simulated arm may run unshaped, to be studied.
    """

    strict_robot_types: dict[RobotType, StrictRequirement]

    def required_for(self, robot_type: str) -> tuple[SafetyKey, ...]:
        """The blocks that `robot_type` needs; none for a type that is not strict."""
        named = [strict for name, strict in self.strict_robot_types.items() if name == robot_type]
        return named[0].required if named else ()
