"""Reflection tasks: what was asked, over which memories, until when nobody else is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.store.memories import MEMORY_COLUMNS, memory_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.model import Memory
    from engram.store.base import Tx

_COLUMNS = "library_id, id, namespace_id, actor_id, type, evidence, made_at, lease_until, done_at"
_PLAIN = "m.archived_at is null and m.kind not in ('prompt', 'reflection')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to reflect on."""

    library_id: str
    id: str
    namespace_id: str
    actor_id: str
    type: str
    evidence: tuple[str, ...]  # memory ids
    made_at: int
    lease_until: int
    done_at: int | None = None


def insert(tx: Tx, task: Task) -> None:
    """Keep a task."""
    tx.run(
        f"""
        insert into reflection ({_COLUMNS}) values (:library_id, :id, :namespace_id, :actor_id, :type, :evidence,
            :made_at, :lease_until, null)
        """,
        library_id=task.library_id,
        id=task.id,
        namespace_id=task.namespace_id,
        actor_id=task.actor_id,
        type=task.type,
        evidence=json.dumps(task.evidence),
        made_at=task.made_at,
        lease_until=task.lease_until,
    )


def by_id(tx: Tx, library_ids: Sequence[str], task_id: str) -> Task | None:
    """The task with this id in any of the libraries."""
    row = tx.one(
        f"select {_COLUMNS} from reflection where library_id in :ids and id = :id", ids=list(library_ids), id=task_id
    )
    return None if row is None else _task(row)


def leased(tx: Tx, library_id: str, namespace_id: str) -> set[str]:
    """The types for which a task of a namespace is out and not done."""
    rows = tx.all(
        """
        select distinct type from reflection
        where library_id = :library_id and namespace_id = :namespace_id and done_at is null and lease_until > :now
        """,
        library_id=library_id,
        namespace_id=namespace_id,
        now=tx.now,
    )
    return {row[0] for row in rows}


def close(tx: Tx, task: Task) -> None:
    """An insight was stored for it, or there was none."""
    tx.run(
        "update reflection set done_at = :now where library_id = :library_id and id = :id",
        now=tx.now,
        library_id=task.library_id,
        id=task.id,
    )


def _task(row: tuple[object, ...]) -> Task:
    library_id, task_id, namespace_id, actor_id, kind, evidence, made_at, lease_until, done_at = row
    return Task(
        library_id=str(library_id),
        id=str(task_id),
        namespace_id=str(namespace_id),
        actor_id=str(actor_id),
        type=str(kind),
        evidence=tuple(json.loads(str(evidence))),
        made_at=int(str(made_at)),
        lease_until=int(str(lease_until)),
        done_at=None if done_at is None else int(str(done_at)),
    )


def news(tx: Tx, library_ids: Sequence[str]) -> list[tuple[str, str, int, int]]:
    """(library, namespace, memories since the last task, memories in all) of namespaces, the most news first."""
    rows = tx.all(
        f"""
        select m.library_id, m.namespace_id,
            sum(case when m.created_at > coalesce((
                select max(r.made_at) from reflection r
                where r.library_id = m.library_id and r.namespace_id = m.namespace_id
            ), 0) then 1 else 0 end) as fresh, count(*) as total
        from memory m where m.library_id in :ids and {_PLAIN}
        group by m.library_id, m.namespace_id order by 3 desc, 4 desc, 2
        """,
        ids=list(library_ids),
    )
    return [(row[0], row[1], int(row[2]), int(row[3])) for row in rows]


def linked(tx: Tx, library_id: str, namespace_id: str, limit: int) -> list[Memory]:
    """The memories that are like the most others."""
    return _read(
        tx,
        f"""
        select {MEMORY_COLUMNS} from memory m
        join (
            select from_id as id, count(*) as n from link where library_id = :library_id and relation = 'auto_similar'
            group by from_id
        ) k on k.id = m.id
        where m.library_id = :library_id and m.namespace_id = :namespace_id and {_PLAIN}
        order by k.n desc, m.number desc limit :limit
        """,
        library_id,
        namespace_id,
        limit,
    )


def unlinked(tx: Tx, library_id: str, namespace_id: str, limit: int) -> list[Memory]:
    """Memories that nothing is linked to, the most important first."""
    return _read(
        tx,
        f"""
        select {MEMORY_COLUMNS} from memory m
        where m.library_id = :library_id and m.namespace_id = :namespace_id and {_PLAIN}
            and not exists (select 1 from link k where k.library_id = m.library_id and k.from_id = m.id)
            and not exists (select 1 from link k where k.to_library_id = m.library_id and k.to_id = m.id)
        order by m.importance desc, m.number desc limit :limit
        """,
        library_id,
        namespace_id,
        limit,
    )


def ends(tx: Tx, library_id: str, namespace_id: str, limit: int) -> list[Memory]:
    """The oldest and the newest memories, half of each, in the order of what happened."""
    found: dict[str, Memory] = {}
    for order in ("asc", "desc"):
        for memory in _read(
            tx,
            f"""
            select {MEMORY_COLUMNS} from memory m
            where m.library_id = :library_id and m.namespace_id = :namespace_id and {_PLAIN}
            order by coalesce(m.event_at, m.created_at) {order}, m.number {order} limit :limit
            """,
            library_id,
            namespace_id,
            limit // 2,
        ):
            found[memory.id] = memory
    return sorted(found.values(), key=lambda memory: (memory.happened_at, memory.number))


def contradicting(tx: Tx, library_id: str, namespace_id: str, limit: int) -> list[Memory]:
    """The two sides of contradictions that nobody decided."""
    return _read(
        tx,
        f"""
        select {MEMORY_COLUMNS} from memory m
        where m.library_id = :library_id and m.namespace_id = :namespace_id and {_PLAIN} and m.id in (
            select from_id from link where library_id = :library_id and relation = 'contradicts' and settled_at is null
            union
            select to_id from link where to_library_id = :library_id and relation = 'contradicts' and settled_at is null
        ) order by m.number limit :limit
        """,
        library_id,
        namespace_id,
        limit,
    )


def _read(tx: Tx, sql: str, library_id: str, namespace_id: str, limit: int) -> list[Memory]:
    rows = tx.all(sql, library_id=library_id, namespace_id=namespace_id, limit=limit)
    return [memory_from(row) for row in rows]


def insights(tx: Tx, library_ids: Sequence[str], tag: str, limit: int) -> list[Memory]:
    """Stored insights, the newest first; of one tag, if given."""
    tagged = """
        and exists (
            select 1 from tag t where t.library_id = m.library_id and t.memory_id = m.id and t.folded = :tag
        )
    """
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m
        where m.library_id in :ids and m.kind = 'reflection' and m.archived_at is null {tagged if tag else ""}
        order by m.created_at desc, m.number desc limit :limit
        """,
        ids=list(library_ids),
        limit=limit,
        **({"tag": tag} if tag else {}),
    )
    return [memory_from(row) for row in rows]
