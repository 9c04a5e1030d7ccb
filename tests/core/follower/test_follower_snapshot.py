"""FollowerCore's snapshot: which classes it knows, what is not in it, and what it refuses (R17)."""

import struct
import zlib
from collections import deque
from enum import Enum
from typing import Any

import msgspec
import pytest

from steadyhand.core.follower import FollowerCore
from steadyhand.core.follower.inputs import EditGuard, EnterIdle, PrepareStream, ProbeReady
from steadyhand.core.follower.outputs import FollowerEvent
from steadyhand.core.follower.snapshot_classes import snapshot_plan
from steadyhand.core.safety.verdicts import SafetyEvent
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.core.snapshot import Snapshots
from steadyhand.core.snapshot_values import SnapshotError
from tests.core.follower.recorded_runs import JERK, KEY, KINDS, Fuzz

PLAN = snapshot_plan(FollowerCore)
NAMED = {*PLAN.parts, *PLAN.fixed, *PLAN.built, *PLAN.values.by_name().values()}
PLAIN = {type(None), bool, int, float, str, bytes, tuple, list, deque, dict, set, frozenset}
CONTAINERS = (list, deque, dict, set)


def attributes(value: Any) -> dict[str, Any]:
    """Every attribute of an object, whatever holds it, but those that are left out by name."""
    kind = type(value)
    names = {*getattr(value, "__dict__", ()), *getattr(kind, "__struct_fields__", ())}
    for one in kind.__mro__:
        names.update(vars(one).get("__slots__", ()))
    left_out = PLAN.left_out.get(kind, frozenset())
    return {name: getattr(value, name) for name in sorted(names - left_out)}


def reachable(root: Any) -> list[Any]:
    """Every object that a core is made of, as far as construction does not make it."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, PLAN.built):
            continue
        seen.add(id(value))
        found.append(value)
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, (tuple, list, deque, set, frozenset)):
            waiting += list(value)
        elif type(value) not in PLAIN and not isinstance(value, (Enum, *PLAN.values.documents)):
            waiting += attributes(value).values()
    return found


def kinds_of_runs() -> list[Any]:
    return [*KINDS.items(), pytest.param("jerk", JERK, marks=pytest.mark.peer)]


@pytest.mark.parametrize(("name", "kind"), kinds_of_runs())
def test_a_live_core_holds_nothing_that_a_snapshot_does_not_know(
    name: str, kind: dict[str, Any], make_rig: Any
) -> None:
    """A new class is met here, and named in `snapshot_classes`, before a recorder meets it."""
    if name == "jerk":
        pytest.importorskip("ruckig")
    rig = make_rig(**kind)
    core = rig.core
    for _ in range(12):
        Fuzz(rig, len(name), kind).run(25)
        rig.core = core
        held = reachable(core)
        assert {type(value) for value in held} - PLAIN - NAMED == set()
        # A container that two objects held would be two after a restore.
        owned = [
            id(held_by)
            for part in held
            if isinstance(part, PLAN.parts)
            for held_by in attributes(part).values()
            if isinstance(held_by, CONTAINERS)
        ]
        assert len(owned) == len(set(owned))


def test_every_event_can_be_in_a_snapshot() -> None:
    """Events wait until they are taken, and a snapshot may come between."""
    for event in (*FollowerEvent.__args__, *SafetyEvent.__args__):
        assert event in NAMED


def test_an_attribute_of_a_class_that_is_not_named_is_refused_by_its_name(rig: Any) -> None:
    rig.core.arm.writes.last = complex(1, 2)
    with pytest.raises(SnapshotError, match=r"WriteLedger\.last: a complex"):
        rig.core.snapshot()


def test_an_attribute_that_construction_does_not_make_is_missed_at_the_restore(rig: Any) -> None:
    rig.core.arm.writes.last = 5
    with pytest.raises(SnapshotError, match=r"WriteLedger: .*other versions: last"):
        FollowerCore.restore(rig.core.settings, rig.core.snapshot())


# ---- what is in it


def test_no_key_is_in_a_snapshot_and_a_restored_core_opens_no_seal(rig: Any) -> None:
    rig.engage()
    rig.stream(20)
    snapshot = rig.core.snapshot()
    assert KEY not in snapshot
    core = FollowerCore.restore(rig.core.settings, snapshot)
    core.receive(rig.datagram(rig.pose), rig.now_ns, 0.0)
    assert core.ingress.unsealer.session_id == 7
    assert core.ingress.rejections.as_dict()["unknown_session"] == 1


def test_the_state_of_a_core_has_one_form(make_rig: Any) -> None:
    """Two cores that were given the same answer the same bytes; asking changes nothing."""
    one, other = make_rig(), make_rig()
    for rig in (one, other):
        rig.engage()
        rig.stream(150)
    assert one.core.snapshot() == other.core.snapshot() == other.core.snapshot()
    one.stream(1)
    assert one.core.snapshot() != other.core.snapshot()


def test_a_restored_core_of_an_edited_block_has_the_edited_envelope(rig: Any) -> None:
    rig.engage()
    rig.control(EditGuard(block="stream_shaper", changes={"v_max_deg_s": 60.0}))
    rig.control(EnterIdle())
    rig.tick()
    kept = FollowerCore.restore(rig.core.settings, rig.core.snapshot())
    assert kept.stream.safety == rig.core.settings.safety
    assert kept.stream.pending_safety is not kept.stream.safety
    rig.control(PrepareStream())
    rig.control(ProbeReady())
    in_force = FollowerCore.restore(rig.core.settings, rig.core.snapshot())
    assert in_force.stream.pending_safety is in_force.stream.safety
    assert in_force.stream.envelope.report()["stream_shaper"]["v_max_deg_s"] == 60.0


def same_from_here(rig: Any, ticks: int) -> None:
    """The live core and one restored from it write the same frames, to the last digit."""
    core = FollowerCore.restore(rig.core.settings, rig.core.snapshot())
    measured = rig.core.arm.measured
    for _ in range(ticks):
        rig.now_ns += 10_000_000
        seen = msgspec.structs.replace(measured, arrival_ns=rig.now_ns)
        outputs = []
        for one in (rig.core, core):
            one.observe(seen)
            outputs.append(one.tick(rig.now_ns))
            one.note_write(WriteOutcome.TAKEN, rig.now_ns)
        assert outputs[0] == outputs[1]
    assert core.snapshot() == rig.core.snapshot()


def jumped(rig: Any, ticks: int) -> None:
    """Held in the passthrough's slot, a target 3° away is approached for some ticks."""
    rig.pose = (rig.pose[0] + 3.0, *rig.pose[1:])
    for _ in range(ticks):
        rig.deliver(rig.datagram(rig.pose))
        rig.tick()
    rig.deliver(rig.datagram(rig.pose))


LOOSE: dict[str, Any] = {"form": "margin", "lag_s": 0.08, "margin_deg": 90.0}


def test_a_restored_core_of_an_edited_block_brakes_as_the_edited_one(make_rig: Any) -> None:
    rig = make_rig(
        communication={"playout_buffer_ms": 0.0, "servoj_stale_factor": 50.0},
        safety={"divergence_guard": LOOSE},
    )
    rig.control(EditGuard(block="stream_shaper", changes={"a_max_deg_s2": 210.0}))
    rig.engage()
    jumped(rig, 4)
    same_from_here(rig, 30)


@pytest.mark.peer
def test_a_jerk_limited_plan_goes_on_in_the_middle_of_a_trajectory(make_rig: Any) -> None:
    """The library keeps its trajectory to itself; begun anew, it differs in the last digits."""
    pytest.importorskip("ruckig")
    shaper = {"v_max_deg_s": 130.0, "a_max_deg_s2": 500.0, "jerk_max_deg_s3": 7_123.0}
    rig = make_rig(
        communication={"playout_buffer_ms": 0.0, "servoj_stale_factor": 50.0},
        safety={"divergence_guard": LOOSE, "stream_shaper": {**shaper, "synchronised": True}},
    )
    rig.engage()
    rig.stream(7, step_deg=0.37)
    jumped(rig, 5)
    assert rig.core.stream.envelope._parts.stream._jerk_solver._steps > 2
    same_from_here(rig, 40)


def test_a_setpoint_that_was_sent_before_is_not_new_after_a_restore(make_rig: Any) -> None:
    """Passthrough tells it by identity, which a snapshot keeps."""
    rig = make_rig(communication={"playout_buffer_ms": 0.0})
    rig.engage()
    rig.stream(3)
    core = FollowerCore.restore(rig.core.settings, rig.core.snapshot())
    before = core.stream.last_released
    assert core.tick(rig.now_ns + 10_000_000).commands
    assert core.stream.last_released == before


# ---- what is refused


def test_a_snapshot_of_other_settings_is_refused(rig: Any, make_rig: Any) -> None:
    other = make_rig(communication={"playout_buffer_ms": 60.0})
    with pytest.raises(SnapshotError, match="other settings"):
        FollowerCore.restore(other.core.settings, rig.core.snapshot())


def test_every_damaged_byte_is_found(rig: Any) -> None:
    snapshot = rig.core.snapshot()
    for place in range(0, len(snapshot), 7):
        damaged = bytearray(snapshot)
        damaged[place] ^= 0x10
        with pytest.raises(SnapshotError):
            FollowerCore.restore(rig.core.settings, bytes(damaged))
    for length in (0, 9, 10, len(snapshot) - 1):
        with pytest.raises(SnapshotError):
            FollowerCore.restore(rig.core.settings, snapshot[:length])


def test_another_version_is_refused_by_its_number(rig: Any) -> None:
    snapshot = rig.core.snapshot()
    later = snapshot[:4] + struct.pack("!H", 9) + snapshot[6:]
    with pytest.raises(SnapshotError, match="unsupported snapshot version 9"):
        FollowerCore.restore(rig.core.settings, later)


def test_sound_bytes_that_no_follower_wrote_are_refused(rig: Any) -> None:
    digest, safety, parts = msgspec.msgpack.decode(rig.core.snapshot()[10:])
    odd: list[Any] = [
        [digest, safety, parts[:-1]],
        [digest, safety, [["Stream", {}], *parts[1:]]],
        [digest, safety, [[parts[0][0], {}], *parts[1:]]],
        [digest, safety, [[parts[0][0], {**parts[0][1], "operator": [6, "Nobody"]}], *parts[1:]]],
        [digest, safety, [[parts[0][0], {**parts[0][1], "operator": [99]}], *parts[1:]]],
        [digest, safety, 5],
        [digest, {"nothing": 1}, parts],
        [digest, safety],
        7,
    ]
    for content in odd:
        body = msgspec.msgpack.encode(content)
        with pytest.raises(SnapshotError):
            FollowerCore.restore(rig.core.settings, struct.pack("!4sHI", b"S7FS", 1, zlib.crc32(body)) + body)


def test_the_plan_names_no_class_twice() -> None:
    twice = msgspec.structs.replace(PLAN.values, structs=(*PLAN.values.structs, PLAN.values.structs[0]))
    with pytest.raises(ValueError, match="one name"):
        Snapshots(msgspec.structs.replace(PLAN, values=twice))
