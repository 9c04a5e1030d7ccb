"""Latency between two hosts' wall clocks: for a person to read, never to decide on."""


def wall_latency_ms(*, receiver_wall_s: float, sender_wall_s: float) -> float | None:
    """Receiver's wall time minus the sender's, milliseconds; None where that is no time.

    As good as the hosts' clock synchronisation (chrony, PTP), and negative where that is bad
    (document 003, step 6).
    """
    latency_ms = (receiver_wall_s - sender_wall_s) * 1e3
    return latency_ms if -1e12 < latency_ms < 1e12 else None
