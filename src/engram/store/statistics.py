"""Counts over memories, by SQL alone: no row and no vector is read for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from engram.store.memories import place_condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.base import Filter, Tx


def by(tx: Tx, where: Filter, column: LiteralString) -> dict[str, int]:
    """Value -> live memories that have it, of memory_type or source."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select m.{column}, count(*) from memory m where {condition} and m.archived_at is null
        group by m.{column} order by count(*) desc, m.{column}
        """,
        **params,
    )
    return {row[0]: row[1] for row in rows}


def by_namespace(tx: Tx, where: Filter) -> list[tuple[str, str, int]]:
    """(library, namespace, live memories), the largest first."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select m.library_id, m.namespace_id, count(*) from memory m where {condition} and m.archived_at is null
        group by m.library_id, m.namespace_id order by count(*) desc, m.namespace_id
        """,
        **params,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def names(tx: Tx, library_ids: Sequence[str]) -> list[tuple[str, str, str]]:
    """(library, namespace, its name) of these libraries."""
    rows = tx.all("select library_id, id, name from namespace where library_id in :ids", ids=list(library_ids))
    return [(row[0], row[1], row[2]) for row in rows]


def archived(tx: Tx, where: Filter) -> int:
    """Archived memories."""
    condition, params = place_condition(where)
    count: int = tx.value(f"select count(*) from memory m where {condition} and m.archived_at is not null", **params)
    return count


def with_vector(tx: Tx, where: Filter) -> int:
    """Live memories that have a vector of any model."""
    condition, params = place_condition(where)
    count: int = tx.value(
        f"""
        select count(*) from memory m where {condition} and m.archived_at is null and exists (
            select 1 from chunk c join chunk_vector v on v.chunk_id = c.id
            where c.library_id = m.library_id and c.memory_id = m.id
        )
        """,
        **params,
    )
    return count


def links(tx: Tx, where: Filter) -> int:
    """Links whose two ends are both among the live memories that the filter covers."""
    condition, params = place_condition(where)
    count: int = tx.value(
        f"""
        select count(*) from link k
        join memory m on m.library_id = k.library_id and m.id = k.from_id
        where {condition} and m.archived_at is null and exists (
            select 1 from memory o where o.library_id = k.to_library_id and o.id = k.to_id and o.archived_at is null
                and o.library_id in :inside
        )
        """,
        inside=list(where.library_ids),
        **params,
    )
    return count
