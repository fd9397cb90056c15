"""Seals: keyed BLAKE2b-128 over the values of a row, and their sum over a library.

Whoever changes a row without the key cannot make its seal.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SEAL_BYTES = 16
SUM_MODULUS = 2**48

Value = str | int | float | bytes | bool | None

_NONE = b"n"
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_length_prefix = struct.Struct(">cI").pack
_int_value = struct.Struct(">cq").pack
_float_value = struct.Struct(">cd").pack


def encode(values: Sequence[Value]) -> bytes:
    """The values as bytes, so that two lists have the same bytes only where they are equal.

    Each value is a tag and what follows: ``n`` nothing; ``i`` 8 bytes; ``f`` 8 bytes (IEEE 754); ``s`` UTF-8 and ``b``
    bytes after a length of 4 bytes. All big-endian. Numbers that are equal are encoded alike, for a column gives
    back another type than it was given: a boolean is 0 or 1 (SQLite has no booleans), a whole float is that integer.

    Raises:
        ValueError: a number that no column holds: not a number, or an integer beyond 64 bits.
        TypeError: a value of another type.
    """
    parts: list[bytes] = []
    add = parts.append
    for value in values:
        if isinstance(value, str):
            raw = value.encode()
            add(_length_prefix(b"s", len(raw)))
            add(raw)
        elif value is None:
            add(_NONE)
        else:
            add(_other(value))
    return b"".join(parts)


def _other(value: float | bytes) -> bytes:
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise ValueError("an integer beyond 64 bits is no value of a row")
        return _int_value(b"i", value)
    if isinstance(value, float):
        return _real(value)
    return _length_prefix(b"b", len(value)) + value


def _real(value: float) -> bytes:
    if math.isnan(value):
        raise ValueError("not a number is no value of a row")
    is_integer_too = value.is_integer() and _INT_MIN <= value <= _INT_MAX
    return _int_value(b"i", int(value)) if is_integer_too else _float_value(b"f", value)


def seal(key: bytes, table: str, values: Sequence[Value]) -> bytes:
    """The seal of a row, 16 bytes.

    Args:
        key: The server's key, 1..64 bytes.
        table: The table's name, 1..16 bytes; the same values in another table have another seal.
        values: Every canonical column, in a fixed order.

    Raises:
        ValueError: the key is empty (such a seal anybody could make) or too long, or the table's name is.
    """
    if not key:
        raise ValueError("a seal needs a key")
    person = table.encode()
    return hashlib.blake2b(encode(values), digest_size=SEAL_BYTES, key=key, person=person).digest()


def seal48(seal_bytes: bytes) -> int:
    """The first 6 bytes of a seal as a number, for sums that a database can make."""
    return int.from_bytes(seal_bytes[:6], "big")


def add48(total: int, seal_bytes: bytes) -> int:
    """A library's sum with one more row."""
    return (total + seal48(seal_bytes)) % SUM_MODULUS


def subtract48(total: int, seal_bytes: bytes) -> int:
    """A library's sum with one row less."""
    return (total - seal48(seal_bytes)) % SUM_MODULUS
