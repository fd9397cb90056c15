"""What is to be known of a memory beside its text: what it conflicts with, what follows it, what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.model import CONTRADICTS, DERIVED_FROM, SUPERSEDES
from engram.store import links
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.engine.access import Reach
    from engram.model import Memory
    from engram.store.base import Tx

SHOWN_MAX = 5  # marks of a memory


def of(tx: Tx, who: Reach, memories: Sequence[Memory], *, has_sources: bool = False) -> dict[str, tuple[str, ...]]:
    """Memory id -> its marks, in words, with the ids by which the caller knows the others.

    Args:
        tx: A transaction.
        who: Whoever reads; what they may not see is not named.
        memories: Whose marks.
        has_sources: Also what a memory was derived from and what it supersedes.
    """
    if not memories:
        return {}
    keys = [(memory.library_id, memory.id) for memory in memories]
    relations = [CONTRADICTS, SUPERSEDES, *([DERIVED_FROM] if has_sources else [])]
    found = links.touching(tx, keys, relations=relations)
    others = [(k.library_id, k.from_id) for k in found] + [(k.to_library_id, k.to_id) for k in found]
    read = rows.by_keys(tx, list(dict.fromkeys(others))) if found else {}
    marks: dict[str, list[str]] = {memory.id: [] for memory in memories}
    for link in found:
        one, other = read.get(link.from_id), read.get(link.to_id)
        if one is None or other is None or not {one.library_id, other.library_id} <= set(who.libraries):
            continue
        if link.relation == CONTRADICTS and link.settled_at is None and not (one.is_hidden or other.is_hidden):
            _add(marks, one.id, f"conflicts with {who.label(other)}")
            _add(marks, other.id, f"conflicts with {who.label(one)}")
        elif link.relation == SUPERSEDES and other.is_archived:
            _add(marks, other.id, f"superseded by {who.label(one)}")
            if has_sources:
                _add(marks, one.id, f"supersedes {who.label(other)}")
        elif link.relation == DERIVED_FROM:
            _add(marks, one.id, f"derived from {who.label(other)}")
    return {key: tuple(each) for key, each in marks.items() if each}


def _add(marks: dict[str, list[str]], key: str, mark: str) -> None:
    if key in marks and len(marks[key]) < SHOWN_MAX and mark not in marks[key]:
        marks[key].append(mark)
