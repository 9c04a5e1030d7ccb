"""steadyhand drives a robot arm from far away, and never replays old motion.

`connect` leads an arm; what it raises stands beside it. Everything is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steadyhand.edge.motion_csv import load_motion
    from steadyhand.ground.errors import InputError, SteadyhandError
    from steadyhand.nodes.operator.addresses import OperatorAddresses
    from steadyhand.nodes.operator.api import connect
    from steadyhand.nodes.operator.arm import Arm
    from steadyhand.nodes.operator.errors import (
        ArmError,
        EngineFailed,
        LinkLost,
        NotEngaged,
        Refused,
        Stopped,
    )
    from steadyhand.nodes.operator.summary import StreamSummary

__version__ = "0.1.0"

__all__ = [
    "Arm",
    "ArmError",
    "EngineFailed",
    "InputError",
    "LinkLost",
    "NotEngaged",
    "OperatorAddresses",
    "Refused",
    "SteadyhandError",
    "Stopped",
    "StreamSummary",
    "__version__",
    "connect",
    "load_motion",
]

_ERRORS = "steadyhand.nodes.operator.errors"
_HOMES = {
    "Arm": "steadyhand.nodes.operator.arm",
    "ArmError": _ERRORS,
    "EngineFailed": _ERRORS,
    "InputError": "steadyhand.ground.errors",
    "LinkLost": _ERRORS,
    "NotEngaged": _ERRORS,
    "OperatorAddresses": "steadyhand.nodes.operator.addresses",
    "Refused": _ERRORS,
    "SteadyhandError": "steadyhand.ground.errors",
    "Stopped": _ERRORS,
    "StreamSummary": "steadyhand.nodes.operator.summary",
    "connect": "steadyhand.nodes.operator.api",
    "load_motion": "steadyhand.edge.motion_csv",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for (PEP 562): a command that needs none of it starts without it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'steadyhand' has no attribute {name!r}")
    found = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
