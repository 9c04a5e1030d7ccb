"""The receiver's reports on their way back: late, lost and overtaken as the link has it."""

from itertools import pairwise

import pytest

from steadyhand.core.link import LinkProfile, Outage
from steadyhand.core.redundancy import ReceiverReport, RedundancyController
from steadyhand.edge.motion_csv import load_motion
from steadyhand.ground.stamps import NS_PER_MS
from steadyhand.simulation.receiver import BufferedReceiver
from steadyhand.simulation.run import simulate
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import Script

Heard = list[tuple[float, float]]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """(ms at the sender, number) of each report it hears; reports are numbered in their loss figure."""
    found: Heard = []
    numbers = iter(range(1, 1_000))

    def report(_receiver: BufferedReceiver, _now_ns: int) -> ReceiverReport:
        return ReceiverReport(loss_pct=next(numbers) / 1000.0, delay_growth_ms=0.0)

    def on_report(_controller: RedundancyController, told: ReceiverReport, now_ns: int) -> None:
        found.append((now_ns / NS_PER_MS, 1000.0 * told.loss_pct))

    monkeypatch.setattr(BufferedReceiver, "report", report)
    monkeypatch.setattr(RedundancyController, "on_report", on_report)
    return found


def play(link: LinkProfile, duration_s: float = 3.0, script: Script = "none") -> None:
    simulate(
        Scenario(motion=load_motion("sine"), link=link, duration_s=duration_s, script=script), peers=False
    )


@pytest.mark.parametrize("delay_ms", [0.0, 5.0, 250.0])
def test_a_report_is_as_late_as_the_link(delay_ms: float, heard: Heard) -> None:
    play(LinkProfile(delay_ms=delay_ms))
    for at_ms, number in heard:
        assert delay_ms <= at_ms - 100.0 * number <= delay_ms + 10.0, "heard at the next sending"
    assert len(heard) == (3000.0 - delay_ms - 1.0) // 100.0


def test_reports_that_the_link_loses_are_not_heard(heard: Heard) -> None:
    play(LinkProfile(delay_ms=1.0, outages=(Outage(start_ms=1000.0, duration_ms=1000.0),)))
    assert [at_ms for at_ms, _ in heard if 1010.0 < at_ms < 2000.0] == []
    assert [number for _, number in heard if number > 20] != [], "they come again after it"


def test_a_killed_link_is_dead_in_both_directions(heard: Heard) -> None:
    play(LinkProfile(delay_ms=1.0), duration_s=10.0, script="kill_link")
    assert [at_ms for at_ms, _ in heard if 4010.0 < at_ms < 5500.0] == []
    assert [at_ms for at_ms, _ in heard if at_ms > 5500.0] != []


def test_a_report_that_a_newer_has_overtaken_is_not_heard(heard: Heard) -> None:
    play(LinkProfile(delay_ms=1.0, jitter_ms=150.0, reorder=True), duration_s=20.0)
    numbers = [number for _, number in heard]
    assert all(earlier < later for earlier, later in pairwise(numbers))
    assert len(numbers) < 190, "the link overtook none"


def test_a_report_that_comes_twice_is_heard_once(heard: Heard) -> None:
    play(LinkProfile(delay_ms=1.0, duplicate=1.0))
    numbers = [number for _, number in heard]
    assert len(numbers) == len(set(numbers)) > 20
