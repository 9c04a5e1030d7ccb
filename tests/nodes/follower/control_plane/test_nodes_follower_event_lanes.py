"""Two lanes for each watcher: what changes the arm's state first, and never lost in silence."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyhand.core.follower.inputs import ProcessLost
from steadyhand.core.follower.outputs import (
    DepthChanged,
    FollowerEvent,
    Moved,
    ProgramFault,
    RequestRefused,
    ResetDone,
    SafetyNote,
    SessionOpened,
    Stopped,
)
from steadyhand.core.safety.latch import StopCause, StopKind
from steadyhand.nodes.follower.event_lanes import EventFan, EventLanes, ToldEvent, from_follower, own_event

CAUSE = StopCause(kind=StopKind.ESTOP, detail="a hand in the way", name="ada")
EVERY_EVENT: tuple[tuple[FollowerEvent, bool], ...] = (
    (SessionOpened(at_ns=1, session_id=1 << 63, operator="ada"), True),
    (Moved(at_ns=1, state="idle", by="x"), True),
    (Stopped(at_ns=1, cause=CAUSE), True),
    (ResetDone(at_ns=1, operator="ada", reason="x"), True),
    (ProgramFault(at_ns=1, where="tick", traceback="x"), True),
    (SafetyNote(at_ns=1, kind="GuardTripped", fields={}), True),
    (SafetyNote(at_ns=1, kind="GuardToggled", fields={}), True),
    (SafetyNote(at_ns=1, kind="GuardEdited", fields={}), True),
    (SafetyNote(at_ns=1, kind="JumpAbsorbed", fields={}), False),
    (RequestRefused(at_ns=1, request="x", reason="y"), False),
    (DepthChanged(at_ns=1, target=1, target_ms=10.0, base_ms=10.0), False),
)


def bulk(number: int) -> ToldEvent:
    return own_event("bulk", number, {}, priority=False)


def priority(number: int) -> ToldEvent:
    return own_event("priority", number, {})


def drained(lanes: EventLanes) -> list[tuple[str, int, int]]:
    taken = []
    while (found := lanes.take()) is not None:
        taken.append((found[0].kind, found[0].at_ns, found[1]))
    return taken


@pytest.mark.parametrize(("event", "is_priority"), EVERY_EVENT)
def test_what_changes_the_arms_state_or_its_protection_has_priority(
    event: FollowerEvent, is_priority: bool
) -> None:
    told = from_follower(event)
    assert (told.kind, told.at_ns, told.priority) == (type(event).__name__, 1, is_priority)


def test_an_events_fields_are_told_and_its_frame_is_not_repeated() -> None:
    told = from_follower(Stopped(at_ns=1, cause=CAUSE))
    assert told.json == '{"cause":{"kind":"estop","detail":"a hand in the way","name":"ada"}}'
    note = from_follower(SafetyNote(at_ns=1, kind="WallHeld", fields={"a": 1}))
    assert note.json == '{"note":"WallHeld","fields":{"a":1}}'


def test_priority_goes_first_and_each_lane_is_oldest_first() -> None:
    lanes = EventLanes()
    for number in (1, 2):
        lanes.put(bulk(number))
        lanes.put(priority(number))
    assert drained(lanes) == [("priority", 1, 0), ("priority", 2, 0), ("bulk", 1, 0), ("bulk", 2, 0)]


def test_a_full_bulk_lane_drops_the_newest_and_says_how_many() -> None:
    lanes = EventLanes(bulk_kept=2)
    for number in range(5):
        lanes.put(bulk(number))
    lanes.put(priority(9))
    assert drained(lanes) == [("priority", 9, 3), ("bulk", 0, 0), ("bulk", 1, 0)]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(("priority", "bulk", "take")), max_size=60))
def test_nothing_is_lost_in_silence(steps: list[str]) -> None:
    lanes = EventLanes(priority_kept=10, bulk_kept=3)
    put, taken, told = {"priority": 0, "bulk": 0}, {"priority": 0, "bulk": 0}, 0
    for step in steps:
        if step == "take":
            found = lanes.take()
            if found is not None:
                taken[found[0].kind] += 1
                told += found[1]
        else:
            put[step] += 1
            lanes.put(own_event(step, 0, {}, priority=step == "priority"))
    for kind, _, dropped in drained(lanes):
        taken[kind] += 1
        told += dropped
    # A drop behind the last event is told with the next one, whenever that comes.
    lanes.put(own_event("last", 0, {}))
    ((_, _, dropped),) = drained(lanes)
    assert taken["bulk"] + told + dropped == put["bulk"]
    assert taken["priority"] == put["priority"] or lanes.overflowed


def test_a_watcher_that_takes_no_priority_is_let_go() -> None:
    async def watch() -> Any:
        fan = EventFan()
        watcher = fan.join(0)
        watcher.lanes = EventLanes(priority_kept=1)
        fan.tell(priority(1))
        fan.tell(priority(2))
        return await watcher.following()

    assert asyncio.run(watch()) == "this watcher reads too slowly"


def test_what_waits_is_told_before_the_end() -> None:
    async def watch() -> list[Any]:
        fan = EventFan()
        watcher, other = fan.join(5), fan.join(0)
        fan.tell(priority(1))
        fan.end_session(5, "over")
        return [await watcher.following(), await watcher.following(), await other.following()]

    first, second, third = asyncio.run(watch())
    assert first == third == (priority(1), 0)
    assert second == "over"


def test_an_event_wakes_who_waits() -> None:
    async def watch() -> Any:
        fan = EventFan()
        waiting = asyncio.ensure_future(fan.join(0).following())
        await asyncio.sleep(0)
        fan.tell(priority(7))
        async with asyncio.timeout(10):
            return await waiting

    assert asyncio.run(watch()) == (priority(7), 0)


# ---- over gRPC


def test_a_slow_watcher_sees_the_stop_before_the_diagnostics_and_how_many_it_lost(rig: Any) -> None:
    client = rig.client()
    client.open_session(rig.wish())
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    told = own_event("Chatter", 0, {"text": "x" * 2000}, priority=False)

    def flood() -> None:
        # In one turn of the loop, so that the watcher cannot read in between.
        for _ in range(1000):
            rig.plane.events.tell(told)
        rig.plane.events.tell(own_event("Urgent", 1, {}))

    rig.on_loop(flood)
    seen = []
    for event in watch:
        seen.append((event.kind, event.dropped))
        if event.dropped:
            break
    kinds = [kind for kind, _ in seen]
    assert kinds.index("Urgent") <= 1
    assert dict(seen)["Urgent"] + kinds.count("Chatter") <= 1000
    assert dict(seen)["Urgent"] > 900


def test_every_watcher_is_told_of_a_stop(rig: Any) -> None:
    client = rig.client()
    client.open_session(rig.wish())
    watches = [client.watch_events(timeout_s=20.0), rig.local().watch_events(timeout_s=20.0)]
    for watch in watches:
        watch.wait_open()
    rig.data_plane.command(ProcessLost(name="launcher"))
    for watch in watches:
        event = next(event for event in watch if event.kind == "Stopped")
        assert (event.priority, event.fields["cause"]["kind"]) == (True, "process_lost")


def test_an_event_that_was_changed_on_the_way_is_found_out(rig: Any) -> None:
    from steadyhand.edge.control_service import CallFault, ControlError, EventWatch
    from steadyhand.wire.control_auth import ControlSigner

    client = rig.client()
    client.open_session(rig.wish())
    watch = client.watch_events(timeout_s=20.0)
    watch.wait_open()
    watch._signer = ControlSigner(session_id=client.session_id, key=bytes(32))
    rig.data_plane.command(ProcessLost(name="launcher"))
    with pytest.raises(ControlError, match="not the follower's") as caught:
        next(watch)
    assert caught.value.fault is CallFault.FORGED
    assert isinstance(watch, EventWatch)


def test_too_many_watchers_are_refused(rig: Any) -> None:
    from steadyhand.edge.control_service import ControlError

    local = rig.local()
    watches = [local.watch_events(timeout_s=20.0) for _ in range(32)]
    for watch in watches:
        watch.wait_open()
    with pytest.raises(ControlError, match="32 watch already"):
        next(local.watch_events(timeout_s=20.0))
    watches[0].cancel()
    assert list(watches[0]) == []
