"""The operator node: `OperatorCore` on real sockets, and an arm in a program's hands."""

from steadyhand.nodes.operator.addresses import OperatorAddresses
from steadyhand.nodes.operator.api import connect
from steadyhand.nodes.operator.arm import Arm

__all__ = ["Arm", "OperatorAddresses", "connect"]
