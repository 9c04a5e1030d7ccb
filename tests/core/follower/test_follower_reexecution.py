"""R17: a run is its inbox. Executed again, from its beginning or from a snapshot, it answers the same."""

from functools import cache
from typing import Any

import pytest

from steadyhand.core.follower import FollowerCore
from steadyhand.core.follower.inbox import SessionIn
from steadyhand.core.follower.reexecution import canonical, execute
from tests.core.follower.recorded_runs import JERK, KINDS, Fuzz, Recorder

OPERATIONS = 450
SEEDS = {name: number for number, name in enumerate(KINDS)}


@cache
def recorded(make_rig: Any, name: str, seed: int, operations: int = OPERATIONS) -> Recorder:
    kind = JERK if name == "jerk" else KINDS[name]
    recorder = Fuzz(make_rig(**kind), seed, kind).run(operations)
    assert b"ProgramFault" not in b"".join(recorder.answers)
    return recorder


def opened(recorder: Recorder) -> SessionIn:
    """What the rig did before it was recorded."""
    return SessionIn(now_ns=1_000_000_000, session_id=7, operator="ann")


def check_again(recorder: Recorder) -> None:
    """The whole run, answer by answer; then its last state."""
    core = FollowerCore(recorder.core.settings)
    execute(core, opened(recorder))
    for number, given in enumerate(recorder.inbox):
        assert canonical(execute(core, given)) == recorder.answers[number], (number, given)
        if number + 1 in recorder.snapshots:
            assert core.snapshot() == recorder.snapshots[number + 1]
    assert core.snapshot() == recorder.core.snapshot()


def check_from_snapshots(recorder: Recorder, count: int = 4) -> None:
    """From some of the snapshots on; each restored state is written as it was read."""
    settings = recorder.core.settings
    places = sorted(recorder.snapshots)
    assert len(places) >= count
    for place in places[:: max(1, len(places) // count)]:
        snapshot = recorder.snapshots[place]
        core = FollowerCore.restore(settings, snapshot)
        assert core.snapshot() == snapshot
        for number in range(place, len(recorder.inbox)):
            answer = canonical(execute(core, recorder.inbox[number]))
            assert answer == recorder.answers[number], (place, number, recorder.inbox[number])
        assert core.snapshot() == recorder.core.snapshot()


@pytest.mark.parametrize("name", KINDS)
def test_a_run_executed_again_answers_the_same_and_ends_in_the_same_state(name: str, make_rig: Any) -> None:
    check_again(recorded(make_rig, name, SEEDS[name]))


@pytest.mark.parametrize("name", KINDS)
def test_a_run_goes_on_from_any_snapshot_as_if_it_had_never_stopped(name: str, make_rig: Any) -> None:
    check_from_snapshots(recorded(make_rig, name, SEEDS[name]))


@pytest.mark.peer
def test_a_jerk_limited_plan_goes_on_from_a_snapshot_to_the_last_digit(make_rig: Any) -> None:
    """The library keeps its trajectory to itself; where it began is remembered."""
    pytest.importorskip("ruckig")
    recorder = recorded(make_rig, "jerk", 77)
    check_again(recorder)
    check_from_snapshots(recorder, count=8)


@pytest.mark.soak
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(1_000, 1_006))
def test_many_runs_executed_again_answer_the_same(name: str, seed: int, make_rig: Any) -> None:
    recorder = recorded(make_rig, name, seed, 3_000)
    check_again(recorder)
    check_from_snapshots(recorder)
