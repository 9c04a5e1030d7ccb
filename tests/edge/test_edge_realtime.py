"""Asking never raises, and the report says what is so."""

import gc
import json
import os
import resource
import subprocess
import sys

import msgspec
import pytest

from steadyhand.edge import realtime
from steadyhand.edge.libc import call
from steadyhand.edge.machine_files import MachineFiles
from steadyhand.edge.realtime import (
    Granted,
    RealtimeReport,
    RealtimeRequest,
    Refused,
    ask_for,
    in_mib,
    listed,
)

NOTHING = RealtimeRequest(
    priority=None,
    lock_memory=False,
    keep_heap=False,
    timer_slack_ns=None,
    shallow_idle=False,
    quiet_collector=False,
)

ASK_AND_LOOK = """
import gc, json, os, sys
import msgspec
from steadyhand.edge.libc import call
from steadyhand.edge.machine_files import THIS_MACHINE
from steadyhand.edge.realtime import RealtimeRequest, ask_for
if sys.argv[1] == "nobody" and os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
report = ask_for(RealtimeRequest(priority=42, onto_cpus=frozenset({min(os.sched_getaffinity(0))})))
seen = {
    "policy": os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK,
    "priority": os.sched_getparam(0).sched_priority,
    "cores": sorted(os.sched_getaffinity(0)),
    "slack": call("prctl", 30, 0, 0, 0, 0),
    "locked": THIS_MACHINE.status_field("VmLck"),
    "collects": gc.isenabled(),
    "frozen": gc.get_freeze_count(),
}
sys.stdout.write(json.dumps({"report": msgspec.to_builtins(report), "seen": seen}))
"""


def ask_in_a_child(user: str) -> tuple[RealtimeReport, dict[str, object]]:
    """In a child, because what is granted cannot be handed back."""
    command = [sys.executable, "-c", ASK_AND_LOOK, user]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    said = json.loads(done.stdout)
    return msgspec.convert(said["report"], RealtimeReport), said["seen"]


@pytest.mark.parametrize("user", ["self", "nobody"])
def test_every_request_is_answered_and_the_kernel_says_the_same(user: str) -> None:
    report, seen = ask_in_a_child(user)
    assert [answer.what for answer in report.answers] == [what for what, _ in realtime.ASKS]
    assert (seen["policy"] == os.SCHED_FIFO) == report.granted("scheduling")
    assert (seen["priority"] == 42) == report.granted("scheduling")
    assert (seen["locked"] != "0 kB") == report.granted("memory")
    assert report.granted("cores")
    assert seen["cores"] == [min(os.sched_getaffinity(0))]
    assert report.granted("garbage collector")
    assert seen["collects"] is False
    assert isinstance(seen["frozen"], int)
    assert seen["frozen"] > 1000
    assert report.granted("timer slack")
    # A real-time process has no slack at all in newer kernels, whatever was asked for.
    assert seen["slack"] in (0, 1)


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_RTPRIO)[0] > 0, reason="this user may take a real-time priority"
)
def test_without_privileges_the_class_is_refused_with_what_it_needs() -> None:
    report, _ = ask_in_a_child("nobody")
    refused = {answer.what: answer for answer in report.answers if isinstance(answer, Refused)}
    assert "SCHED_FIFO 42 is not permitted" in refused["scheduling"].reason
    assert "LimitRTPRIO" in refused["scheduling"].hint


def test_nothing_asked_is_nothing_answered_and_nothing_changed() -> None:
    before = (
        os.sched_getscheduler(0),
        os.sched_getaffinity(0),
        gc.isenabled(),
        call("prctl", 30, 0, 0, 0, 0),
    )
    assert ask_for(NOTHING) == RealtimeReport(())
    after = (os.sched_getscheduler(0), os.sched_getaffinity(0), gc.isenabled(), call("prctl", 30, 0, 0, 0, 0))
    assert before == after


def test_the_limit_of_priority_is_taken_where_the_one_asked_for_is_not_permitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    def set_fifo(priority: int) -> None:
        if priority > 30:
            raise PermissionError(1, "Operation not permitted")
        taken.append(priority)

    monkeypatch.setattr(realtime, "_set_fifo", set_fifo)
    monkeypatch.setattr("resource.getrlimit", lambda which: (30, 30))
    (answer,) = ask_for(msgspec.structs.replace(NOTHING, priority=80)).answers
    assert answer == Granted("scheduling", "SCHED_FIFO 30, the limit; 80 was asked for")
    assert taken == [30]


@pytest.mark.parametrize(("priority", "why"), [(0, "Invalid argument"), (100, "Invalid argument")])
def test_a_priority_that_does_not_exist_is_refused(priority: int, why: str) -> None:
    (answer,) = ask_for(msgspec.structs.replace(NOTHING, priority=priority)).answers
    assert isinstance(answer, Refused)
    assert why in answer.reason


def test_memory_to_come_is_not_locked_where_a_limit_could_make_it_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[str | int, ...]] = []

    def fake_call(function: str, *arguments: int) -> int:
        calls.append((function, *arguments))
        return 0

    monkeypatch.setattr(realtime, "call", fake_call)
    monkeypatch.setattr(realtime, "_may_lock_beyond", lambda limit: False)
    monkeypatch.setattr("resource.getrlimit", lambda which: (64 << 20, 64 << 20))
    (answer,) = ask_for(msgspec.structs.replace(NOTHING, lock_memory=True)).answers
    assert calls == [("mlockall", 3), ("mlockall", 1)]
    assert isinstance(answer, Granted)
    assert "not what comes later: the limit is 64 MiB" in answer.detail


def test_an_error_nobody_thought_of_is_a_refusal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("never seen before")

    monkeypatch.setattr(realtime, "call", broken)
    report = ask_for(msgspec.structs.replace(NOTHING, keep_heap=True, lock_memory=True, timer_slack_ns=1))
    assert [answer.what for answer in report.answers] == ["heap", "memory", "timer slack"]
    assert all(answer == Refused(answer.what, "RuntimeError: never seen before") for answer in report.answers)


def test_a_c_library_without_the_function_is_a_refusal() -> None:
    with pytest.raises(OSError, match="this C library has no made_up_call"):
        call("made_up_call", 1)


def test_keeping_away_from_every_core_is_refused() -> None:
    request = msgspec.structs.replace(NOTHING, off_cpus=frozenset(os.sched_getaffinity(0)))
    assert ask_for(request).answers == (Refused("cores", "no core would be left to run on"),)


def test_the_report_is_one_line_an_answer() -> None:
    report = RealtimeReport(
        (Granted("memory", "40 MiB locked"), Refused("scheduling", "not permitted", "CAP_SYS_NICE"))
    )
    assert report.lines() == (
        "memory: granted, 40 MiB locked",
        "scheduling: refused, not permitted (needs CAP_SYS_NICE)",
    )
    assert (report.granted("memory"), report.granted("scheduling"), report.granted("heap")) == (
        True, False, False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cpus", "text"), [({0}, "0"), ({0, 1, 2}, "0-2"), ({0, 2, 3, 7}, "0,2-3,7"), (set(), "")]
)
def test_cores_are_listed_as_the_kernel_does(cpus: set[int], text: str) -> None:
    assert listed(cpus) == text


def test_sizes_are_said_in_mib() -> None:
    assert in_mib(8 << 20) == "8 MiB"
    assert in_mib(resource.RLIM_INFINITY) == "infinity"


def test_a_file_of_the_kernel_that_is_not_there_is_none() -> None:
    assert MachineFiles().read("/proc/no/such/file") is None
    assert MachineFiles().read("/proc") is None
