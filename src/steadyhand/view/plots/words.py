"""Figures as a person reads them: few digits, a unit, and a word where a number would mislead."""

from collections import Counter
from math import floor, isfinite, log10
from typing import Any


def printable(text: str) -> str:
    """`text` on one line without control characters: a file may be called anything."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def number(value: float, digits: int = 2) -> str:
    """`value` to `digits` significant digits, whole from 100 on, thousands set apart."""
    if not isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    places = max(0, digits - 1 - floor(log10(abs(value))))
    return f"{value:,.{places}f}"


def milliseconds(value: float | None) -> str:
    """Whole milliseconds from 10 on, one decimal below; seconds from ten of them on."""
    if value is None or not isfinite(value):
        return "–"
    if value >= 10_000.0:
        return f"{number(value / 1000.0, 3)} s"
    return f"{value:,.0f} ms" if value >= 10.0 else f"{value:.1f} ms".replace(".0 ", " ")


def duration(value_s: float) -> str:
    """Seconds, or minutes from ten of them on."""
    return f"{value_s / 60.0:g} min" if value_s >= 600.0 else f"{value_s:g} s"


def share(value: float) -> str:
    """A share as a percentage; never rounded down to nothing."""
    if value == 0.0:
        return "none"
    if value < 0.0001:
        return "< 0.01 %"
    return f"{100.0 * value:.2g} %" if value < 0.1 else f"{100.0 * value:.0f} %"


def stops(lane: dict[str, Any]) -> str:
    """How often the arm was stopped, and why."""
    found = lane["stops"]
    if not found:
        return "none"
    causes = Counter(stop["cause"].replace("_", " ") for stop in found)
    return f"{len(found)} ({', '.join(causes)})"


def delays(lane: dict[str, Any]) -> str:
    """Median and 99th percentile of release minus sending."""
    added = lane["added_delay_ms"]
    if added["p50"] is None:
        return "–"
    return f"{milliseconds(added['p50'])}, p99 {milliseconds(added['p99'])}"


def card(lane: dict[str, Any]) -> list[tuple[str, str]]:
    """The figures that stand under a receiver in the picture: (label, value)."""
    return [
        ("peak joint speed", f"{lane['peak_speed_deg_s']:,.0f} °/s"),
        ("peak acceleration", f"{lane['peak_accel_deg_s2']:,.0f} °/s²"),
        ("added delay", delays(lane)),
        ("oldest released", milliseconds(lane["oldest_released_ms"])),
        ("ticks held", share(lane["held_ticks_share"])),
        ("stops", stops(lane)),
    ]
