"""Bytes and values, and nothing else: frames, payloads, seals and the handshake.

Every decoder takes any bytes and answers a value or a `Rejection`; every encoder writes what a
decoder takes, never more than one datagram, or raises by name. The layouts: `docs/wire.md`.
"""
