"""What a codec is: a value ⇄ its only bytes. Strict both ways; each failure has its own error.

Packed values are MessagePack with map keys in order and floats of eight bytes. One value has one
encoding: a decoder encodes what it read and refuses bytes that differ, since logs are compared by bytes.
"""

import struct
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from steadyhand.runlog.faults import (
    MalformedPayload,
    NotCanonical,
    PayloadFault,
    PayloadTruncated,
    TrailingBytes,
    Unrecordable,
)
from steadyhand.runlog.layouts import Layout, json_layout, packed_layout

T = TypeVar("T")

Check = Callable[[T], PayloadFault | None]
"""What a value has to fulfil beyond its type: the fault, or None."""


class Codec(Protocol):
    """One channel's payload."""

    @property
    def layout(self) -> Layout:
        """For the schema record."""

    def encode(self, value: Any) -> bytes:
        """The bytes of a value. Raises Unrecordable where `decode` would refuse them."""

    def decode(self, payload: bytes) -> Any:
        """The value of these bytes. Raises a PayloadFault and nothing else."""


class FixedCodec(Generic[T]):
    """A layout of its own, packed by two functions.

    Args:
        layout: written down for other readers.
        write: value to bytes.
        read: bytes to value; raises a PayloadFault, and ValueError for nothing.
    """

    def __init__(self, layout: Layout, write: Callable[[T], bytes], read: Callable[[bytes], T]) -> None:
        self.layout: Layout = {"encoding": "fixed", **layout}
        self._write = write
        self.decode = read

    def encode(self, value: T) -> bytes:
        """The bytes of a value, read back once: what a reader would refuse is not written."""
        try:
            payload = self._write(value)
            self.decode(payload)
        except PayloadFault as fault:
            raise Unrecordable(f"not recorded: {fault}") from None
        except (ValueError, OverflowError, TypeError, struct.error) as error:
            raise Unrecordable(f"not recorded: {error}") from error
        return payload


class PackedCodec(Generic[T]):
    """A msgspec type as MessagePack.

    Args:
        kind: the type, a Struct or a union of tagged ones.
        check: what it has to fulfil beyond its type.
    """

    def __init__(self, kind: Any, check: Check[T] | None = None) -> None:
        self.layout = packed_layout(kind)
        self._encode = msgspec.msgpack.Encoder(order="deterministic").encode
        self._decode: Callable[[bytes], T] = msgspec.msgpack.Decoder(kind).decode
        self._check = check

    def encode(self, value: T) -> bytes:
        """The bytes of a value."""
        return _encoded(value, self._encode, self._check)

    def decode(self, payload: bytes) -> T:
        """The value of these bytes, if they are the ones that `encode` writes."""
        return _decoded(payload, self._decode, self._encode, self._check)


class JsonCodec(Generic[T]):
    """A msgspec type as JSON, its keys in the order they come in.

    Args:
        kind: the type.
        check: what it has to fulfil beyond its type.
        sort_keys: whether maps are written in the order of their keys.
    """

    def __init__(self, kind: Any, check: Check[T] | None = None, *, sort_keys: bool = False) -> None:
        self.layout = json_layout(kind)
        self._encode = msgspec.json.Encoder(order="deterministic" if sort_keys else None).encode
        self._decode: Callable[[bytes], T] = msgspec.json.Decoder(kind).decode
        self._check = check

    def encode(self, value: T) -> bytes:
        """The bytes of a value."""
        return _encoded(value, self._encode, self._check)

    def decode(self, payload: bytes) -> T:
        """The value of these bytes, if they are the ones that `encode` writes."""
        return _decoded(payload, self._decode, self._encode, self._check)


def _encoded(value: T, encode: Callable[[Any], bytes], check: Check[T] | None) -> bytes:
    fault = None if check is None else check(value)
    if fault is not None:
        raise Unrecordable(f"not recorded: {fault}")
    try:
        return encode(value)
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        raise Unrecordable(f"not recorded: {error}") from error


def _decoded(
    payload: bytes, decode: Callable[[bytes], T], encode: Callable[[Any], bytes], check: Check[T] | None
) -> T:
    try:
        value = decode(payload)
        again = encode(value)
    except (ValueError, OverflowError, TypeError, RecursionError) as error:
        raise _fault_of(error) from None
    if again != payload:
        raise NotCanonical("readable, but not written as the log writes it")
    fault = None if check is None else check(value)
    if fault is not None:
        raise fault
    return value


def _fault_of(error: Exception) -> PayloadFault:
    """Our name for what msgspec found."""
    said = str(error) if isinstance(error, msgspec.DecodeError) else type(error).__name__
    if "truncated" in said:
        return PayloadTruncated("ends before its value does")
    if "trailing characters" in said:
        return TrailingBytes("bytes follow the value")
    return MalformedPayload(said)
