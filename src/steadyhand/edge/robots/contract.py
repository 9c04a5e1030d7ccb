"""The contract in one import: two ports, one lifecycle each, and the values they answer with.

What a driver has to write stands in docs/robots.md; tests/edge/robots holds every driver to it with
one suite.
"""

from steadyhand.edge.robots.control_port import ControlPort
from steadyhand.edge.robots.data_port import DataPort
from steadyhand.edge.robots.lifecycle import (
    CONTROL_TABLE,
    DATA_TABLE,
    Lifecycle,
    LifecycleError,
    PortEvent,
    PortState,
)
from steadyhand.edge.robots.reports import (
    TAKEN,
    CallOutcome,
    CallReport,
    Codes,
    DataReport,
    Failed,
    MeasuredState,
    Ready,
    Settling,
    Waiting,
    WriteReport,
    broken,
    lost,
)

__all__ = [
    "CONTROL_TABLE",
    "DATA_TABLE",
    "TAKEN",
    "CallOutcome",
    "CallReport",
    "Codes",
    "ControlPort",
    "DataPort",
    "DataReport",
    "Failed",
    "Lifecycle",
    "LifecycleError",
    "MeasuredState",
    "PortEvent",
    "PortState",
    "Ready",
    "Settling",
    "Waiting",
    "WriteReport",
    "broken",
    "lost",
]
