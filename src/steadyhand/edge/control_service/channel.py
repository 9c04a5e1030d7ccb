"""Connections of the control service: where to, with which proof, and how soon a dead one is noticed."""

from typing import Any, Final

import grpc

from steadyhand.edge.keys import Identity, MutualTls

KEEPALIVE_MS: Final = 2000
KEEPALIVE_TIMEOUT_MS: Final = 2000
"""A peer that a black hole swallowed is noticed within four seconds, not at the kernel's quarter hour.

Both time-outs say so: newer gRPC judges its pings by one of a minute unless it is told.
"""
MAX_MESSAGE_BYTES: Final = 65_536
"""The largest message is a description with its guards, a few kilobytes; anyone may send to us."""

CLIENT_OPTIONS: Final[tuple[tuple[str, Any], ...]] = (
    # A client of its own connection: an offer of a session belongs to the one it was made on.
    ("grpc.use_local_subchannel_pool", 1),
    # A proxy of the environment is for web pages, not for a robot.
    ("grpc.enable_http_proxy", 0),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
)

SERVER_OPTIONS: Final[tuple[tuple[str, Any], ...]] = (
    # Another process on the same port would take half the calls.
    ("grpc.so_reuseport", 0),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", KEEPALIVE_MS // 4),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
)


def open_channel(target: str, identity: Identity) -> grpc.Channel:
    """A channel that connects at its first call."""
    if isinstance(identity, MutualTls):
        credentials = grpc.ssl_channel_credentials(
            root_certificates=identity.authority,
            private_key=identity.key,
            certificate_chain=identity.certificate,
        )
        return grpc.secure_channel(target, credentials, options=CLIENT_OPTIONS)
    return grpc.insecure_channel(target, options=CLIENT_OPTIONS)


def tcp_target(host: str, port: int) -> str:
    """How gRPC wants to be told a host and a port; an IPv6 literal in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
