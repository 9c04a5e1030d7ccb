"""The operator's end: all that lies between the leader and the socket, as one pure object."""

from steadyhand.core.operator.core import OperatorCore
from steadyhand.core.operator.settings import OperatorSettings

__all__ = ["OperatorCore", "OperatorSettings"]
