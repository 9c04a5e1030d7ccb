"""Test map "Passthrough & clamping": what the keys of a robot file mean (document 000 §2, §11)."""

import math

import pytest

from steadyhand.core.playout import PlayoutConfig
from steadyhand.ground.config import CommunicationConfig

MS = 1_000_000


def configured(
    buffer_ms: float, *, adaptive_ms: float = 0.0, underrun_ms: float = -1.0, rate_hz: float = 100.0
) -> PlayoutConfig | None:
    return PlayoutConfig.from_communication(
        CommunicationConfig(
            publish_rate_hz=rate_hz,
            playout_buffer_ms=buffer_ms,
            playout_adaptive_max_ms=adaptive_ms,
            playout_underrun_estop_after_ms=underrun_ms,
        )
    )


@pytest.mark.parametrize("buffer_ms", [0.0, -0.0, -1.0, -200.0, math.nan, -math.inf, 0.001, 4.9])
def test_zero_and_garbage_config_mean_no_buffer_at_all(buffer_ms: float) -> None:
    assert configured(buffer_ms) is None
    assert configured(buffer_ms, adaptive_ms=400.0, underrun_ms=20.0) is None


def test_defaults_mean_no_buffer_at_all() -> None:
    assert PlayoutConfig.from_communication(CommunicationConfig()) is None


@pytest.mark.parametrize(
    ("buffer_ms", "rate_hz", "depth", "period_ns"),
    [
        (200.0, 100.0, 20, 10 * MS),
        (5.1, 100.0, 1, 10 * MS),
        (14.9, 100.0, 1, 10 * MS),
        (15.0, 100.0, 2, 10 * MS),
        (25.0, 100.0, 3, 10 * MS),
        (200.0, 50.0, 10, 20 * MS),
        (200.0, 0.0, 20, 10 * MS),
        (200.0, -100.0, 20, 10 * MS),
        (2000.0, 100.0, 200, 10 * MS),
    ],
)
def test_depth_is_the_delay_in_whole_periods(
    buffer_ms: float, rate_hz: float, depth: int, period_ns: int
) -> None:
    config = configured(buffer_ms, rate_hz=rate_hz)
    assert config is not None
    assert (config.base_depth, config.period_ns, config.warnings) == (depth, period_ns, ())


@pytest.mark.parametrize("buffer_ms", [2006.0, 1e9, 1e300, math.inf])
def test_absurd_playout_ms_clamps_to_the_depth_cap(buffer_ms: float) -> None:
    config = configured(buffer_ms)
    assert config is not None
    assert config.base_depth == config.max_depth == 200
    # The cap on age is derived from the clamped depth: 2 s and as much again.
    assert config.max_age_ns(200) == 4_000 * MS
    assert len(config.warnings) == 1
    assert "playout_buffer_ms" in config.warnings[0]
    assert "200" in config.warnings[0]


@pytest.mark.parametrize(
    ("underrun_ms", "window_ns"),
    [
        (-1.0, None),
        (-0.001, None),
        (math.nan, None),
        (-math.inf, None),
        (0.0, 0),
        (20.0, 20 * MS),
        (7.5, 7_500_000),
    ],
)
def test_underrun_estop_window_parses_with_negative_meaning_off(
    underrun_ms: float, window_ns: int | None
) -> None:
    config = configured(200.0, underrun_ms=underrun_ms)
    assert config is not None
    assert config.underrun_window_ns == window_ns


def test_underrun_estop_window_is_off_by_default() -> None:
    config = PlayoutConfig.from_communication(CommunicationConfig(playout_buffer_ms=200.0))
    assert config is not None
    assert config.underrun_window_ns is None


@pytest.mark.parametrize(
    ("adaptive_ms", "ceiling"),
    [
        (0.0, 20),
        (math.nan, 20),
        (-1.0, 20),
        (199.0, 20),
        (200.0, 20),
        (210.0, 21),
        (400.0, 40),
        (1e9, 200),
        (math.inf, 200),
    ],
)
def test_adaptive_config_parses_with_zero_meaning_fixed(adaptive_ms: float, ceiling: int) -> None:
    config = configured(200.0, adaptive_ms=adaptive_ms)
    assert config is not None
    assert (config.base_depth, config.max_depth) == (20, ceiling)
    assert config.adaptive == (ceiling > 20)
    assert bool(config.warnings) == (ceiling == 200)


@pytest.mark.parametrize(
    ("depth_ms", "target", "cap_ms"),
    [
        (50.0, 5, 250),  # shallow: the margin is never less than 200 ms
        (200.0, 20, 400),
        (300.0, 30, 600),
        (200.0, 25, 500),  # stretched by twice the adapted slots
        (50.0, 7, 290),
    ],
)
def test_age_cap_is_the_delay_and_an_equal_margin(depth_ms: float, target: int, cap_ms: int) -> None:
    config = configured(depth_ms, adaptive_ms=400.0)
    assert config is not None
    assert config.max_age_ns(target) == cap_ms * MS


def test_boot_line_is_the_one_operators_search_for() -> None:
    config = configured(200.0)
    assert config is not None
    assert config.describe() == "Playout buffer on: depth 20 (200ms at cmdT 10.0ms), age cap 400ms"
