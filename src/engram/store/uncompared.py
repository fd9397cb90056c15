"""Memories that were not compared with their neighbours yet: the worker does it when their vectors are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.store.memories import MEMORY_COLUMNS, memory_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.model import Memory
    from engram.store.base import Tx


def wait(tx: Tx, *, library_id: str, memory_id: str) -> None:
    """Note that a memory has not been compared with its neighbours yet."""
    tx.run(
        """
        insert into uncompared (library_id, memory_id, since) values (:library_id, :memory_id, :now)
        on conflict (library_id, memory_id) do nothing
        """,
        library_id=library_id,
        memory_id=memory_id,
        now=tx.now,
    )


def waiting(tx: Tx, limit: int) -> list[Memory]:
    """Memories that were not compared with their neighbours yet, and wait for no vector; the oldest first."""
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from uncompared w join memory m on m.library_id = w.library_id and m.id = w.memory_id
        where not exists (
            select 1 from chunk c join pending p on p.chunk_id = c.id
            where c.library_id = m.library_id and c.memory_id = m.id
        )
        order by w.since, w.memory_id limit :limit
        """,
        limit=limit,
    )
    return [memory_from(row) for row in rows]


def is_any(tx: Tx) -> bool:
    """Whether any memory waits to be compared."""
    return bool(tx.value("select count(*) from (select 1 from uncompared limit 1) found"))


def done(tx: Tx, keys: Sequence[tuple[str, str]]) -> None:
    """These memories ((library id, memory id)) were compared."""
    for library_id, memory_id in keys:
        tx.run(
            "delete from uncompared where library_id = :library_id and memory_id = :memory_id",
            library_id=library_id,
            memory_id=memory_id,
        )
