"""Events: one row for each writing verb in each library that it touches."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from engram.model import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.base import Tx

_NAMES = ("library_id", "seq", "leaf_index", "at", "actor_id", "token_id", "verb", "target", "detail", "leaf_hash")
_INSERT = f"insert into event ({', '.join(_NAMES)}) values ({', '.join(f':{name}' for name in _NAMES)})"
_values = attrgetter(*_NAMES)


def insert(tx: Tx, event: Event) -> None:
    """Append an event; its seq comes from the locked library."""
    tx.run(_INSERT, **dict(zip(_NAMES, _values(event), strict=True)))


def of_library(tx: Tx, library_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[Event]:
    """A library's events in order."""
    rows = tx.all(
        f"""
        select {", ".join(_NAMES)} from event where library_id = :library_id and seq > :after
        order by seq limit :limit
        """,
        library_id=library_id,
        after=after,
        limit=limit,
    )
    return [Event(**dict(zip(_NAMES, row, strict=True))) for row in rows]
