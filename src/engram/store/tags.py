"""Tags: rows of their own, compared folded, shown as they were first written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.store.memories import MEMORY_COLUMNS, memory_from, place_condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.model import Memory
    from engram.store.base import Filter, Tx


def add(tx: Tx, *, library_id: str, memory_id: str, folded: str, tag: str) -> bool:
    """Tag a memory; whether it had no such tag."""
    made = tx.all(
        """
        insert into tag (library_id, memory_id, folded, tag) values (:library_id, :memory_id, :folded, :tag)
        on conflict (library_id, memory_id, folded) do nothing returning 1
        """,
        library_id=library_id,
        memory_id=memory_id,
        folded=folded,
        tag=tag,
    )
    return bool(made)


def remove(tx: Tx, *, library_id: str, memory_id: str, folded: str) -> bool:
    """Take a tag off a memory; whether it had it."""
    gone = tx.all(
        """
        delete from tag where library_id = :library_id and memory_id = :memory_id and folded = :folded returning 1
        """,
        library_id=library_id,
        memory_id=memory_id,
        folded=folded,
    )
    return bool(gone)


def of(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The tags of memories ((library id, memory id)), by memory id, in the order of their folded form."""
    if not keys:
        return {}
    rows = tx.all(
        """
        select library_id, memory_id, tag from tag where library_id in :libraries and memory_id in :ids order by folded
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    known = set(keys)
    found: dict[str, list[str]] = {}
    for library_id, memory_id, tag in rows:
        if (library_id, memory_id) in known:
            found.setdefault(memory_id, []).append(tag)
    return found


def spelling(tx: Tx, *, library_id: str, folded: str) -> str | None:
    """How a library first wrote this tag."""
    found: str | None = tx.value(
        "select tag from tag where library_id = :library_id and folded = :folded order by memory_id limit 1",
        library_id=library_id,
        folded=folded,
    )
    return found


def cloud(tx: Tx, where: Filter, limit: int) -> list[tuple[str, int]]:
    """The tags of the live memories that the filter covers: (tag, how many), the most used first, then by name."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select min(t.tag), count(*) from memory m
        join tag t on t.library_id = m.library_id and t.memory_id = m.id
        where {condition} and m.archived_at is null group by t.folded order by count(*) desc, t.folded limit :limit
        """,
        limit=limit,
        **params,
    )
    return [(row[0], row[1]) for row in rows]


def tagged(tx: Tx, where: Filter, limit: int) -> list[Memory]:
    """The newest live memories that the filter, which names tags, covers."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m where {condition} and m.archived_at is null
        order by m.created_at desc, m.number desc, m.library_id limit :limit
        """,
        limit=limit,
        **params,
    )
    return [memory_from(row) for row in rows]
