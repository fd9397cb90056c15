"""How many vectors there are, of which model, and of what none can be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.store.memories import place_condition

if TYPE_CHECKING:
    from engram.store.base import Filter, Tx


def by_model(tx: Tx, where: Filter) -> dict[str, int]:
    """Model -> memories in use that have a vector of it."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select o.name, count(*) from (
            select distinct v.model, c.library_id, c.memory_id from memory m
            join chunk c on c.library_id = m.library_id and c.memory_id = m.id
            join chunk_vector v on v.chunk_id = c.id
            where {condition} and (m.archived_at is null or m.archived_why = 'superseded')
        ) found join model o on o.id = found.model group by o.name
        """,
        **params,
    )
    return {row[0]: row[1] for row in rows}


def without(tx: Tx, where: Filter, model: str) -> tuple[int, int]:
    """(memories in use that wait for a vector of the model, those of which none can be made)."""
    condition, params = place_condition(where)
    row = tx.one(
        f"""
        select count(case when is_waiting then 1 end), count(case when not is_waiting and not has_vector then 1 end)
        from (
            select
                exists (
                    select 1 from chunk c join pending p on p.chunk_id = c.id
                    where c.library_id = m.library_id and c.memory_id = m.id
                ) as is_waiting,
                exists (
                    select 1 from chunk c join chunk_vector v on v.chunk_id = c.id join model o on o.id = v.model
                    where c.library_id = m.library_id and c.memory_id = m.id and o.name = :model
                ) as has_vector
            from memory m where {condition} and (m.archived_at is null or m.archived_why = 'superseded')
        ) found
        """,
        model=model,
        **params,
    )
    return (row[0], row[1]) if row else (0, 0)


def chunks_of(tx: Tx, where: Filter, model: str, *, is_only_missing: bool, after: int, limit: int) -> list[int]:
    """The next chunks of memories in use, by id, that can be embedded: those without a vector of the model, or all."""
    condition, params = place_condition(where)
    missing = """
        and not exists (select 1 from chunk_vector v join model o on o.id = v.model
            where v.chunk_id = c.id and o.name = :model)
    """
    rows = tx.all(
        f"""
        select c.id from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where c.id > :after and {condition} and (m.archived_at is null or m.archived_why = 'superseded')
            {missing if is_only_missing else ""}
        order by c.id limit :limit
        """,
        after=after,
        limit=limit,
        **({"model": model} if is_only_missing else {}),
        **params,
    )
    return [row[0] for row in rows]
