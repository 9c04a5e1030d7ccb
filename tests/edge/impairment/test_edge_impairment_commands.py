"""What the control port can be told, and what is refused."""

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.link import PROFILES, LinkProfile, LinkTrace
from steadyhand.edge.impairment.commands import (
    Begin,
    Command,
    Kill,
    Play,
    ReadPackets,
    Reset,
    Revive,
    SetLink,
    Status,
    parse_command,
)
from steadyhand.edge.impairment.lane import DIRECTIONS, PATHS
from steadyhand.edge.impairment.scenario import ScenarioPlayer
from steadyhand.ground.errors import InputError

S = 1_000_000_000
TRACE = LinkProfile(
    name="site.csv", trace=LinkTrace(t_ns=(0,), delay_ns=(5_000_000,), period_ns=S, name="site.csv")
)
LINKS = {"site.csv": TRACE}


def test_the_words_without_anything_behind_them() -> None:
    assert parse_command("status", {}) == Status()
    assert parse_command("  reset  ", {}) == Reset()
    assert parse_command("begin", {}) == Begin()
    assert parse_command("kill_link", {}) == Kill(paths=PATHS, directions=DIRECTIONS)


@pytest.mark.parametrize(
    ("line", "paths", "directions"),
    [
        ("kill", PATHS, DIRECTIONS),
        ("kill both", PATHS, DIRECTIONS),
        ("kill udp", ("udp",), DIRECTIONS),
        ("kill control", ("control",), DIRECTIONS),
        ("kill  udp   to_follower", ("udp",), ("to_follower",)),
        ("kill both to_operator", PATHS, ("to_operator",)),
    ],
)
def test_kill_and_revive_take_a_path_and_a_direction(
    line: str, paths: tuple[str, ...], directions: tuple[str, ...]
) -> None:
    killed = parse_command(line, {})
    revived = parse_command(line.replace("kill", "revive"), {})
    assert isinstance(killed, Kill)
    assert isinstance(revived, Revive)
    assert (killed.paths, killed.directions) == (revived.paths, revived.directions) == (paths, directions)


def test_a_link_is_of_both_paths_unless_one_is_named() -> None:
    wifi = PROFILES["wifi"]
    assert parse_command("link both wifi", {}) == SetLink(paths=PATHS, directions=DIRECTIONS, profile=wifi)
    assert parse_command("link udp to_follower wifi", {}) == SetLink(
        paths=("udp",), directions=("to_follower",), profile=wifi
    )


def test_a_link_may_be_figures_or_a_profile_with_changes() -> None:
    figures = parse_command("link both delay_ms=40, loss=0.01", {})
    changed = parse_command("link both wifi:loss=0.5", {})
    assert isinstance(figures, SetLink)
    assert isinstance(changed, SetLink)
    assert (figures.profile.delay_ms, figures.profile.loss) == (40.0, 0.01)
    assert (changed.profile.delay_ms, changed.profile.loss) == (1.3, 0.5)


def test_a_link_given_at_the_start_is_known_by_its_name_and_may_be_changed() -> None:
    plain = parse_command("link both site.csv", LINKS)
    changed = parse_command("link both site.csv:loss=0.25", LINKS)
    assert isinstance(plain, SetLink)
    assert isinstance(changed, SetLink)
    assert plain.profile is TRACE
    assert (changed.profile.trace, changed.profile.loss) == (TRACE.trace, 0.25)
    assert changed.profile.name == "site.csv:loss=0.25"


def test_no_file_is_opened(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("site") / "site.csv"
    file.write_text("t_ms,rtt_ms\n0,10\n", encoding="utf-8")
    for spec in (str(file), f"{file}:loss=0.1", "/dev/zero", "/etc/passwd"):
        with pytest.raises(InputError, match="no link profile"):
            parse_command(f"link both {spec}", LINKS)


def test_packets_takes_a_direction_and_a_cursor() -> None:
    assert parse_command("packets to_follower", {}) == ReadPackets(direction="to_follower", cursor=0)
    assert parse_command("packets to_operator 17", {}) == ReadPackets(direction="to_operator", cursor=17)


def test_a_scenario_is_a_list_of_seconds_and_commands() -> None:
    play = parse_command("scenario 5 kill_link; 8 revive; 8.5 link both wifi", {})
    assert isinstance(play, Play)
    assert [(step.at_ns / S, step.text) for step in play.steps] == [
        (5.0, "kill_link"),
        (8.0, "revive"),
        (8.5, "link both wifi"),
    ]
    assert parse_command("scenario off", {}) == Play(steps=())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "there are status, link, kill"),
        ("stauts", "unknown command 'stauts'"),
        ("status now", "takes nothing"),
        ("kill everything", "unknown path 'everything'"),
        ("kill udp sideways", "unknown direction 'sideways'"),
        ("kill udp to_follower now", "takes a path and a direction"),
        ("link", "unknown direction ''"),
        ("link both", "no link is named"),
        ("link udp both", "no link is named"),
        ("link both nosuch", "no link profile 'nosuch'"),
        ("link both delai_ms=3", "did you mean delay_ms"),
        ("link both loss=2", "loss must be from 0 to 1"),
        ("link both loss=nan", "does not parse"),
        ("link both " + "x" * 600, "a link of 600 characters"),
        ("packets both", "packets takes one direction"),
        ("packets to_follower -1", "packets takes one direction"),
        ("packets to_follower 9999999999999999999", "packets takes one direction"),
        ("scenario", "does not begin with seconds"),
        ("scenario kill both", "does not begin with seconds"),
        ("scenario nan kill both", "does not begin with seconds"),
        ("scenario -1 kill both", "does not begin with seconds"),
        ("scenario 1e9 kill both", "does not begin with seconds"),
        ("scenario 5 kill both; 4 revive", "not in order of time"),
        ("scenario 5 status", "'status' cannot be a step"),
        ("scenario 1 scenario 1 kill", "'scenario' cannot be a step"),
        ("scenario 1 kill; ", "does not begin with seconds"),
        ("scenario " + "; ".join(["1 kill"] * 101), "101 steps"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(line: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_command(line, LINKS)
    assert words in str(refused.value)


WORDS = st.sampled_from(
    ["status", "link", "kill", "revive", "scenario", "packets", "both", "udp", "to_follower", "5", ";",
     "loss=1", "wifi", "site.csv:", "outages=0+inf", "1e308", "\x00", "—"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=20).map(" ".join)))
def test_any_line_is_a_command_or_a_refusal(line: str) -> None:
    with suppress(InputError):
        command = parse_command(line, LINKS)
        assert isinstance(command, Command)


def test_a_nested_scenario_is_refused_without_descending_and_the_longest_line_is_quick() -> None:
    began_ns = time.process_time_ns()
    for line in ("scenario " + "1 scenario " * 740, "link both " + "ab" * 4000, "x" * 8192):
        with pytest.raises(InputError):
            parse_command(line, LINKS)
    assert time.process_time_ns() - began_ns < S


def test_steps_are_played_once_each_and_never_early() -> None:
    play = parse_command("scenario 5 kill udp; 5 reset; 8 revive", {})
    assert isinstance(play, Play)
    player = ScenarioPlayer()
    player.begin(play.steps, 100 * S)
    assert player.next_due_ns == 105 * S
    assert player.pop_due(105 * S - 1) is None
    assert player.pop_due(105 * S) == Kill(paths=("udp",), directions=DIRECTIONS)
    assert player.pop_due(105 * S) == Reset()
    assert player.pop_due(105 * S) is None
    assert player.steps_left == 1
    assert player.pop_due(109 * S) == Revive(paths=PATHS, directions=DIRECTIONS)
    assert player.steps_left == 0
    assert list(player.played) == ["5.000 s: kill udp", "5.000 s: reset", "9.000 s: revive"]


def test_a_new_scenario_takes_the_place_of_the_one_that_plays() -> None:
    play = parse_command("scenario 5 kill", {})
    assert isinstance(play, Play)
    player = ScenarioPlayer()
    player.begin(play.steps, 0)
    player.begin((), 1 * S)
    assert player.pop_due(100 * S) is None
