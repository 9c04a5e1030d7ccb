"""The model of a bad network: pure, seeded, in integer nanoseconds."""

from steadyhand.core.link.link import Link
from steadyhand.core.link.profile import JitterKind, LinkProfile, Outage
from steadyhand.core.link.profiles import PROFILES
from steadyhand.core.link.spec import parse_link_spec
from steadyhand.core.link.trace import LOST, PAUSED, GapPolicy, LinkTrace

__all__ = [
    "LOST",
    "PAUSED",
    "PROFILES",
    "GapPolicy",
    "JitterKind",
    "Link",
    "LinkProfile",
    "LinkTrace",
    "Outage",
    "parse_link_spec",
]
