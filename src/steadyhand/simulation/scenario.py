"""What is played, in virtual time or over sockets: who sends what, over which link, into what."""

import math
from typing import Final

import msgspec

from steadyhand.core.link import LinkProfile
from steadyhand.ground.config import CommunicationConfig, Copies
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion
from steadyhand.ground.stamps import NS_PER_S, ns_from_s
from steadyhand.simulation.script import Script

STATE_BYTES: Final = 400
"""Size of one described action in a datagram (document 000 §11, "real ~400-byte states")."""

DEPLOYED: Final = CommunicationConfig(
    publish_rate_hz=100.0,
    playout_buffer_ms=200.0,
    playout_underrun_estop_after_ms=20.0,
)
"""What runs without a robot file: the deployed 200 ms at 100 Hz, stall policy armed, fixed depth."""


class Restart(msgspec.Struct, frozen=True):
    """The sender dies at `at_s` and starts again `gap_s` later, counting from zero."""

    at_s: float
    gap_s: float


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One run, whole.

    Attributes:
        motion: what the leader does.
        link: the network, one direction.
        communication: rate and playout keys, as in a robot file.
        redundancy: previous setpoints in each datagram, or "auto" (R4).
        duration_s: how long the sender runs, seconds.
        drift_ppm: the sender's clock against the receiver's; positive is a fast sender.
        seed: of the link's dice.
        restarts: when the sender restarts, in order.
        recover_s: how long after a stop the operator has reset and engaged again; negative: never.
        state_bytes: size of one setpoint in a datagram.
        script: what is done to the run on purpose (`simulation.script`).

    Raises:
        InputError: a figure that is not finite or out of range, named.
    """

    motion: Motion
    link: LinkProfile
    communication: CommunicationConfig = DEPLOYED
    redundancy: Copies = "auto"
    duration_s: float = 60.0
    drift_ppm: float = 0.0
    seed: int = 0
    restarts: tuple[Restart, ...] = ()
    recover_s: float = 1.0
    state_bytes: int = STATE_BYTES
    script: Script = "none"

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated, naming the option."""
        self._within("duration", self.duration_s, 0.1, 86_400.0, "seconds")
        self._within("drift-ppm", self.drift_ppm, -100_000.0, 100_000.0, "ppm")
        self._within("recover", self.recover_s, -math.inf, 86_400.0, "seconds")
        self.check_period(self.communication.period_ns)
        ends_s = 0.0
        for restart in self.restarts:
            self._within("restart", restart.gap_s, 0.0, 86_400.0, "seconds of gap")
            if not (math.isfinite(restart.at_s) and restart.at_s > ends_s):
                raise InputError(
                    f"restart at {restart.at_s:g} s does not come after {ends_s:g} s",
                    where="--restart",
                    hint="give restarts in order, none inside the gap of another",
                )
            if restart.at_s >= self.duration_s:
                raise InputError(
                    f"restart at {restart.at_s:g} s comes after the end at {self.duration_s:g} s",
                    where="--restart",
                    hint="raise --duration",
                )
            ends_s = restart.at_s + restart.gap_s

    @staticmethod
    def check_period(period_ns: int) -> None:
        """Refuse a rate that cannot be simulated; who typed it knows by which option.

        Raises:
            InputError: outside 1 to 2000 Hz.
        """
        rate_hz = NS_PER_S / period_ns
        if not 1.0 <= rate_hz <= 2_000.0:
            raise InputError(f"{rate_hz:g} is not within 1 to 2000 Hz", where="publish_rate_hz")

    @staticmethod
    def _within(option: str, value: float, low: float, high: float, unit: str) -> None:
        if not low <= value <= high:
            raise InputError(f"{value:g} is not within {low:g} to {high:g} {unit}", where=f"--{option}")

    @property
    def period_ns(self) -> int:
        """Nominal period of sender and receiver."""
        return self.communication.period_ns

    @property
    def duration_ns(self) -> int:
        """How long the sender runs, nanoseconds of true time."""
        return ns_from_s(self.duration_s)
