"""Memories, their versions and their use: the rows behind the one noun."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engram.model import Memory, Namespace, Version
from engram.store import links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.base import Filter, Row, Tx

_NAMES = (
    "library_id", "id", "number", "namespace_id", "session_id", "kind", "memory_type", "type_given", "title", "body",
    "format", "concept", "topic_key", "scope", "importance", "confidence", "source", "author_id", "trigger_pattern",
    "action_pattern", "content_hash", "same_hash", "salt", "revision", "decays", "event_at", "valid_from", "valid_to",
    "created_at", "updated_at", "archived_at", "archived_why", "erase_at", "head_sha",
)  # fmt: skip
_WITH_SEAL = (*_NAMES, "seal")
_NUMBER = _NAMES.index("number")
_BODY = _WITH_SEAL.index("body")
MEMORY_COLUMNS = ", ".join(f"m.{name}" for name in _WITH_SEAL)
_INSERT = f"insert into memory ({', '.join(_WITH_SEAL)}) values ({', '.join(f':{name}' for name in _WITH_SEAL)})"
_UPDATE = f"""
    update memory set {", ".join(f"{name} = :{name}" for name in _WITH_SEAL)}
    where library_id = :was_library_id and id = :was_id
"""
_sealed_values = attrgetter(*_NAMES)

_VERSION = (
    "library_id", "memory_id", "n", "commit_sha", "parent_sha", "author_id", "message", "at", "title", "body", "kind",
    "salt",
)  # fmt: skip
_version_values = attrgetter(*_VERSION)

ERASED = "(erased)"


def memory_from(row: Row) -> Memory:
    """A row of MEMORY_COLUMNS as a noun."""
    values = dict(zip(_WITH_SEAL, row, strict=True))
    values["type_given"] = bool(values["type_given"])
    values["decays"] = bool(values["decays"])
    return Memory(**values)


def sealed(tx: Tx, memory: Memory, *, number: int | None = None) -> Memory:
    """The memory with the seal of its present values, and of its number if it gets one now."""
    values = _sealed_values(memory)
    if number is None:
        return replace(memory, seal=tx.seal("memory", values))
    return replace(memory, number=number, seal=tx.seal("memory", (*values[:_NUMBER], number, *values[_NUMBER + 1 :])))


def _row(memory: Memory) -> dict[str, Any]:
    values: dict[str, Any] = dict(zip(_WITH_SEAL, (*_sealed_values(memory), memory.seal), strict=True))
    values["type_given"], values["decays"] = int(memory.type_given), int(memory.decays)
    return values


def insert(tx: Tx, memory: Memory) -> None:
    """Add a sealed memory."""
    tx.run(_INSERT, **_row(memory))


def update(tx: Tx, memory: Memory, *, was: Memory) -> None:
    """Store a sealed memory's present values over those of ``was`` (which may be of another library)."""
    tx.run(_UPDATE, **_row(memory), was_library_id=was.library_id, was_id=was.id)


def erase(tx: Tx, memory: Memory) -> None:
    """Delete the row; versions, links, tags and uses go with it."""
    tx.run("delete from memory where library_id = :library_id and id = :id", library_id=memory.library_id, id=memory.id)
    tx.run(
        "delete from uncompared where library_id = :library_id and memory_id = :id",
        library_id=memory.library_id,
        id=memory.id,
    )


def by_uuid(tx: Tx, *, library_ids: Sequence[str], memory_id: str, is_held: bool = False) -> Memory | None:
    """The memory with this UUID in any of the libraries."""
    return _one(tx, "m.library_id in :ids and m.id = :id", is_held=is_held, ids=list(library_ids), id=memory_id)


def by_number(tx: Tx, *, library_id: str, number: int, is_held: bool = False) -> Memory | None:
    """The memory with this number in the library."""
    return _one(tx, "m.library_id = :library_id and m.number = :number", is_held=is_held, library_id=library_id,
                number=number)  # fmt: skip


def by_topic(tx: Tx, *, library_id: str, namespace_id: str, scope: str, topic_key: str) -> Memory | None:
    """The live memory that holds the topic key in this place."""
    return _one(
        tx,
        """
        m.library_id = :library_id and m.namespace_id = :namespace_id and m.scope = :scope
        and m.topic_key = :topic_key and m.archived_at is null
        """,
        is_held=True,
        library_id=library_id,
        namespace_id=namespace_id,
        scope=scope,
        topic_key=topic_key,
    )


def topics(tx: Tx, where: Filter, topic_key: str, limit: int) -> list[Memory]:
    """The live memories that hold the topic key anywhere the filter covers."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m
        where {condition} and m.topic_key = :topic_key and m.archived_at is null order by m.id limit :limit
        """,
        topic_key=topic_key,
        limit=limit,
        **params,
    )
    return [memory_from(row) for row in rows]


def _one(tx: Tx, condition: str, *, is_held: bool, **params: Any) -> Memory | None:  # noqa: ANN401 - bound values
    lock = f"{tx.for_update} of m" if is_held and tx.for_update else ""
    row = tx.one(f"select {MEMORY_COLUMNS} from memory m where {condition} {lock}", **params)
    return memory_from(row) if row else None


def same(tx: Tx, *, library_id: str, namespace_id: str, same_hash: str) -> list[tuple[Memory, int, int | None]]:
    """Live memories of the namespace with this normalised hash, newest first: (memory, times seen, last seen)."""
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS}, coalesce(u.duplicates, 1), u.seen_at from memory m
        left join usage u on u.library_id = m.library_id and u.memory_id = m.id
        where m.library_id = :library_id and m.namespace_id = :namespace_id and m.same_hash = :same_hash
            and m.archived_at is null
        order by m.created_at + 0 desc, m.number desc -- an expression: the hash's index, not that of the order
        """,
        library_id=library_id,
        namespace_id=namespace_id,
        same_hash=same_hash,
    )
    return [(memory_from(row[:-2]), row[-2], row[-1]) for row in rows]


def same_content(tx: Tx, *, library_id: str, namespace_id: str, same_hash: str, content_hash: str) -> list[Memory]:
    """Memories of the namespace with exactly this text, archived ones too, the newest first."""
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m
        where m.library_id = :library_id and m.namespace_id = :namespace_id and m.same_hash = :same_hash
            and m.content_hash = :content_hash and m.kind <> 'prompt'
        order by m.created_at + 0 desc, m.number desc -- an expression: the hash's index, not that of the order
        """,
        library_id=library_id,
        namespace_id=namespace_id,
        same_hash=same_hash,
        content_hash=content_hash,
    )
    return [memory_from(row) for row in rows]


def note_repeat(tx: Tx, memory: Memory) -> int:
    """Count one more save of the same text; returns how often it was seen."""
    times: int = tx.value(
        """
        insert into usage (library_id, memory_id, uses, duplicates, seen_at)
        values (:library_id, :id, 0, 2, :now)
        on conflict (library_id, memory_id) do update set duplicates = usage.duplicates + 1, seen_at = :now
        returning duplicates
        """,
        library_id=memory.library_id,
        id=memory.id,
        now=tx.now,
    )
    return times


def move_usage(tx: Tx, memory: Memory, *, was: Memory) -> None:
    """Let the use counts, tags, chunks and versions follow a memory to another library; a version's seal covers it."""
    for version in versions(tx, was, limit=count_versions(tx, was)):
        moved = replace(version, library_id=memory.library_id)
        tx.run(
            """
            update version set library_id = :library_id, seal = :seal
            where library_id = :was and memory_id = :id and n = :n
            """,
            library_id=moved.library_id,
            seal=tx.seal("version", _version_values(moved)),
            was=was.library_id,
            id=version.memory_id,
            n=version.n,
        )
    tx.run(
        "delete from merge_memory where library_id = :was and memory_id = :id",  # no unmerge brings it back from there
        was=was.library_id,
        id=was.id,
    )
    links.move(tx, memory, was=was)
    for table in ("usage", "tag", "chunk", "uncompared"):
        tx.run(
            f"update {table} set library_id = :library_id where library_id = :was and memory_id = :id",
            library_id=memory.library_id,
            was=was.library_id,
            id=memory.id,
        )


def duplicates(tx: Tx, memory: Memory) -> int:
    """How often the same text was saved."""
    found: int | None = tx.value(
        "select duplicates from usage where library_id = :library_id and memory_id = :id",
        library_id=memory.library_id,
        id=memory.id,
    )
    return found or 1


def place_condition(where: Filter) -> tuple[str, dict[str, Any]]:
    """The filter as a condition over ``memory m``: prompts are a place of their own."""
    parts: list[str] = []
    params: dict[str, Any] = {}
    for i, place in enumerate(where.places):
        params[f"l{i}"] = place.library_id
        part = f"m.library_id = :l{i}"
        if place.namespace_id:
            params[f"n{i}"] = place.namespace_id
            part += f" and m.namespace_id = :n{i}"
        if place.place == "prompt":
            part += " and m.kind = 'prompt'"
        else:
            params[f"s{i}"] = place.place
            part += f" and m.scope = :s{i} and m.kind <> 'prompt'"
        parts.append(f"({part})")
    condition = f"({' or '.join(parts)})" if parts else "(1 = 0)"
    if where.types:
        params["types"] = list(where.types)
        condition += " and (m.kind in :types or m.memory_type in :types)"
    for name, values in (("memory_type", where.memory_types), ("source", where.sources)):
        if values:
            params[f"{name}s"] = list(values)
            condition += f" and m.{name} in :{name}s"
    if where.tags:
        params["tags"] = list(where.tags)
        condition += """ and exists (
            select 1 from tag t where t.library_id = m.library_id and t.memory_id = m.id and t.folded in :tags
        )"""
    return condition, params


def recent(tx: Tx, where: Filter, limit: int) -> list[Memory]:
    """The newest live memories that the filter covers."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m where {condition} and m.archived_at is null
        order by m.created_at desc, m.number desc limit :limit
        """,
        limit=limit,
        **params,
    )
    return [memory_from(row) for row in rows]


def page(tx: Tx, where: Filter, *, after: tuple[int, int, str] | None, limit: int) -> list[Memory]:
    """The next live memories that the filter covers, newest first.

    Args:
        where: What is covered.
        after: (created_at, number, library id) of the last memory that was listed; None: from the newest on.
        limit: Most memories.
    """
    condition, params = place_condition(where)
    if after:
        condition += " and (m.created_at, m.number, m.library_id) < (:at, :number, :library_id)"
        params |= dict(zip(("at", "number", "library_id"), after, strict=True))
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m where {condition} and m.archived_at is null
        order by m.created_at desc, m.number desc, m.library_id desc limit :limit
        """,
        limit=limit,
        **params,
    )
    return [memory_from(row) for row in rows]


def by_keys(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[str, Memory]:
    """Memories by UUID, for (library, id) keys."""
    if not keys:
        return {}
    rows = tx.all(
        f"select {MEMORY_COLUMNS} from memory m where m.library_id in :libraries and m.id in :ids",
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    wanted = set(keys)
    return {row[1]: memory_from(row) for row in rows if (row[0], row[1]) in wanted}


def beside(tx: Tx, memory: Memory, *, limit: int, is_before: bool) -> list[Memory]:
    """Live neighbours in the same session (else the same namespace and scope), nearest first."""
    at = memory.event_at if memory.event_at is not None else memory.created_at
    column, value = ("session_id", memory.session_id) if memory.session_id else ("namespace_id", memory.namespace_id)
    sign, order = ("<", "desc") if is_before else (">", "asc")
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from memory m
        where m.library_id = :library_id and m.{column} = :value and m.archived_at is null
            and (coalesce(m.event_at, m.created_at), m.number) {sign} (:at, :number)
        order by coalesce(m.event_at, m.created_at) {order}, m.number {order} limit :limit
        """,
        library_id=memory.library_id,
        value=value,
        at=at,
        number=memory.number,
        limit=limit,
    )
    return [memory_from(row) for row in rows]


def count_beside(tx: Tx, memory: Memory) -> int:
    """How many live memories the session (else the namespace) holds."""
    column, value = ("session_id", memory.session_id) if memory.session_id else ("namespace_id", memory.namespace_id)
    total: int = tx.value(
        f"select count(*) from memory m where m.library_id = :l and m.{column} = :value and m.archived_at is null",
        l=memory.library_id,
        value=value,
    )
    return total


def session_counts(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[str, int]:
    """How many live memories each session holds."""
    if not keys:
        return {}
    rows = tx.all(
        """
        select session_id, count(*) from memory
        where library_id in :libraries and session_id in :ids and archived_at is null group by session_id
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    return {row[0]: row[1] for row in rows}


def summary_of(tx: Tx, *, library_id: str, session_id: str) -> Memory | None:
    """The newest live summary of a session."""
    row = tx.one(
        f"""
        select {MEMORY_COLUMNS} from memory m
        where m.library_id = :library_id and m.session_id = :session_id and m.kind = 'session_summary'
            and m.archived_at is null
        order by m.updated_at desc, m.number desc limit 1
        """,
        library_id=library_id,
        session_id=session_id,
    )
    return memory_from(row) if row else None


def summary_texts(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The text of the newest live summary of each session that has one."""
    if not keys:
        return {}
    rows = tx.all(
        """
        select session_id, body from memory
        where library_id in :libraries and session_id in :ids and kind = 'session_summary' and archived_at is null
        order by updated_at, number
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    return {row[0]: row[1] for row in rows}


def counts(tx: Tx, library_ids: Sequence[str]) -> list[tuple[str, str, str, bool, int]]:
    """(library, namespace, kind, whether archived, how many) of the libraries' memories."""
    rows = tx.all(
        """
        select library_id, namespace_id, kind, archived_at is not null as gone, count(*) from memory
        where library_id in :ids group by library_id, namespace_id, kind, archived_at is not null
        """,
        ids=list(library_ids),
    )
    return [(row[0], row[1], row[2], bool(row[3]), row[4]) for row in rows]


# Versions


def insert_version(tx: Tx, version: Version) -> None:
    """Add a version."""
    tx.run(
        f"insert into version ({', '.join(_VERSION)}, seal) values ({', '.join(f':{n}' for n in _VERSION)}, :seal)",
        **dict(zip(_VERSION, _version_values(version), strict=True)),
        seal=tx.seal("version", _version_values(version)),
    )


def blank_version(tx: Tx, version: Version) -> None:
    """Take a version's title, text and salt away; its message repeats the title, so that goes too."""
    verb = version.message.partition(":")[0]
    blank = replace(version, title=ERASED, body=None, message=f"{verb}: {ERASED}", salt=b"")
    tx.run(
        """
        update version set title = :title, body = null, message = :message, salt = :salt, seal = :seal
        where library_id = :library_id and memory_id = :memory_id and n = :n
        """,
        title=blank.title,
        message=blank.message,
        salt=blank.salt,
        seal=tx.seal("version", _version_values(blank)),
        library_id=blank.library_id,
        memory_id=blank.memory_id,
        n=blank.n,
    )


def versions(tx: Tx, memory: Memory, *, limit: int, offset: int = 0) -> list[Version]:
    """The versions of a memory, newest first."""
    rows = tx.all(
        f"""
        select {", ".join(_VERSION)}, seal from version where library_id = :library_id and memory_id = :id
        order by n desc limit :limit offset :offset
        """,
        library_id=memory.library_id,
        id=memory.id,
        limit=limit,
        offset=offset,
    )
    return [Version(**dict(zip((*_VERSION, "seal"), row, strict=True))) for row in rows]


def versions_like(tx: Tx, memory: Memory, sha: str) -> list[Version]:
    """At most two versions whose commit id begins with these digits."""
    rows = tx.all(
        f"""
        select {", ".join(_VERSION)}, seal from version
        where library_id = :library_id and memory_id = :id and substr(commit_sha, 1, :size) = :sha
        order by n limit 2
        """,
        library_id=memory.library_id,
        id=memory.id,
        size=len(sha),
        sha=sha,
    )
    return [Version(**dict(zip((*_VERSION, "seal"), row, strict=True))) for row in rows]


def count_versions(tx: Tx, memory: Memory) -> int:
    """How many versions a memory has."""
    total: int = tx.value(
        "select count(*) from version where library_id = :library_id and memory_id = :id",
        library_id=memory.library_id,
        id=memory.id,
    )
    return total


def head(tx: Tx, memory: Memory) -> Version | None:
    """The newest version, if a history was begun."""
    found = versions(tx, memory, limit=1)
    return found[0] if found else None


def namespace_name(tx: Tx, memory: Memory) -> str:
    """The name of the namespace in which a memory lives."""
    name: str = tx.value(
        "select name from namespace where library_id = :library_id and id = :id",
        library_id=memory.library_id,
        id=memory.namespace_id,
    )
    return name


def with_concept(tx: Tx, *, library_id: str, namespace_id: str, concept: str, limit: int) -> list[tuple[str, str]]:
    """(library, id) of the newest live memories of a namespace with this concept."""
    rows = tx.all(
        """
        select library_id, id from memory
        where library_id = :library_id and namespace_id = :namespace_id and concept = :concept and concept <> ''
            and archived_at is null
        order by number desc limit :limit
        """,
        library_id=library_id,
        namespace_id=namespace_id,
        concept=concept,
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]


def touch(tx: Tx, keys: Sequence[tuple[str, str]]) -> None:
    """Count a use of each of these memories ((library id, memory id)), now; in order, so that no two callers lock."""
    for library_id, memory_id in sorted(keys):
        tx.run(
            """
            insert into usage (library_id, memory_id, uses, used_at, duplicates)
            select library_id, id, 1, :now, 1 from memory where library_id = :library_id and id = :id
            on conflict (library_id, memory_id) do update set uses = usage.uses + 1, used_at = :now
            """,
            library_id=library_id,
            id=memory_id,
            now=tx.now,
        )


def uses(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[str, tuple[int, int | None]]:
    """Memory id -> (uses, last use), of these memories ((library id, memory id)) that were ever used."""
    if not keys:
        return {}
    rows = tx.all(
        """
        select library_id, memory_id, uses, used_at from usage
        where library_id in :libraries and memory_id in :ids
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    known = set(keys)
    return {row[1]: (row[2], row[3]) for row in rows if (row[0], row[1]) in known}


def standing(tx: Tx, where: Filter, tag: str, limit: int) -> list[Memory]:
    """Live memories that the filter covers and that are preferences, instructions, or have the tag; newest first."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select {MEMORY_COLUMNS} from (
            select s.library_id, s.id from memory s
            where s.library_id in :within and s.kind in ('preference', 'instruction') and s.archived_at is null
            union all -- what is both comes twice; without a sort the index of the few is used
            select t.library_id, t.memory_id from tag t where t.library_id in :within and t.folded = :tag
        ) held cross join memory m -- SQLite keeps the order of a cross join: these few first
        where m.library_id = held.library_id and m.id = held.id and {condition} and m.archived_at is null
        order by m.updated_at + 0 desc, m.number desc limit :limit
        """,
        within=list(where.library_ids),
        tag=tag,
        limit=2 * limit,
        **params,
    )
    return list({row[1]: memory_from(row) for row in rows}.values())[:limit]


def namespace_of(tx: Tx, memory: Memory) -> Namespace:
    """The namespace in which a memory lives."""
    found = namespace_by_id(tx, memory.library_id, memory.namespace_id)
    assert found is not None  # noqa: S101 - a foreign key holds it
    return found


def namespace_by_id(tx: Tx, library_id: str, namespace_id: str) -> Namespace | None:
    """A namespace, if it is there."""
    row = tx.one(
        "select library_id, id, name, folded, created_at from namespace where library_id = :library_id and id = :id",
        library_id=library_id,
        id=namespace_id,
    )
    return Namespace(library_id=row[0], id=row[1], name=row[2], folded=row[3], created_at=row[4]) if row else None
