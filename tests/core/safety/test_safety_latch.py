"""The engage machine: every (state, event) pair, walked; then what the arm's condition adds."""

from itertools import product

import pytest

from steadyhand.core.safety.episodes import REMEMBERED_EPISODES, EpisodeBook
from steadyhand.core.safety.latch import (
    TABLE,
    Effect,
    EngageEvent,
    EngageMachine,
    EngageState,
    Ignore,
    Move,
    Refuse,
    StopCause,
    StopKind,
)
from steadyhand.core.safety.reset_conditions import (
    AT_REST_DEG_S,
    OLDEST_FRAME_NS,
    RESET_LADDER,
    ResetConditions,
    standing_cause,
)

S, E, F = EngageState, EngageEvent, Effect
FAULT = StopCause(kind=StopKind.GUARD, detail="j1 measured at 12.00°", name="divergence")
ALL_CLEAR = ResetConditions(frame_age_ns=8_000_000, estop_pressed=False, fastest_joint_deg_s=0.0)

MOVES = {
    (S.IDLE, E.PREPARE): S.PREPARING,
    (S.IDLE, E.STOP): S.STOPPED,
    (S.PREPARING, E.READY): S.STREAMING,
    (S.PREPARING, E.PROBE_FAILED): S.IDLE,
    (S.PREPARING, E.SOFT_STOP): S.IDLE,
    (S.PREPARING, E.STOP): S.STOPPED,
    (S.STREAMING, E.SOFT_STOP): S.BRAKING,
    (S.STREAMING, E.STOP): S.STOPPED,
    (S.BRAKING, E.AT_REST): S.IDLE,
    (S.BRAKING, E.STOP): S.STOPPED,
    (S.STOPPED, E.RESET): S.IDLE,
}
"""Written down a second time, by hand: what moves, and nothing else does."""

REFUSALS = {
    (S.BRAKING, E.PREPARE),
    (S.STOPPED, E.PREPARE),
    *((state, E.RESET) for state in S if state is not S.STOPPED),
}

PATHS = {
    S.IDLE: (),
    S.PREPARING: (E.PREPARE,),
    S.STREAMING: (E.PREPARE, E.READY),
    S.BRAKING: (E.PREPARE, E.READY, E.SOFT_STOP),
    S.STOPPED: (E.STOP,),
}


def machine_in(state: EngageState) -> EngageMachine:
    machine = EngageMachine()
    machine.note_first_frame()
    for event in PATHS[state]:
        step(machine, event)
    assert machine.state is state
    return machine


def step(machine: EngageMachine, event: EngageEvent) -> Move | Ignore | Refuse:
    if event is E.STOP:
        return machine.stop(FAULT, 5)
    if event is E.RESET:
        return machine.reset(ALL_CLEAR)
    return machine.handle(event)


def test_the_table_decides_every_pair_and_no_other() -> None:
    assert set(TABLE) == set(product(S, E))


@pytest.mark.parametrize(("state", "event"), list(product(S, E)), ids=lambda value: value.value)
def test_every_pair_does_what_is_written_and_nothing_else(state: EngageState, event: EngageEvent) -> None:
    machine = machine_in(state)
    decision = step(machine, event)
    assert machine.state is MOVES.get((state, event), state)
    assert isinstance(decision, Move) is ((state, event) in MOVES)
    assert isinstance(decision, Refuse) is ((state, event) in REFUSALS)
    if not isinstance(decision, Move):
        assert decision.reason


@pytest.mark.parametrize("state", S, ids=lambda value: value.value)
def test_a_stop_stops_from_every_state_and_motion_ends_first(state: EngageState) -> None:
    decision = step(machine_in(state), E.STOP)
    if state is S.STOPPED:
        assert isinstance(decision, Ignore)
    else:
        assert isinstance(decision, Move)
        first = F.CANCEL_PROBE if state is S.PREPARING else F.END_STREAM
        assert decision.effects[0] is first
        assert {F.END_STREAM, F.FLUSH_QUEUE, F.FORGET_SHAPER} <= set(decision.effects)


def test_a_soft_stop_brakes_before_the_stream_ends() -> None:
    machine = machine_in(S.STREAMING)
    assert step(machine, E.SOFT_STOP) == Move(S.BRAKING, (F.FLUSH_QUEUE, F.BRAKE_TO_REST))
    assert step(machine, E.AT_REST) == Move(S.IDLE, (F.END_STREAM, F.FLUSH_QUEUE, F.FORGET_SHAPER))


def test_a_stream_begins_on_an_empty_queue() -> None:
    assert step(machine_in(S.PREPARING), E.READY) == Move(S.STREAMING, (F.FLUSH_QUEUE, F.START_STREAM))


def test_only_preparing_starts_a_probe_and_only_leaving_it_cancels_one() -> None:
    for (state, _), decision in TABLE.items():
        if isinstance(decision, Move):
            assert (F.START_PROBE in decision.effects) is (decision.state is S.PREPARING)
            leaves = state is S.PREPARING and decision.state is not S.STREAMING
            assert (F.CANCEL_PROBE in decision.effects) is leaves


# ---- the first frame


@pytest.mark.parametrize(("state", "event"), [(S.IDLE, E.PREPARE), (S.PREPARING, E.READY)])
def test_no_stream_engages_before_the_first_measured_frame(state: EngageState, event: EngageEvent) -> None:
    machine = machine_in(state)
    seen = [machine.first_frame_seen]
    machine.note_feed_lost()
    assert [*seen, machine.first_frame_seen] == [True, False]
    assert step(machine, event) == Refuse("no measured frame yet")
    assert machine.state is state
    machine.note_first_frame()
    assert isinstance(step(machine, event), Move)


def test_a_new_machine_has_seen_no_frame() -> None:
    assert EngageMachine().handle(E.PREPARE) == Refuse("no measured frame yet")


def test_what_would_not_move_is_not_blamed_on_the_feed() -> None:
    machine = machine_in(S.STREAMING)
    machine.note_feed_lost()
    assert step(machine, E.PREPARE) == Ignore("already streaming")


# ---- the cause


def test_the_first_cause_stays_until_the_reset() -> None:
    machine = machine_in(S.STREAMING)
    assert (machine.cause, machine.stopped_at_ns) == (None, None)
    machine.stop(FAULT, 70)
    machine.stop(StopCause(kind=StopKind.ESTOP, detail="later"), 90)
    assert (machine.cause, machine.stopped_at_ns) == (FAULT, 70)
    machine.reset(ALL_CLEAR)
    assert (machine.cause, machine.stopped_at_ns) == (None, None)


def test_a_restarted_data_plane_comes_up_latched() -> None:
    lost = StopCause(kind=StopKind.PROCESS_LOST, detail="the data plane was restarted")
    machine = EngageMachine(stopped_by=lost)
    assert (machine.state, machine.cause) == (S.STOPPED, lost)
    machine.note_first_frame()
    assert machine.handle(E.PREPARE) == Refuse("stopped; reset first")
    assert machine.reset(ALL_CLEAR) == Move(S.IDLE, (F.CLEAR_LATCHES,))


@pytest.mark.parametrize("event", [E.STOP, E.RESET])
def test_stop_and_reset_are_not_mere_events(event: EngageEvent) -> None:
    with pytest.raises(ValueError, match="method of its own"):
        EngageMachine().handle(event)


# ---- e-stop episodes


def estop(machine: EngageMachine, episode_id: int, *, session_id: int = 7) -> Move | Ignore | Refuse:
    return machine.estop(session_id=session_id, episode_id=episode_id, source="datagram", now_ns=3)


def test_an_estop_stops_and_says_where_it_came_from() -> None:
    machine = machine_in(S.STREAMING)
    assert isinstance(estop(machine, 1), Move)
    assert machine.cause == StopCause(kind=StopKind.ESTOP, detail="e-stop by datagram", name="datagram")
    assert machine.stopped_at_ns == 3


def test_a_late_copy_of_an_episode_never_latches_again_after_the_reset() -> None:
    machine = machine_in(S.STREAMING)
    estop(machine, 1)
    assert estop(machine, 1) == Ignore("already stopped; the first cause stays")
    machine.reset(ALL_CLEAR)
    for event in (E.PREPARE, E.READY, E.SOFT_STOP):
        assert estop(machine, 1) == Ignore("late copy of e-stop episode 1, settled by a reset")
        assert isinstance(machine.handle(event), Move)  # so the e-stop has not moved it


def test_every_episode_of_one_stop_is_settled_by_its_reset() -> None:
    machine = machine_in(S.STREAMING)
    machine.stop(FAULT, 1)
    estop(machine, 4)
    estop(machine, 5)
    machine.reset(ALL_CLEAR)
    assert isinstance(estop(machine, 4), Ignore)
    assert isinstance(estop(machine, 5), Ignore)
    assert isinstance(estop(machine, 6), Move)


def test_a_restarted_operators_first_episode_is_not_taken_for_an_old_one() -> None:
    machine = machine_in(S.STREAMING)
    estop(machine, 1, session_id=7)
    machine.reset(ALL_CLEAR)
    assert isinstance(estop(machine, 1, session_id=8), Move)


def test_an_estop_without_an_episode_always_stops() -> None:
    machine = machine_in(S.STREAMING)
    estop(machine, 0)
    machine.reset(ALL_CLEAR)
    assert isinstance(estop(machine, 0), Move)


def test_a_refused_reset_settles_nothing() -> None:
    machine = machine_in(S.STREAMING)
    estop(machine, 1)
    pressed = ResetConditions(frame_age_ns=0, estop_pressed=True, fastest_joint_deg_s=0.0)
    assert machine.reset(pressed) == Refuse("the e-stop button is pressed")
    assert machine.state is S.STOPPED
    assert machine.cause is not None
    assert estop(machine, 1) == Ignore("already stopped; the first cause stays")


def test_a_forgotten_episode_stops_the_arm_again_and_a_flood_does_not_grow_the_book() -> None:
    machine = machine_in(S.STREAMING)
    for episode_id in range(1, REMEMBERED_EPISODES + 2):
        estop(machine, episode_id)
    machine.reset(ALL_CLEAR)
    assert isinstance(estop(machine, REMEMBERED_EPISODES + 1), Ignore)
    assert isinstance(estop(machine, 2), Ignore)
    assert isinstance(estop(machine, 1), Move)


def test_256_episodes_are_remembered() -> None:
    assert REMEMBERED_EPISODES == 256


def test_a_flood_of_episodes_within_one_stop_does_not_grow_the_book_either() -> None:
    book = EpisodeBook()
    for episode_id in range(1, 3 * REMEMBERED_EPISODES):
        book.note(7, episode_id)
    assert len(book._present) == REMEMBERED_EPISODES


def test_the_episodes_of_a_stop_are_settled_once() -> None:
    machine = machine_in(S.STREAMING)
    estop(machine, 1)
    machine.reset(ALL_CLEAR)
    for episode_id in range(2, REMEMBERED_EPISODES + 2):
        estop(machine, episode_id)
        machine.reset(ALL_CLEAR)
    assert isinstance(estop(machine, 1), Move)  # forgotten, not carried along by later resets


def test_the_oldest_settled_episode_is_forgotten_first() -> None:
    machine = machine_in(S.IDLE)
    for episode_id in range(1, REMEMBERED_EPISODES + 3):
        estop(machine, episode_id)
        machine.reset(ALL_CLEAR)
    assert isinstance(estop(machine, 3), Ignore)
    assert isinstance(estop(machine, 2), Move)


# ---- what stands against a reset


@pytest.mark.parametrize(
    ("conditions", "standing"),
    [
        (ALL_CLEAR, None),
        (
            ResetConditions(frame_age_ns=None, estop_pressed=False, fastest_joint_deg_s=0.0),
            "no measured frame yet",
        ),
        (
            ResetConditions(
                frame_age_ns=OLDEST_FRAME_NS + 1_000_000, estop_pressed=True, fastest_joint_deg_s=0.0
            ),
            "the state feed is silent for 301 ms",
        ),
        (ResetConditions(frame_age_ns=OLDEST_FRAME_NS, estop_pressed=False, fastest_joint_deg_s=0.0), None),
        (
            ResetConditions(frame_age_ns=0, estop_pressed=True, fastest_joint_deg_s=9.0, fault_code=1),
            "the e-stop button is pressed",
        ),
        (
            ResetConditions(
                frame_age_ns=0,
                estop_pressed=False,
                fastest_joint_deg_s=9.0,
                fault_code=1,
                fault_sub_code=32,
            ),
            "the controller is in fault 1/32",
        ),
        (
            ResetConditions(frame_age_ns=0, estop_pressed=False, fastest_joint_deg_s=0.0, fault_code=3),
            "the controller is in fault 3/0",
        ),
        (
            ResetConditions(frame_age_ns=0, estop_pressed=False, fastest_joint_deg_s=9.0),
            "the arm still moves at 9.0 °/s",
        ),
        (
            ResetConditions(frame_age_ns=0, estop_pressed=False, fastest_joint_deg_s=-9.0),
            "the arm still moves at -9.0 °/s",
        ),
        (ResetConditions(frame_age_ns=0, estop_pressed=False, fastest_joint_deg_s=AT_REST_DEG_S), None),
        (
            ResetConditions(frame_age_ns=0, estop_pressed=False, fastest_joint_deg_s=float("nan")),
            "the arm still moves at nan °/s",
        ),
    ],
)
def test_a_reset_is_refused_while_its_cause_stands_and_names_it(
    conditions: ResetConditions, standing: str | None
) -> None:
    machine = machine_in(S.STOPPED)
    decision = machine.reset(conditions)
    assert decision == (Refuse(standing) if standing else Move(S.IDLE, (F.CLEAR_LATCHES,)))
    assert standing_cause(conditions) == standing


def test_an_arm_slower_than_half_a_degree_per_second_stands() -> None:
    assert AT_REST_DEG_S == 0.5
    assert OLDEST_FRAME_NS == 300_000_000


def test_every_reset_rule_says_what_it_is_for() -> None:
    assert all(rule.__doc__ for rule in RESET_LADDER)
