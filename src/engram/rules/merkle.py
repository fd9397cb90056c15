"""The Merkle log of a library's events: hashes, roots and proofs of RFC 9162, section 2.1, with SHA-256.

A proof is checked with a few hashes and no database: that an event is in the log (inclusion), and that a
longer log only added to a shorter one (consistency).
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from engram.rules.seal import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.model import Event

EMPTY_ROOT = hashlib.sha256(b"").digest()


def event_leaf(event: Event) -> bytes:
    """An event's leaf as bytes: every field but the hash itself, in the encoding of the seals."""
    return encode(
        (
            event.library_id,
            event.seq,
            event.leaf_index,
            event.at,
            event.actor_id,
            event.token_id,
            event.verb,
            event.target,
            event.detail,
        )
    )


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf, 32 bytes."""
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of two neighbours, 32 bytes; never that of a leaf."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(hashes: Sequence[bytes]) -> bytes:
    """The tree head of leaf hashes, 32 bytes."""
    return _root_of(hashes, 0, len(hashes)) if hashes else EMPTY_ROOT


def _root_of(hashes: Sequence[bytes], start: int, end: int) -> bytes:
    if end - start == 1:
        return hashes[start]
    middle = start + _split(end - start)
    return node_hash(_root_of(hashes, start, middle), _root_of(hashes, middle, end))


def _split(size: int) -> int:
    """The greatest power of two below a size of 2 and more."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_proof(hashes: Sequence[bytes], index: int) -> list[bytes]:
    """The neighbours from a leaf up to the root, the lowest first.

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= index < len(hashes):
        raise ValueError(f"index must be in 0..{len(hashes) - 1}, got {index}")
    path: list[bytes] = []
    start, end = 0, len(hashes)
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            path.append(_root_of(hashes, middle, end))
            end = middle
        else:
            path.append(_root_of(hashes, start, middle))
            start = middle
    return path[::-1]


def consistency_proof(hashes: Sequence[bytes], old_size: int) -> list[bytes]:
    """The hashes that lead from the first ``old_size`` leaves to all of them, the lowest first.

    Raises:
        ValueError: the old size is not 1..len(hashes).
    """
    if not 1 <= old_size <= len(hashes):
        raise ValueError(f"old_size must be in 1..{len(hashes)}, got {old_size}")
    path: list[bytes] = []
    start, end = 0, len(hashes)
    while end != old_size:
        middle = start + _split(end - start)
        if old_size <= middle:
            path.append(_root_of(hashes, middle, end))
            end = middle
        else:
            path.append(_root_of(hashes, start, middle))
            start = middle
    if start:  # the old tree is not a whole subtree here: its last part is needed
        path.append(_root_of(hashes, start, end))
    return path[::-1]


def verify_inclusion(leaf: bytes, *, index: int, size: int, proof: Sequence[bytes], root_hash: bytes) -> bool:
    """Whether a leaf hash stands at an index of the log of that size and root.

    Source: RFC 9162, 2.1.3.2.
    """
    if not 0 <= index < size:
        return False
    position, last, found = index, size - 1, leaf
    for neighbour in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            found = node_hash(neighbour, found)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            found = node_hash(found, neighbour)
        position, last = position >> 1, last >> 1
    return last == 0 and hmac.compare_digest(found, root_hash)


def verify_consistency(
    *, old_size: int, new_size: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether the log of the new size and root begins with the log of the old size and root.

    An empty old log is the beginning of every log, and needs no proof.

    Source: RFC 9162, 2.1.4.2.
    """
    if not 0 <= old_size <= new_size:
        return False
    if old_size in (0, new_size):
        expected = EMPTY_ROOT if old_size == 0 else new_root
        return not proof and hmac.compare_digest(old_root, expected)
    is_whole_subtree = old_size & (old_size - 1) == 0
    path = [old_root, *proof] if is_whole_subtree else list(proof)
    if not proof:
        return False
    position, last = old_size - 1, new_size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    older = newer = path[0]
    for neighbour in path[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            older, newer = node_hash(neighbour, older), node_hash(neighbour, newer)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            newer = node_hash(newer, neighbour)
        position, last = position >> 1, last >> 1
    return last == 0 and hmac.compare_digest(older, old_root) and hmac.compare_digest(newer, new_root)
