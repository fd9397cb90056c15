"""Merged projects: the merge of two namespaces, what it moved, what is still to move."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from engram.model import Memory, Namespace, ProjectMerge
from engram.store.libraries import namespace_from
from engram.store.memories import MEMORY_COLUMNS, memory_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.base import Row, Tx

MERGING, MERGED, UNMERGING = "merging", "merged", "unmerging"

_NAMES = ("library_id", "id", "from_id", "into_id", "actor_id", "at", "state")
_COLUMNS = ", ".join(_NAMES)
_values = attrgetter(*_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a merge did to one memory."""

    memory_id: str
    is_moved: bool  # else it was there already and only gave its topic key away
    was_key: str | None = None  # None: it kept its key
    new_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a namespace holds."""

    live: int
    archived: int
    prompts: int
    last_active: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSpan:
    """A stored chunk's place in its memory's body."""

    id: int
    memory_id: str
    first_char: int
    last_char: int
    length: float


def merge_from(row: Row) -> ProjectMerge:
    """A row of the merge columns as a noun."""
    return ProjectMerge(**dict(zip(_NAMES, row, strict=True)))


def insert(tx: Tx, merge: ProjectMerge) -> None:
    """Note a merge that begins."""
    tx.run(
        f"insert into project_merge ({_COLUMNS}) values ({', '.join(f':{name}' for name in _NAMES)})",
        **dict(zip(_NAMES, _values(merge), strict=True)),
    )


def hold(tx: Tx, merge: ProjectMerge) -> ProjectMerge | None:
    """The merge as it stands, held against change; None once it was taken back."""
    row = tx.one(
        f"select {_COLUMNS} from project_merge where library_id = :library_id and id = :id {tx.for_update}",
        library_id=merge.library_id,
        id=merge.id,
    )
    return merge_from(row) if row else None


def of_libraries(tx: Tx, library_ids: Sequence[str]) -> list[ProjectMerge]:
    """Every merge that stands in the libraries, the last one first."""
    rows = tx.all(
        f"select {_COLUMNS} from project_merge where library_id in :ids order by id desc, library_id",
        ids=list(library_ids),
    )
    return [merge_from(row) for row in rows]


def set_state(tx: Tx, merge: ProjectMerge, state: str) -> None:
    """Note how far a merge is."""
    tx.run(
        "update project_merge set state = :state where library_id = :library_id and id = :id",
        state=state,
        library_id=merge.library_id,
        id=merge.id,
    )


def forget(tx: Tx, merge: ProjectMerge) -> None:
    """Delete a merge that was taken back, and what it noted."""
    for table, column in (("merge_memory", "merge_id"), ("merge_session", "merge_id"), ("project_merge", "id")):
        tx.run(
            f"delete from {table} where library_id = :library_id and {column} = :id",
            library_id=merge.library_id,
            id=merge.id,
        )


def hold_namespaces(tx: Tx, keys: Sequence[tuple[str, str]], *, is_changed: bool) -> list[Namespace]:
    """The namespaces of these (library, id), held in one order: against deletion, or for a change."""
    lock = tx.for_update if is_changed else tx.for_key_share
    rows = tx.all(
        f"""
        select library_id, id, name, folded, created_at, merged_into, takes_from from namespace
        where library_id in :libraries and id in :ids order by library_id, id {lock}
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    return [namespace_from(row) for row in rows]


def lead(tx: Tx, merge: ProjectMerge, *, is_merged: bool) -> None:
    """Let the name of the merged namespace stand for the other one, or for itself again."""
    tx.run(
        "update namespace set merged_into = :into_id where library_id = :library_id and id = :id",
        into_id=merge.into_id if is_merged else None,
        library_id=merge.library_id,
        id=merge.from_id,
    )


def cover(tx: Tx, merge: ProjectMerge, *, is_moving: bool) -> None:
    """Let reads of the target cover both namespaces, as long as memories move between them."""
    tx.run(
        "update namespace set takes_from = :from_id where library_id = :library_id and id = :id",
        from_id=merge.from_id if is_moving else None,
        library_id=merge.library_id,
        id=merge.into_id,
    )


# Memories


def sizes(tx: Tx, merge: ProjectMerge, *, limit: int) -> list[tuple[str, int]]:
    """(id, characters) of the first memories that have yet to move: to the target, or back."""
    if merge.state == UNMERGING:
        source = "m.namespace_id = :into_id and exists (select 1 from merge_memory k where k.library_id = m.library_id"
        source += " and k.memory_id = m.id and k.merge_id = :merge_id and k.is_moved = 1)"
    else:
        source = "m.namespace_id = :from_id"
    key, value = ("into_id", merge.into_id) if merge.state == UNMERGING else ("from_id", merge.from_id)
    given = {"merge_id": merge.id} if merge.state == UNMERGING else {}
    rows = tx.all(
        f"""
        select m.id, length(m.body) from memory m where m.library_id = :library_id and {source}
        order by m.created_at, m.number limit :limit
        """,
        library_id=merge.library_id,
        limit=limit,
        **{key: value},
        **given,
    )
    return [(row[0], row[1]) for row in rows]


def count_left(tx: Tx, merge: ProjectMerge) -> int:
    """How many memories and sessions have yet to move."""
    params = {"library_id": merge.library_id}
    if merge.state == UNMERGING:
        params |= {"merge_id": merge.id}
        memories = "select count(*) from merge_memory where library_id = :library_id and merge_id = :merge_id"
        sessions = "select count(*) from merge_session where library_id = :library_id and merge_id = :merge_id"
    else:
        params |= {"from_id": merge.from_id}
        memories = "select count(*) from memory where library_id = :library_id and namespace_id = :from_id"
        sessions = "select count(*) from session where library_id = :library_id and namespace_id = :from_id"
    total: int = tx.value(f"select ({memories}) + ({sessions})", **params)
    return total


def memories(tx: Tx, *, library_id: str, ids: Sequence[str], is_held: bool = False) -> list[Memory]:
    """The memories with these ids, in order of id; maybe held for change."""
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m where m.library_id = :library_id and m.id in :ids order by m.id
        {tx.for_update if is_held else ""}
        """,
        library_id=library_id,
        ids=list(ids),
    )
    return [memory_from(row) for row in rows]


def spans(tx: Tx, *, library_id: str, memory_ids: Sequence[str], is_held: bool = False) -> list[ChunkSpan]:
    """The chunks of memories, in order of id; maybe held for change."""
    rows = tx.all(
        f"""
        select id, memory_id, first_char, last_char, length from chunk
        where library_id = :library_id and memory_id in :ids order by id {tx.for_update if is_held else ""}
        """,
        library_id=library_id,
        ids=list(memory_ids),
    )
    return [ChunkSpan(id=row[0], memory_id=row[1], first_char=row[2], last_char=row[3], length=row[4]) for row in rows]


def live_keys(tx: Tx, *, library_id: str, namespace_ids: Sequence[str], scope: str, keys: Sequence[str]) -> set[str]:
    """Those of the topic keys that a live memory of the namespaces holds."""
    rows = tx.all(
        """
        select topic_key from memory
        where library_id = :library_id and namespace_id in :namespace_ids and scope = :scope and topic_key in :keys
            and archived_at is null
        """,
        library_id=library_id,
        namespace_ids=list(namespace_ids),
        scope=scope,
        keys=list(keys),
    )
    return {row[0] for row in rows}


def note(tx: Tx, merge: ProjectMerge, trace: Trace) -> None:
    """Note what a merge did to a memory; the first key that it had is the one that it gets back."""
    tx.run(
        """
        insert into merge_memory (library_id, memory_id, merge_id, is_moved, was_key, new_key)
        values (:library_id, :memory_id, :merge_id, :is_moved, :was_key, :new_key)
        on conflict (library_id, memory_id, merge_id) do update set new_key = excluded.new_key,
            was_key = coalesce(merge_memory.was_key, excluded.was_key)
        """,
        library_id=merge.library_id,
        memory_id=trace.memory_id,
        merge_id=merge.id,
        is_moved=int(trace.is_moved),
        was_key=trace.was_key,
        new_key=trace.new_key,
    )


def drop_notes(tx: Tx, merge: ProjectMerge, memory_ids: Sequence[str]) -> None:
    """Delete what was noted of memories that are back."""
    if memory_ids:
        tx.run(
            "delete from merge_memory where library_id = :library_id and merge_id = :merge_id and memory_id in :ids",
            library_id=merge.library_id,
            merge_id=merge.id,
            ids=list(memory_ids),
        )


def traces(tx: Tx, merge: ProjectMerge, ids: Sequence[str]) -> dict[str, Trace]:
    """What was noted of these memories."""
    rows = tx.all(
        """
        select memory_id, is_moved, was_key, new_key from merge_memory
        where library_id = :library_id and merge_id = :merge_id and memory_id in :ids
        """,
        library_id=merge.library_id,
        merge_id=merge.id,
        ids=list(ids),
    )
    return {row[0]: Trace(memory_id=row[0], is_moved=bool(row[1]), was_key=row[2], new_key=row[3]) for row in rows}


def rekeyed(tx: Tx, merge: ProjectMerge, *, is_there: bool = False, limit: int = 1_000) -> list[Trace]:
    """The memories that got another topic key, in order of id; ``is_there``: only those that did not move."""
    rows = tx.all(
        f"""
        select memory_id, is_moved, was_key, new_key from merge_memory
        where library_id = :library_id and merge_id = :merge_id and was_key is not null
            {"and is_moved = 0" if is_there else ""}
        order by memory_id limit :limit
        """,
        library_id=merge.library_id,
        merge_id=merge.id,
        limit=limit,
    )
    return [Trace(memory_id=row[0], is_moved=bool(row[1]), was_key=row[2], new_key=row[3]) for row in rows]


def count_moved(tx: Tx, merge: ProjectMerge) -> tuple[int, int]:
    """How many memories and sessions a merge moved."""
    row = tx.all(
        """
        select (select count(*) from merge_memory where library_id = :library_id and merge_id = :id and is_moved = 1),
            (select count(*) from merge_session where library_id = :library_id and merge_id = :id)
        """,
        library_id=merge.library_id,
        id=merge.id,
    )[0]
    return row[0], row[1]


# Sessions


def move_sessions(tx: Tx, merge: ProjectMerge, *, limit: int) -> list[str]:
    """Move the next sessions to the target and note them, or back; returns their ids."""
    if merge.state == UNMERGING:
        found = tx.all(
            """
            select session_id from merge_session where library_id = :library_id and merge_id = :merge_id
            order by session_id limit :limit
            """,
            library_id=merge.library_id,
            merge_id=merge.id,
            limit=limit,
        )
    else:
        found = tx.all(
            """
            select id from session where library_id = :library_id and namespace_id = :from_id
            order by id limit :limit
            """,
            library_id=merge.library_id,
            from_id=merge.from_id,
            limit=limit,
        )
    ids = [row[0] for row in found]
    if not ids:
        return []
    is_back = merge.state == UNMERGING
    tx.run(
        """
        update session set namespace_id = :to_id
        where library_id = :library_id and id in :ids and namespace_id = :at_id
        """,
        to_id=merge.from_id if is_back else merge.into_id,
        at_id=merge.into_id if is_back else merge.from_id,
        library_id=merge.library_id,
        ids=ids,
    )
    if is_back:
        tx.run(
            "delete from merge_session where library_id = :library_id and merge_id = :merge_id and session_id in :ids",
            library_id=merge.library_id,
            merge_id=merge.id,
            ids=ids,
        )
    else:
        for session_id in ids:
            tx.run(
                "insert into merge_session (library_id, merge_id, session_id) values (:library_id, :merge_id, :id)",
                library_id=merge.library_id,
                merge_id=merge.id,
                id=session_id,
            )
    return ids


# Projects


def counted(tx: Tx, library_ids: Sequence[str]) -> dict[tuple[str, str], Counted]:
    """What each namespace of the libraries holds, by (library, id)."""
    found: dict[tuple[str, str], Counted] = {}
    rows = tx.all(
        """
        select library_id, namespace_id,
            sum(case when archived_at is null and kind <> 'prompt' then 1 else 0 end),
            sum(case when archived_at is not null then 1 else 0 end),
            sum(case when archived_at is null and kind = 'prompt' then 1 else 0 end),
            max(updated_at)
        from memory where library_id in :ids group by library_id, namespace_id
        """,
        ids=list(library_ids),
    )
    for library_id, namespace_id, live, archived, prompts, at in rows:
        found[library_id, namespace_id] = Counted(
            live=int(live), archived=int(archived), prompts=int(prompts), last_active=at
        )
    active = tx.all(
        "select library_id, namespace_id, max(active_at) from session where library_id in :ids group by 1, 2",
        ids=list(library_ids),
    )
    for library_id, namespace_id, at in active:
        known = found.get((library_id, namespace_id))
        found[library_id, namespace_id] = Counted(
            live=known.live if known else 0,
            archived=known.archived if known else 0,
            prompts=known.prompts if known else 0,
            last_active=max(at, known.last_active if known else 0),
        )
    return found
