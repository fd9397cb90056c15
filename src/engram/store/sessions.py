"""Sessions: stretches of work of one actor in one library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.model import SESSION_IDLE_MS, Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.base import Row, Tx

_NAMES = (
    "library_id", "id", "namespace_id", "actor_id", "token_id", "name", "directory", "started_at", "active_at",
    "ended_at", "summary",
)  # fmt: skip
SESSION_COLUMNS = ", ".join(_NAMES)


def session_from(row: Row) -> Session:
    """A row of SESSION_COLUMNS as a noun."""
    return Session(**dict(zip(_NAMES, row, strict=True)))


def named(tx: Tx, *, library_id: str, actor_id: str, name: str, is_held: bool = False) -> Session | None:
    """The actor's session of this name; held against change where the caller will write it."""
    row = tx.one(
        f"""
        select {SESSION_COLUMNS} from session
        where library_id = :library_id and actor_id = :actor_id and name = :name
        {tx.for_no_key_update if is_held else ""}
        """,
        library_id=library_id,
        actor_id=actor_id,
        name=name,
    )
    return session_from(row) if row else None


def ensure(tx: Tx, fresh: Session) -> tuple[Session, bool]:
    """The session of this actor and name, made if there is none; and whether it was made."""
    key = {"library_id": fresh.library_id, "actor_id": fresh.actor_id, "name": fresh.name}
    found = named(tx, **key, is_held=True)
    if found:
        return found, False
    made = tx.all(
        f"""
        insert into session ({SESSION_COLUMNS}) values ({", ".join(f":{name}" for name in _NAMES)})
        on conflict (library_id, actor_id, name) do nothing returning id
        """,
        **{name: getattr(fresh, name) for name in _NAMES},
    )
    if made:
        return fresh, True
    found = named(tx, **key, is_held=True)  # another process was first
    return (found, False) if found else (fresh, True)


def update(tx: Tx, session: Session) -> None:
    """Store what may change in a session."""
    tx.run(
        """
        update session set namespace_id = :namespace_id, directory = :directory, active_at = :active_at,
            ended_at = :ended_at, summary = :summary, token_id = :token_id, started_at = :started_at
        where library_id = :library_id and id = :id
        """,
        namespace_id=session.namespace_id,
        directory=session.directory,
        active_at=session.active_at,
        ended_at=session.ended_at,
        summary=session.summary,
        token_id=session.token_id,
        started_at=session.started_at,
        library_id=session.library_id,
        id=session.id,
    )


def touch(tx: Tx, session: Session) -> None:
    """Note that the session is active now."""
    tx.run(
        "update session set active_at = :now where library_id = :library_id and id = :id and active_at < :now",
        now=tx.now,
        library_id=session.library_id,
        id=session.id,
    )


def get(tx: Tx, *, library_id: str, session_id: str) -> Session | None:
    """The session with this id."""
    row = tx.one(
        f"select {SESSION_COLUMNS} from session where library_id = :library_id and id = :id",
        library_id=library_id,
        id=session_id,
    )
    return session_from(row) if row else None


def many(tx: Tx, keys: Sequence[tuple[str, str]]) -> dict[str, Session]:
    """Sessions by id."""
    if not keys:
        return {}
    rows = tx.all(
        f"select {SESSION_COLUMNS} from session where library_id in :libraries and id in :ids",
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    return {row[1]: session_from(row) for row in rows}


def open_ones(tx: Tx, *, library_id: str, namespace_id: str, actor_id: str, token_id: str | None) -> list[Session]:
    """The actor's sessions of a project that are not ended and were active within 24 h, last active first."""
    rows = tx.all(
        f"""
        select {SESSION_COLUMNS} from session
        where library_id = :library_id and namespace_id = :namespace_id and actor_id = :actor_id
            and active_at > :since and ended_at is null and name not like 'manual-save-%'
            {"and token_id = :token_id" if token_id is not None else ""}
        order by active_at desc, id desc limit 20
        """,
        library_id=library_id,
        namespace_id=namespace_id,
        actor_id=actor_id,
        since=tx.now - SESSION_IDLE_MS,
        **({"token_id": token_id} if token_id is not None else {}),
    )
    return [session_from(row) for row in rows]


def recent(tx: Tx, *, places: Sequence[tuple[str, str]], limit: int) -> list[Session]:
    """The last active sessions of any of the (library, namespace) places; an empty namespace means all."""
    conditions: list[str] = []
    params: dict[str, str] = {}
    for i, (library_id, namespace_id) in enumerate(places):
        params[f"l{i}"] = library_id
        part = f"library_id = :l{i}"
        if namespace_id:
            params[f"n{i}"] = namespace_id
            part += f" and namespace_id = :n{i}"
        conditions.append(f"({part})")
    if not conditions:
        return []
    rows = tx.all(
        f"""
        select {SESSION_COLUMNS} from session where ({" or ".join(conditions)})
        order by active_at desc, id desc limit :limit
        """,
        limit=limit,
        **params,
    )
    return [session_from(row) for row in rows]


def count(tx: Tx, library_ids: Sequence[str]) -> int:
    """How many sessions the libraries hold."""
    total: int = tx.value("select count(*) from session where library_id in :ids", ids=list(library_ids))
    return total
