"""The bad network for real: a user-space proxy that obeys core/link, and tc netem where the kernel has it."""

from steadyhand.edge.impairment.addresses import Forward, parse_forward
from steadyhand.edge.impairment.background import running
from steadyhand.edge.impairment.client import ImpairmentClient
from steadyhand.edge.impairment.proxy import ImpairmentProxy, ProxyConfig
from steadyhand.edge.impairment.status import ProxyStatus

__all__ = [
    "Forward",
    "ImpairmentClient",
    "ImpairmentProxy",
    "ProxyConfig",
    "ProxyStatus",
    "parse_forward",
    "running",
]
