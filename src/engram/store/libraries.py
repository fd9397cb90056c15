"""Libraries, their totals under lock, and their namespaces."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from engram.model import Library, Namespace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.store.base import Row, Tx

_COLUMNS = (
    "id", "owner_id", "made_by", "name", "folded", "description", "audit", "created_at", "archived_at", "erase_at",
    "seq", "number", "leaves", "live", "acc",
)  # fmt: skip
_WITH_SEAL = (*_COLUMNS, "seal")
LIBRARY_COLUMNS = ", ".join(_WITH_SEAL)
_INSERT = f"insert into library ({LIBRARY_COLUMNS}) values ({', '.join(f':{name}' for name in _WITH_SEAL)})"
_OWNED = f"select {LIBRARY_COLUMNS}, 3 as role from library where owner_id = :actor_id and archived_at is null"
_OWNED_OR_GRANTED = f"""
    {_OWNED}
    union all
    select {", ".join(f"l.{name}" for name in _WITH_SEAL)}, a.role from group_member m
    join access_grant a on a.group_id = m.group_id join library l on l.id = a.library_id
    where m.email_folded = :email and l.owner_id <> :actor_id and l.archived_at is null
"""
_sealed_values = attrgetter(*_COLUMNS)


def library_from(row: Row) -> Library:
    """A row of LIBRARY_COLUMNS as a noun."""
    return Library(**dict(zip(_WITH_SEAL, row, strict=True)))


def sealed(tx: Tx, library: Library) -> Library:
    """The library with the seal of its present values."""
    return replace(library, seal=tx.seal("library", _sealed_values(library)))


def _values(library: Library) -> dict[str, Any]:
    return dict(zip(_WITH_SEAL, (*_sealed_values(library), library.seal), strict=True))


def insert(tx: Tx, library: Library) -> Library:
    """Add a library."""
    library = sealed(tx, library)
    tx.run(_INSERT, **_values(library))
    return library


def lock(tx: Tx, ids: Sequence[str]) -> list[Library]:
    """The libraries, held until the end of the transaction. Nothing after this may wait for another lock."""
    rows = tx.all(
        f"select {LIBRARY_COLUMNS} from library where id in :ids order by id {tx.for_no_key_update}", ids=list(ids)
    )
    return [library_from(row) for row in rows]


def update_totals(tx: Tx, library: Library, *, seq: int, number: int, leaves: int, live: int, acc: int) -> Library:
    """Store a library's totals, and the seal that covers them."""
    library = replace(library, seq=seq, number=number, leaves=leaves, live=live, acc=acc)
    seal = tx.seal("library", _sealed_values(library))
    tx.run(
        """
        update library set seq = :seq, number = :number, leaves = :leaves, live = :live, acc = :acc, seal = :seal
        where id = :id
        """,
        seq=seq,
        number=number,
        leaves=leaves,
        live=live,
        acc=acc,
        seal=seal,
        id=library.id,
    )
    return library


def reachable(tx: Tx, *, actor_id: str, email_folded: str) -> list[tuple[Library, int]]:
    """Every library that the actor owns or has a grant on, with the role's number, by name."""
    if email_folded:
        rows = tx.all(_OWNED_OR_GRANTED, actor_id=actor_id, email=email_folded)
    else:  # nobody: half the time on SQLite
        rows = tx.all(_OWNED, actor_id=actor_id)
    best = {row[0]: row for row in sorted(rows, key=itemgetter(-1))}  # of several grants the highest counts
    found = [(library_from(row[:-1]), row[-1]) for row in best.values()]
    return sorted(found, key=lambda item: (item[0].name, item[0].id))


def followed(tx: Tx, actor_id: str) -> set[str]:
    """Ids of the libraries that the person reads unasked."""
    return {row[0] for row in tx.all("select library_id from follow where actor_id = :actor_id", actor_id=actor_id)}


_NAMESPACE = ("library_id", "id", "name", "folded", "created_at", "merged_into", "takes_from")
_NAMESPACE_COLUMNS = ", ".join(_NAMESPACE)


def namespace_from(row: Row) -> Namespace:
    """A row of the namespace columns as a noun."""
    return Namespace(**dict(zip(_NAMESPACE, row, strict=True)))


def led_to(tx: Tx, namespace: Namespace, *, is_held: bool = False) -> Namespace:
    """The namespace that a merged one stands for, itself where it was not merged; maybe held against deletion."""
    while namespace.merged_into:
        row = tx.one(
            f"""
            select {_NAMESPACE_COLUMNS} from namespace where library_id = :library_id and id = :id
            {tx.for_key_share if is_held else ""}
            """,
            library_id=namespace.library_id,
            id=namespace.merged_into,
        )
        if row is None:
            break
        namespace = namespace_from(row)
    return namespace


def namespaces_named(tx: Tx, *, library_ids: Sequence[str], folded: str) -> list[Namespace]:
    """The namespaces that this name (or this UUID) means in the libraries."""
    return [led_to(tx, found) for found in namespaces_called(tx, library_ids=library_ids, folded=folded)]


def namespaces_called(tx: Tx, *, library_ids: Sequence[str], folded: str) -> list[Namespace]:
    """The namespaces that have this name (or this UUID) themselves, merged ones too."""
    rows = tx.all(
        f"""
        select {_NAMESPACE_COLUMNS} from namespace
        where library_id in :ids and (folded = :folded or id = :folded) and archived_at is null
        order by library_id, id
        """,
        ids=list(library_ids),
        folded=folded,
    )
    return [namespace_from(row) for row in rows]


def namespaces(tx: Tx, *, library_ids: Sequence[str]) -> list[Namespace]:
    """All namespaces of the libraries, by name."""
    rows = tx.all(
        f"""
        select {_NAMESPACE_COLUMNS} from namespace where library_id in :ids and archived_at is null
        order by folded, library_id
        """,
        ids=list(library_ids),
    )
    return [namespace_from(row) for row in rows]


def ensure_namespace(tx: Tx, fresh: Namespace) -> tuple[Namespace, bool]:
    """The namespace that this name means, made if there is none, held against deletion; and whether it was made."""
    select = f"""
        select {_NAMESPACE_COLUMNS} from namespace
        where library_id = :library_id and folded = :folded and archived_at is null {tx.for_key_share}
        """
    row = tx.one(select, library_id=fresh.library_id, folded=fresh.folded)
    if row:
        return led_to(tx, namespace_from(row), is_held=True), False
    made = tx.all(
        """
        insert into namespace (library_id, id, name, folded, created_at)
        values (:library_id, :id, :name, :folded, :created_at)
        on conflict (library_id, folded) where archived_at is null do nothing
        returning id
        """,
        library_id=fresh.library_id,
        id=fresh.id,
        name=fresh.name,
        folded=fresh.folded,
        created_at=fresh.created_at,
    )
    if made:
        return fresh, True
    row = tx.one(select, library_id=fresh.library_id, folded=fresh.folded)  # another process was first
    return (led_to(tx, namespace_from(row), is_held=True), False) if row else (fresh, True)
