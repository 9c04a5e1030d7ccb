"""The control service's two ends on the network: its table of calls, and its client."""

from steadyhand.edge.control_service.agreement import agreed_hash
from steadyhand.edge.control_service.client import ControlClient
from steadyhand.edge.control_service.errors import CallFault, ControlError
from steadyhand.edge.control_service.methods import METHODS, SERVICE, Method
from steadyhand.edge.control_service.opening import Opened, OpenRefused, OpenWish
from steadyhand.edge.control_service.streams import ActionStream, ControlEvent, EventWatch

__all__ = [
    "METHODS",
    "SERVICE",
    "ActionStream",
    "CallFault",
    "ControlClient",
    "ControlError",
    "ControlEvent",
    "EventWatch",
    "Method",
    "OpenRefused",
    "OpenWish",
    "Opened",
    "agreed_hash",
]
