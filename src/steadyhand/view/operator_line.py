"""One operator's end in one line, for a terminal, and its account in a few when it ends."""

from typing import Any, Final

from steadyhand.core.operator.notices import Level
from steadyhand.nodes.operator.session import SessionState
from steadyhand.nodes.operator.summary import StreamSummary
from steadyhand.nodes.operator.view import ArmEvent, OperatorView

MARKS: Final = {Level.INFO: " ", Level.WARNING: "!", Level.ALARM: "!!"}
STYLES: Final = {Level.INFO: "", Level.WARNING: "yellow", Level.ALARM: "bold red"}


def live_line(view: OperatorView) -> str:
    """State, depth, latency, what was sent; what is wrong comes first."""
    report = view.report
    words = []
    if view.session.state is not SessionState.OPEN:
        why = view.session.refused or view.session.failed
        words.append(f"no session{f': {why}' if why else ''}")
    if report.stopped_by:
        words.append(f"STOPPED by {report.stopped_by}")
    elif report.link_lost:
        words.append("LINK LOST")
    else:
        words.append(report.follower or "not heard yet")
    words += _playout(view)
    if report.command_latency_ms is not None:
        words.append(f"command {report.command_latency_ms:.1f} ms")
    if report.silent_ms is not None:
        words.append(f"heard {report.silent_ms:.0f} ms ago")
    words.append(f"sent {report.lead.get('sent', 0)}, {report.copies} copies")
    if not view.session.control_up and view.session.state is SessionState.OPEN:
        words.append("control service not heard")
    return " | ".join(words)


def event_line(event: ArmEvent) -> str:
    """One event, with a mark that says how loud it is."""
    return f"{MARKS[event.level]:2} {event.text}"


def summary_lines(summary: StreamSummary) -> list[str]:
    """What became of one stream."""
    latency_ms = summary.command_latency_ms
    latency = "" if latency_ms is None else f"; command latency {latency_ms:.1f} ms by wall clocks"
    there = "the arm is at the last pose" if summary.settled else "the arm was not seen at the last pose"
    return [
        f"sent {summary.sent} setpoints, {summary.dropped} dropped here as too old: "
        f"{summary.approach_s:.1f} s to the first pose, {summary.duration_s:.1f} s of motion; {there}",
        f"punctual to {summary.pace.late_p99_us:.0f} µs (p99), {summary.pace.late_max_us:.0f} µs at most, "
        f"{summary.pace.lost_slots} slots lost{latency}",
    ]


def _playout(view: OperatorView) -> list[str]:
    """Depth beside its target, and the released mix's oddities, where there is a buffer."""
    playout: Any = None if view.state is None else view.state.extras.get("playout")
    if not isinstance(playout, dict):
        return []
    words = [f"depth {playout.get('depth')}/{playout.get('target_depth')}"]
    odd = {"held": "holds", "interpolated": "synthetic", "lost_at_release": "lost"}
    words += [f"{playout[key]} {word}" for key, word in odd.items() if playout.get(key)]
    return words
