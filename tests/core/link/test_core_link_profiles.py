"""The named links behave as they are described, and the page for users lists them."""

import itertools
import re
from pathlib import Path
from random import Random

import msgspec
import pytest

from steadyhand.core.link import PROFILES, Link, LinkProfile, Outage
from steadyhand.core.link.spec import PARSERS
from steadyhand.ground.errors import InputError

MS = 1_000_000
TICK_NS = 10 * MS
PAGE = Path(__file__).parents[3] / "docs" / "links.md"


class Run:
    """A profile under a stream of 400 bytes at 100 Hz."""

    def __init__(self, name: str, *, count: int = 60_000) -> None:
        link = Link(PROFILES[name], Random(1))
        self.arrivals = [link.send(tick * TICK_NS, 400) for tick in range(count)]
        self.delays_ms = [
            (answer[0] - tick * TICK_NS) / MS for tick, answer in enumerate(self.arrivals) if answer
        ]
        self.lost = self.arrivals.count(()) / count

    def quantile_ms(self, share: float) -> float:
        return sorted(self.delays_ms)[int(share * len(self.delays_ms))]

    def longest_silence_ms(self) -> float:
        flat = sorted(arrival for answer in self.arrivals for arrival in answer)
        return max(b - a for a, b in itertools.pairwise(flat)) / MS


def test_the_names_are_those_of_the_specification_in_order() -> None:
    assert list(PROFILES) == [
        "clean",
        "lan",
        "wifi",
        "wifi_burst",
        "stale_replay",
        "lte",
        "satellite",
        "intercontinental",
        "blackhole",
    ]
    assert all(profile.name == name and profile.description for name, profile in PROFILES.items())


def test_clean_is_a_constant_millisecond() -> None:
    assert set(Run("clean", count=1000).delays_ms) == {1.0}


def test_lan_is_under_two_milliseconds() -> None:
    assert Run("lan").quantile_ms(0.999) < 2.0


def test_wifi_matches_the_measurement_it_names() -> None:
    run = Run("wifi")
    assert run.quantile_ms(0.5) == pytest.approx(2.0, abs=0.15)
    assert run.quantile_ms(0.95) == pytest.approx(4.0, abs=0.3)
    assert 0.0006 < run.lost < 0.0018


def test_wifi_burst_stalls_for_60_to_150_ms_and_a_200_ms_buffer_rides_it_out() -> None:
    run = Run("wifi_burst", count=120_000)
    assert run.lost == 0.0
    assert max(run.delays_ms) < 170.0
    assert run.longest_silence_ms() > 100.0
    # 20 minutes at one stall in 8 s and its own 105 ms.
    stalled = [answer[0] - tick * TICK_NS > 50 * MS for tick, answer in enumerate(run.arrivals)]
    stalls = sum(now and not before for before, now in itertools.pairwise(stalled))
    assert stalls == pytest.approx(1200 / 8.1, rel=0.25)


def test_stale_replay_holds_for_three_seconds_and_delivers_the_tail_at_once() -> None:
    run = Run("stale_replay", count=1500)
    assert run.lost == 0.0
    # 300 datagrams are sent in the outage of 10 to 13 s; its end is one burst.
    burst = [answer[0] for answer in run.arrivals[1000:1300]]
    assert max(burst) - min(burst) < 40 * MS
    assert run.delays_ms[1000] > 3000.0
    assert run.longest_silence_ms() > 2900.0


def test_lte_is_tens_of_milliseconds_with_handovers() -> None:
    run = Run("lte")
    assert 25.0 < run.quantile_ms(0.5) < 32.0
    assert 80.0 < run.quantile_ms(0.995) < 250.0


def test_satellite_is_over_a_quarter_second() -> None:
    run = Run("satellite")
    assert run.quantile_ms(0.5) == pytest.approx(281.6, abs=1.0)
    assert run.quantile_ms(0.99) < 300.0


def test_intercontinental_reorders() -> None:
    run = Run("intercontinental")
    firsts = [answer[0] for answer in run.arrivals if answer]
    overtaken = sum(b < a for a, b in itertools.pairwise(firsts)) / len(firsts)
    assert 0.001 < overtaken < 0.01
    assert run.quantile_ms(0.5) == pytest.approx(120.5, abs=0.2)


def test_blackhole_passes_nothing_after_five_seconds() -> None:
    run = Run("blackhole", count=2000)
    assert all(run.arrivals[:500])
    assert not any(run.arrivals[500:])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loss": 1.5}, "loss must be from 0 to 1, not 1.5"),
        ({"loss": float("nan")}, "loss must be from 0 to 1, not nan"),
        ({"delay_ms": -1.0}, "delay_ms must be"),
        ({"delay_ms": float("inf")}, "delay_ms must be"),
        ({"jitter_correlation": 1.0}, "jitter_correlation must be"),
        ({"jitter": "gauss"}, "unknown jitter 'gauss'"),
        ({"outage_every_ms": 100.0}, "need outage_ms"),
        ({"outage_ms": 100.0}, "need outage_every_ms"),
        ({"outage_every_ms": 1.0, "outage_ms": 1.0}, "at least 10"),
        ({"outage_every_ms": 100.0, "outage_ms": 50.0, "outage_max_ms": 40.0}, "below outage_ms"),
        ({"outages": (Outage(start_ms=-1.0, duration_ms=1.0),)}, "cannot start at -1"),
        ({"outages": (Outage(start_ms=float("inf"), duration_ms=1.0),)}, "cannot start at inf"),
        ({"outages": (Outage(start_ms=0.0, duration_ms=0.0),)}, "cannot last 0"),
        ({"outages": (Outage(start_ms=0.0, duration_ms=float("nan")),)}, "cannot last nan"),
    ],
)
def test_figures_out_of_range_and_contradictions_are_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        msgspec.structs.replace(LinkProfile(name="mine"), **changes)


def test_the_page_for_users_lists_every_profile_as_it_is_described() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, profile in PROFILES.items():
        assert f"| `{name}` | {profile.description} |" in page


def test_the_page_for_users_lists_every_key() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [key for key in PARSERS if f"`{key}`" not in page]
    assert missing == []
