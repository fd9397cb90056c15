"""Links between memories. What only the worker derives (likeness) is not sealed; all else is."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from engram.model import AUTO_SIMILAR, CONTRADICTS, Link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.model import Memory
    from engram.store.base import Row, Tx

_NAMES = (
    "library_id", "from_id", "to_id", "to_library_id", "relation", "weight", "created_by", "created_at", "note",
    "settled_at",
)  # fmt: skip
_WITH_SEAL = (*_NAMES, "seal")
LINK_COLUMNS = ", ".join(f"k.{name}" for name in _WITH_SEAL)
_sealed_values = attrgetter(*_NAMES)
_DERIVED = (AUTO_SIMILAR, CONTRADICTS)  # between memories of one library only


def link_from(row: Row) -> Link:
    """A row of LINK_COLUMNS as a noun."""
    return Link(**dict(zip(_WITH_SEAL, row, strict=True)))


def put(tx: Tx, link: Link) -> None:
    """Add a link; over one of the same ends and relation, its new weight, note and state."""
    seal = b"" if link.relation == AUTO_SIMILAR else tx.seal("link", _sealed_values(link))
    tx.run(
        f"""
        insert into link ({", ".join(_WITH_SEAL)}) values ({", ".join(f":{name}" for name in _WITH_SEAL)})
        on conflict (library_id, from_id, to_id, relation) do update set
            weight = excluded.weight, created_by = excluded.created_by, created_at = excluded.created_at,
            note = excluded.note, settled_at = excluded.settled_at, seal = excluded.seal
        """,
        **dict(zip(_NAMES, _sealed_values(link), strict=True)),
        seal=seal,
    )


def drop(tx: Tx, link: Link) -> None:
    """Delete a link."""
    tx.run(
        """
        delete from link where library_id = :library_id and from_id = :from_id and to_id = :to_id
            and relation = :relation
        """,
        library_id=link.library_id,
        from_id=link.from_id,
        to_id=link.to_id,
        relation=link.relation,
    )


def touching(tx: Tx, keys: Sequence[tuple[str, str]], *, relations: Sequence[str] = ()) -> list[Link]:
    """Links from or to any of these memories ((library id, memory id)), strongest first; only of these relations."""
    if not keys:
        return []
    wanted = "and k.relation in :relations" if relations else ""
    params: dict[str, object] = {"relations": list(relations)} if relations else {}
    rows = tx.all(
        f"""
        select {LINK_COLUMNS} from link k where k.library_id in :libraries and k.from_id in :ids {wanted}
        union
        select {LINK_COLUMNS} from link k where k.to_library_id in :libraries and k.to_id in :ids {wanted}
        order by 6 desc, 2, 3, 5
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
        **params,
    )
    known = set(keys)
    found = [link_from(row) for row in rows]
    return [k for k in found if (k.library_id, k.from_id) in known or (k.to_library_id, k.to_id) in known]


def between(tx: Tx, one: tuple[str, str], other: tuple[str, str], relation: str) -> list[Link]:
    """The links of a relation between two memories, in either direction."""
    found = touching(tx, [one], relations=[relation])
    ends = {one, other}
    return [link for link in found if {(link.library_id, link.from_id), (link.to_library_id, link.to_id)} == ends]


def unsettled(tx: Tx, library_ids: Sequence[str], *, limit: int) -> list[Link]:
    """Contradictions that nobody decided, between memories that are both live, newest first."""
    rows = tx.all(
        f"""
        select {LINK_COLUMNS} from link k
        join memory a on a.library_id = k.library_id and a.id = k.from_id
        join memory b on b.library_id = k.to_library_id and b.id = k.to_id
        where k.library_id in :ids and k.to_library_id in :ids and k.relation = 'contradicts'
            and k.settled_at is null and a.archived_at is null and b.archived_at is null
        order by k.created_at desc, k.from_id, k.to_id limit :limit
        """,
        ids=list(library_ids),
        limit=limit,
    )
    return [link_from(row) for row in rows]


def drop_similar(tx: Tx, memory: Memory) -> None:
    """Delete the likenesses of a memory, which are made anew when its text changes."""
    tx.run(
        """
        delete from link where relation = 'auto_similar' and library_id = :library_id
            and (from_id = :id or (to_id = :id and to_library_id = :library_id))
        """,
        library_id=memory.library_id,
        id=memory.id,
    )


def drop_derived(tx: Tx, memory: Memory) -> None:
    """Delete what was derived from a text that changed: its likenesses, and contradictions that nobody decided."""
    drop_similar(tx, memory)
    tx.run(
        """
        delete from link where relation = 'contradicts' and settled_at is null and library_id = :library_id
            and (from_id = :id or (to_id = :id and to_library_id = :library_id))
        """,
        library_id=memory.library_id,
        id=memory.id,
    )


def move(tx: Tx, memory: Memory, *, was: Memory) -> None:
    """Let the links of a memory follow it to another library; what was derived joins no two libraries and goes."""
    for link in touching(tx, [(was.library_id, was.id)]):
        drop(tx, link)
        if link.relation in _DERIVED:
            continue
        moved = replace(
            link,
            library_id=memory.library_id if link.from_id == memory.id else link.library_id,
            to_library_id=memory.library_id if link.to_id == memory.id else link.to_library_id,
        )
        put(tx, moved)
