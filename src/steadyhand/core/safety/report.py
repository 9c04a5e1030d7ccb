"""The `safety` dict: what every telemetry frame says about the guards.

One entry per guard that the arm has, under its name: `enabled`, `tripped`, the bounds it holds, and
the last reason where there is one. Bridge, pages and tests find a tripped guard by scanning for
`tripped`, so an e-stop is never nameless (document 001). Absent guards and empty reasons are left
out: a frame has 1232 bytes for everything.
"""

from steadyhand.core.safety.shaper import StreamShaper
from steadyhand.core.safety.suite import GuardSuite
from steadyhand.core.safety.verdicts import Guard
from steadyhand.ground.config_safety import SafetyConfig

GuardReport = dict[str, bool | int | float | str | None]


def safety_report(suite: GuardSuite, config: SafetyConfig) -> dict[str, GuardReport]:
    """Build the dict, JSON values only, in the order of `Guard`."""
    bounds = {
        Guard.JOINT_LIMITS: {},
        Guard.WORKAREA: _workarea(config),
        Guard.STREAM_SHAPER: _stream_shaper(suite, config),
        Guard.STATE_FEED: _state_feed(config),
        Guard.DIVERGENCE: _divergence(config),
        Guard.JOINT_SPEED: _joint_speed(config),
        Guard.EEF_SPEED: _eef_speed(config),
        Guard.TCP_SPEED: _tcp_speed(config),
    }
    return {guard.value: _entry(suite, guard, held) for guard, held in bounds.items() if held is not None}


def _entry(suite: GuardSuite, guard: Guard, bounds: GuardReport) -> GuardReport:
    """State first, then bounds, then the reason."""
    lock = suite.locks[guard]
    entry: GuardReport = {"enabled": suite.enabled(guard), "tripped": lock.tripped, **bounds}
    if lock.trip_count > 1:
        entry["trip_count"] = lock.trip_count
    if lock.last_reason:
        entry["last_reason"] = lock.last_reason
    return entry


def _stream_shaper(suite: GuardSuite, config: SafetyConfig) -> GuardReport | None:
    shaper, stream = config.stream_shaper, suite.parts.stream
    if shaper is None or not isinstance(stream, StreamShaper):
        return None
    return {
        "mode": shaper.mode,
        "synchronised": shaper.synchronised,
        "v_max_deg_s": stream.ceiling_deg_s,
        "a_max_deg_s2": shaper.a_max_deg_s2,
    }


def _divergence(config: SafetyConfig) -> GuardReport | None:
    guard = config.divergence_guard
    if guard is None:
        return None
    margin_deg = guard.margin_deg if guard.form == "margin" else guard.window_margin_deg
    return {"form": guard.form, "margin_deg": margin_deg, "lag_s": guard.lag_s}


def _workarea(config: SafetyConfig) -> GuardReport | None:
    if config.workarea is None:
        return None
    return {"shape": type(config.workarea.area).__struct_config__.tag or ""}


def _state_feed(config: SafetyConfig) -> GuardReport:
    return {"max_age_ms": config.state_feed.max_age_ms}


def _joint_speed(config: SafetyConfig) -> GuardReport | None:
    return None if config.joint_speed is None else {"max_deg_s": config.joint_speed.max_deg_s}


def _eef_speed(config: SafetyConfig) -> GuardReport | None:
    return None if config.eef_speed is None else {"max_m_s": config.eef_speed.max_m_s}


def _tcp_speed(config: SafetyConfig) -> GuardReport | None:
    return None if config.tcp_speed is None else {"max_m_s": config.tcp_speed.max_m_s}
