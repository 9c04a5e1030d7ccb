"""Paired timing: machines are noisy and drift, so every figure is taken in turns with its peer's."""

import gc
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any

import msgspec

PACKAGES = ("steadyhand", "msgspec", "numpy", "protobuf", "cryptography", "aiortc", "ruckig")


class Table(msgspec.Struct, kw_only=True):
    """One table of the bench: printed, and kept in out.json under `name`."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    figures: dict[str, Any]


def interleaved(contenders: dict[str, Callable[[], int]], repetitions: int) -> dict[str, list[float]]:
    """Run the contenders in turns; return µs per item for each repetition.

    A contender does its work and returns how many items it handled. CPU time of this process is
    what counts, so that a busy neighbour does not; the garbage collector is off, as in the loop.
    """
    costs: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, work in contenders.items():
                started = time.process_time_ns()
                items = work()
                costs[name].append((time.process_time_ns() - started) / items / 1000.0)
                gc.collect()
    finally:
        gc.enable()
    return costs


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """Median of the ratios pair by pair: what holds when the machine's speed drifts."""
    return median([a / b for a, b in zip(ours, theirs, strict=True)])


def spread(values: list[float]) -> str:
    """Median, and least to most in brackets."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    return {
        "python": sys.version.split()[0],
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except ModuleNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
