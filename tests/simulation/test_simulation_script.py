"""What a script does to a run, in virtual time."""

from random import Random

from steadyhand.core.link import PROFILES
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.simulation.run import simulate
from steadyhand.simulation.scenario import Scenario
from steadyhand.simulation.script import KILL_FOR_S, Script, Span, killed


def scenario(script: Script) -> Scenario:
    return Scenario(
        motion=builtin_motion("sine", Random(0)),
        link=PROFILES["wifi_burst"],
        duration_s=10.0,
        seed=3,
        script=script,
    )


def test_the_link_is_killed_at_four_tenths_of_the_run_for_a_second_and_a_half() -> None:
    assert killed("kill_link", 10.0) == Span(4.0, 4.0 + KILL_FOR_S)
    assert killed("none", 10.0) is None


def test_a_span_ends_before_its_end() -> None:
    span = Span(1.0, 2.0)
    assert [span.holds(time_s) for time_s in (0.999, 1.0, 1.999, 2.0)] == [False, True, True, False]


def test_a_killed_link_stops_the_arm_and_the_operator_engages_again() -> None:
    result = simulate(scenario("kill_link"), peers=False)
    (stop,) = result.buffer.stops
    assert 4.0 < stop.t_s < 4.5
    assert not stop.false
    assert result.reengagements == 1
    assert result.buffer.kind[-1] == 1


def test_what_is_sent_while_the_link_is_killed_is_lost_and_draws_no_dice() -> None:
    """As at the proxy: a datagram that a killed lane takes never reaches the link."""
    whole, cut = (simulate(scenario(script), peers=False).flights for script in ("none", "kill_link"))
    during = [flight for flight in cut if 4.0 <= flight.sent.sent_ns / 1e9 < 5.5]
    assert len(during) == 150
    assert all(not flight.arrivals_ns for flight in during)
    before = 400
    assert [flight.arrivals_ns for flight in cut[:before]] == [
        flight.arrivals_ns for flight in whole[:before]
    ]
