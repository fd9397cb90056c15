"""What a sweep reads of each memory: a few numbers, a page at a time by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.rules.decay import Standing

if TYPE_CHECKING:
    from engram.store.base import Tx


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory that may fade."""

    id: str
    standing: Standing


def page(tx: Tx, library_id: str, namespace_id: str, *, after: str, limit: int, is_all: bool) -> list[Fading]:
    """The next live memories of a namespace that decay, in the order of their ids.

    Args:
        tx: A transaction.
        library_id: The library.
        namespace_id: The namespace.
        after: Id of the last one of the page before; empty: from the first on.
        limit: Most of them.
        is_all: Those too that do not decay by themselves; prompts never.
    """
    wanted = "m.kind <> 'prompt'" if is_all else "m.decays = 1"
    rows = tx.all(
        f"""
        select m.id, m.memory_type, m.importance, m.confidence, m.created_at, u.used_at, coalesce(u.uses, 0),
            exists (
                select 1 from tag t where t.library_id = m.library_id and t.memory_id = m.id
                    and t.folded in ('pinned', 'protected')
            )
        from memory m left join usage u on u.library_id = m.library_id and u.memory_id = m.id
        where m.library_id = :library_id and m.namespace_id = :namespace_id and m.id > :after and {wanted}
            and m.archived_at is null
        order by m.id limit :limit
        """,
        library_id=library_id,
        namespace_id=namespace_id,
        after=after,
        limit=limit,
    )
    return [
        Fading(
            row[0],
            Standing(
                memory_type=row[1],
                importance=row[2],
                confidence=row[3],
                created_at=row[4],
                used_at=row[5],
                uses=row[6],
                is_kept=bool(row[7]),
            ),
        )
        for row in rows
    ]
