"""Named links, each with the measurement or standard its figures come from.

They are stand-ins to start from: tune on a trace of your own site, since a network is its tails.
A test holds that each one behaves as its description says.
"""

from math import inf
from typing import Final

from steadyhand.core.link.profile import LinkProfile, Outage

_PROFILES: Final = (
    LinkProfile(
        name="clean",
        description="The control: a constant millisecond, nothing lost, nothing late.",
        delay_ms=1.0,
    ),
    LinkProfile(
        name="lan",
        # Switched Ethernet: tens of µs a hop; what varies is the two hosts' schedulers.
        description="Wired, one building: 0.3 ms, jitter 0.1 ms, one datagram in a hundred thousand lost.",
        delay_ms=0.3,
        jitter_ms=0.1,
        loss=0.00001,
    ),
    LinkProfile(
        name="wifi",
        # C. Huitema, "The weird case of the wifi latency spikes" (2023), 30,000 datagrams 20 ms
        # apart: round trip p50 4 ms, p95 under 8 ms, 0.12 % lost. Half of that one way; the losses
        # in bursts, since a frame is lost only when all its retries are.
        description="Good Wi-Fi, near the access point: p50 2 ms, p95 4 ms, 0.12 % lost in bursts of 3.",
        delay_ms=1.3,
        jitter_ms=0.9,
        ge_enter_bad=0.0004,
        ge_leave_bad=0.3333,
    ),
    LinkProfile(
        name="wifi_burst",
        # The same link when its radio leaves the channel: about 100 ms for an access point's
        # neighbour scan (D. Bland in SmallNetBuilder, "Wi-Fi ping spikes"). Huitema counts one spike
        # over 100 ms in half a minute; here one in 8 s, so that a minute's run shows several.
        description=(
            "Good Wi-Fi whose radio stalls for 60 to 150 ms, 8 s apart on average, and delivers what it"
            " held in one burst: a 200 ms buffer rides it out."
        ),
        delay_ms=1.3,
        jitter_ms=0.9,
        outage_every_ms=8_000.0,
        outage_random=True,
        outage_ms=60.0,
        outage_max_ms=150.0,
        outage_burst=True,
    ),
    LinkProfile(
        name="stale_replay",
        # Document 000 §1: a relay holds the stream for seconds, then delivers its whole stale tail.
        description=(
            "The delayed-replay incident: a relayed path that every 10 s holds everything for 3 s and"
            " then delivers the whole stale tail at once. The right answer is a stop."
        ),
        delay_ms=40.0,
        jitter_ms=4.0,
        outage_every_ms=10_000.0,
        outage_ms=3_000.0,
        outage_burst=True,
    ),
    LinkProfile(
        name="lte",
        # One way about 25 ms by the scheduling grant alone; correlated, since the grant's cadence
        # and the load persist over datagrams. Handovers as in the measured 5G traces of this
        # project's tests: round trips of 265 to 290 ms, so 130 ms one way.
        description=(
            "Mobile uplink on the move: 25 ms, correlated heavy-tailed jitter 5 ms, 5 Mbit/s with a queue"
            " of 1 s, handovers of 40 to 130 ms held and released."
        ),
        delay_ms=25.0,
        jitter="pareto",
        jitter_ms=5.0,
        jitter_correlation=0.5,
        ge_enter_bad=0.0002,
        ge_leave_bad=0.2,
        rate_kbit_s=5_000.0,
        outage_every_ms=20_000.0,
        outage_random=True,
        outage_ms=40.0,
        outage_max_ms=130.0,
        outage_burst=True,
    ),
    LinkProfile(
        name="satellite",
        # 35,786 km up and as far down: 240 to 270 ms of light (ITU-T G.114 allows 260), the rest
        # is framing and coding. A low-orbit constellation is nearer to delay_ms=20,jitter_ms=6.
        description="Geostationary satellite: 280 ms, normal jitter of 5 ms, 0.2 % lost, 2 Mbit/s.",
        delay_ms=280.0,
        jitter="normal",
        jitter_ms=5.0,
        jitter_correlation=0.8,
        ge_enter_bad=0.0004,
        ge_leave_bad=0.2,
        rate_kbit_s=2_000.0,
    ),
    LinkProfile(
        name="intercontinental",
        # Fibre carries 200 km a millisecond and lies a third longer than the great circle:
        # Frankfurt to Tokyo 9,300 km, so some 60 ms if it went straight, 110 to 130 as it is routed.
        # Parallel paths reorder: the one profile that does.
        description=(
            "Two continents over the open internet: 120 ms, heavy-tailed jitter 1 ms, 0.1 % lost; reorders."
        ),
        delay_ms=120.0,
        jitter="pareto",
        jitter_ms=1.0,
        loss=0.001,
        duplicate=0.0001,
        reorder=True,
    ),
    LinkProfile(
        name="blackhole",
        description="Good Wi-Fi for 5 s, then nothing ever again. The right answer is a stop.",
        delay_ms=1.3,
        jitter_ms=0.9,
        outages=(Outage(start_ms=5_000.0, duration_ms=inf),),
    ),
)

PROFILES: Final[dict[str, LinkProfile]] = {profile.name: profile for profile in _PROFILES}
"""The named links, in order from good to hopeless."""
