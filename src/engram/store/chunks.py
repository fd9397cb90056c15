"""Chunks: the derived pieces of a memory by which it is found. No text, only where it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engram.store.base import Facets
from engram.store.memories import place_condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.store.base import Filter, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A chunk as the verb prepared it, before it has an id."""

    first_char: int
    last_char: int
    length: float  # weighted words
    flags: int
    terms: str  # weighted term frequencies, packed by rules.rank
    title: str  # index terms of the title, space-joined
    body: str  # index terms of this piece, space-joined
    keys: str  # index terms of topic key and concept, space-joined
    is_readable: bool  # the model can read it: a vector will follow


class Chunk(NamedTuple):
    """A candidate: where it stands, what BM25 needs, what ranking needs of its memory, no text."""

    id: int
    library_id: str
    memory_id: str
    first_char: int
    last_char: int
    length: float
    flags: int
    terms: str  # packed
    at: int  # when it happened, else when it was saved
    archived_why: str | None
    valid_from: int | None
    valid_to: int | None

    def is_past(self, now: int) -> bool:
        """Whether something holds in its place, or it does not hold now."""
        begins_later = self.valid_from is not None and self.valid_from > now
        return self.archived_why is not None or begins_later or (self.valid_to is not None and self.valid_to <= now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A chunk that waits for its vector, with the text to make it from."""

    chunk_id: int
    facets: Facets
    title: str
    concept: str
    text: str


def insert(tx: Tx, *, memory_id: str, facets: Facets, pieces: Sequence[Piece]) -> list[int]:
    """Add a memory's chunks with their words; those that the model can read wait for a vector."""
    ids: list[int] = []
    for position, piece in enumerate(pieces):
        chunk_id: int = tx.value(
            """
            insert into chunk (library_id, memory_id, position, first_char, last_char, length, flags, terms)
            values (:library_id, :memory_id, :position, :first_char, :last_char, :length, :flags, :terms)
            returning id
            """,
            library_id=facets.library_id,
            memory_id=memory_id,
            position=position,
            first_char=piece.first_char,
            last_char=piece.last_char,
            length=piece.length,
            flags=piece.flags,
            terms=piece.terms,
        )
        put_words(tx, chunk_id, piece, facets)
        if piece.is_readable:
            wait_for_vector(tx, chunk_id, facets.library_id)
        ids.append(chunk_id)
    return ids


def put_words(tx: Tx, chunk_id: int, piece: Piece, facets: Facets) -> None:
    """Index the words of a chunk."""
    tx.put_words(chunk_id, title=piece.title, body=piece.body, keys=piece.keys, facets=facets, length=piece.length)


def wait_for_vector(tx: Tx, chunk_id: int, library_id: str) -> None:
    """Note that a chunk has no vector yet."""
    tx.run(
        "insert into pending (chunk_id, library_id, since) values (:chunk_id, :library_id, :now)",
        chunk_id=chunk_id,
        library_id=library_id,
        now=tx.now,
    )


def ids_of(tx: Tx, *, library_id: str, memory_id: str) -> list[int]:
    """The chunks of a memory, held for change: before its words, vectors or queue entries are touched."""
    rows = tx.all(
        f"""
        select id from chunk where library_id = :library_id and memory_id = :memory_id order by id {tx.for_update}
        """,
        library_id=library_id,
        memory_id=memory_id,
    )
    return [row[0] for row in rows]


def ids_read(tx: Tx, *, library_id: str, memory_id: str) -> list[int]:
    """The chunks of a memory, in the order of its text."""
    rows = tx.all(
        "select id from chunk where library_id = :library_id and memory_id = :memory_id order by position",
        library_id=library_id,
        memory_id=memory_id,
    )
    return [row[0] for row in rows]


def hide(tx: Tx, chunk_ids: Sequence[int]) -> None:
    """Take chunks out of words and vectors; the rows stay, so that a restore needs no new ids."""
    if not chunk_ids:
        return
    tx.drop_words(chunk_ids)
    tx.drop_vectors(chunk_ids)
    tx.run("delete from pending where chunk_id in :ids", ids=list(chunk_ids))


def delete(tx: Tx, chunk_ids: Sequence[int]) -> None:
    """Delete chunks with their words and vectors."""
    if not chunk_ids:
        return
    hide(tx, chunk_ids)
    tx.run("delete from chunk where id in :ids", ids=list(chunk_ids))


def candidates(tx: Tx, chunk_ids: Sequence[int]) -> dict[int, Chunk]:
    """The chunks with what ranking needs; those of hidden memories are left out."""
    if not chunk_ids:
        return {}
    rows = tx.all(
        """
        select c.id, c.library_id, c.memory_id, c.first_char, c.last_char, c.length, c.flags, c.terms,
            coalesce(m.event_at, m.created_at), m.archived_why, m.valid_from, m.valid_to
        from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where c.id in :ids and (m.archived_why is null or m.archived_why = 'superseded')
        """,
        ids=list(chunk_ids),
    )
    return {row[0]: Chunk(*row) for row in rows}


def of_memories(tx: Tx, keys: Sequence[tuple[str, str]]) -> list[Chunk]:
    """The chunks of memories ((library id, memory id)), those of hidden ones left out."""
    if not keys:
        return []
    found = tx.all(
        """
        select c.id, c.library_id, c.memory_id, c.first_char, c.last_char, c.length, c.flags, c.terms,
            coalesce(m.event_at, m.created_at), m.archived_why, m.valid_from, m.valid_to
        from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where c.library_id in :libraries and c.memory_id in :ids
            and (m.archived_why is null or m.archived_why = 'superseded')
        """,
        libraries=sorted({key[0] for key in keys}),
        ids=sorted({key[1] for key in keys}),
    )
    wanted = set(keys)
    return [Chunk(*row) for row in found if (row[1], row[2]) in wanted]


def covered(tx: Tx, where: Filter, limit: int) -> list[int]:
    """Chunks that the filter covers, sources and tags included; in no order."""
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select c.id from memory m join chunk c on c.library_id = m.library_id and c.memory_id = m.id
        where {condition} and (m.archived_why is null or m.archived_why = 'superseded') limit :limit
        """,
        limit=limit,
        **params,
    )
    return [row[0] for row in rows]


def kept(tx: Tx, where: Filter, chunk_ids: Sequence[int]) -> set[int]:
    """Those of the chunks that the filter covers, sources and tags included."""
    if not chunk_ids:
        return set()
    condition, params = place_condition(where)
    rows = tx.all(
        f"""
        select c.id from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where c.id in :ids and {condition}
        """,
        ids=list(chunk_ids),
        **params,
    )
    return {row[0] for row in rows}


_UNEMBEDDED = """
    select p.chunk_id, m.library_id, m.namespace_id, m.scope, m.kind, m.memory_type, m.title, m.concept,
        substr(m.body, c.first_char + 1, c.last_char - c.first_char)
    from pending p join chunk c on c.id = p.chunk_id
    join memory m on m.library_id = c.library_id and m.id = c.memory_id
"""


def place_of(kind: str, scope: str) -> str:
    """The place under which a memory is indexed: prompts stand apart from all else."""
    return "prompt" if kind == "prompt" else scope


def unembedded(tx: Tx, *, chunk_ids: Sequence[int] | None = None, limit: int) -> list[Unembedded]:
    """Chunks without a vector: of these ids, or of all; newest first, as they are asked for soonest."""
    params: dict[str, object] = {"limit": limit}
    where = ""
    if chunk_ids is not None:
        where = "where p.chunk_id in :ids"
        params["ids"] = list(chunk_ids)
    rows = tx.all(f"{_UNEMBEDDED} {where} order by p.chunk_id desc limit :limit", **params)
    return [_unembedded_from(row) for row in rows]


def is_any_pending(tx: Tx) -> bool:
    """Whether any chunk waits for a vector."""
    return bool(tx.value("select count(*) from (select 1 from pending limit 1) found"))


def unembedded_in(tx: Tx, where: Filter, limit: int) -> list[Unembedded]:
    """Chunks without a vector that the filter covers, newest first; asked where ``is_any_pending``."""
    condition, params = place_condition(where)
    rows = tx.all(f"{_UNEMBEDDED} where {condition} order by p.chunk_id desc limit :limit", limit=limit, **params)
    return [_unembedded_from(row) for row in rows]


def texts(tx: Tx, chunk_ids: Sequence[int]) -> list[Unembedded]:
    """Chunks with the text that they are embedded from, whether or not they wait."""
    if not chunk_ids:
        return []
    rows = tx.all(
        """
        select c.id, m.library_id, m.namespace_id, m.scope, m.kind, m.memory_type, m.title, m.concept,
            substr(m.body, c.first_char + 1, c.last_char - c.first_char)
        from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where c.id in :ids order by c.id
        """,
        ids=list(chunk_ids),
    )
    return [_unembedded_from(row) for row in rows]


def wait_again(tx: Tx, chunk_id: int) -> None:
    """Let a chunk that is there wait for a vector, if it does not yet."""
    tx.run(
        """
        insert into pending (chunk_id, library_id, since)
        select id, library_id, :now from chunk where id = :chunk_id
        on conflict (chunk_id) do nothing
        """,
        chunk_id=chunk_id,
        now=tx.now,
    )


def _unembedded_from(row: tuple[object, ...]) -> Unembedded:
    chunk_id, library_id, namespace_id, scope, kind, memory_type, title, concept, text = row
    facets = Facets(
        library_id=str(library_id),
        namespace_id=str(namespace_id),
        place=place_of(str(kind), str(scope)),
        kind=str(kind),
        memory_type=str(memory_type),
    )
    return Unembedded(
        chunk_id=int(str(chunk_id)), facets=facets, title=str(title), concept=str(concept), text=str(text)
    )


def count_pending(tx: Tx, where: Filter) -> int:
    """How many chunks that the filter covers wait for a vector."""
    if not is_any_pending(tx):
        return 0
    condition, params = place_condition(where)
    total: int = tx.value(
        f"""
        select count(*) from pending p join chunk c on c.id = p.chunk_id
        join memory m on m.library_id = c.library_id and m.id = c.memory_id where {condition}
        """,
        **params,
    )
    return total


def hold(tx: Tx, chunk_ids: Sequence[int]) -> set[int]:
    """Those of the chunks that are still there and that nobody is changing now, held against deletion.

    A worker waits for nobody, so it can't stand in a circle with a call that deletes what it embeds.
    """
    rows = tx.all(f"select id from chunk where id in :ids order by id {tx.for_key_share_free}", ids=list(chunk_ids))
    return {row[0] for row in rows}


def vectors(tx: Tx, chunk_ids: Sequence[int], model: int) -> dict[int, np.ndarray]:
    """The vectors of these chunks in a model."""
    if not chunk_ids:
        return {}
    import numpy as np  # noqa: PLC0415 - it costs the start 60 ms

    shown = "v" if tx.store.dialect == "sqlite" else "v::text"
    rows = tx.all(
        f"select chunk_id, {shown} from chunk_vector where model = :model and chunk_id in :ids",
        model=model,
        ids=list(chunk_ids),
    )
    if tx.store.dialect == "sqlite":
        return {row[0]: np.frombuffer(row[1], np.float16).astype(np.float32) for row in rows}
    return {row[0]: np.array(json.loads(row[1]), np.float32) for row in rows}


def owners(tx: Tx, chunk_ids: Sequence[int]) -> list[tuple[str, str]]:
    """(library, memory) of these chunks, each once."""
    if not chunk_ids:
        return []
    rows = tx.all(
        "select distinct library_id, memory_id from chunk where id in :ids order by library_id, memory_id",
        ids=list(chunk_ids),
    )
    return [(row[0], row[1]) for row in rows]


def settle(tx: Tx, chunk_ids: Sequence[int]) -> None:
    """These chunks have a vector, or never will."""
    if chunk_ids:
        tx.run("delete from pending where chunk_id in :ids", ids=list(chunk_ids))


def model_id(tx: Tx, name: str) -> int | None:
    """The number of a model that has vectors here."""
    found: int | None = tx.value("select id from model where name = :name", name=name)
    return found


def add_model(tx: Tx, name: str, dim: int) -> int:
    """The number of a model, given one if it has none; its vector index comes with it."""
    known = model_id(tx, name)
    if known is not None:
        return known
    tx.lock("model")
    known = model_id(tx, name)  # another process may have been first
    if known is not None:
        return known
    number: int = tx.value("select coalesce(max(id), 0) + 1 from model")
    tx.run(
        "insert into model (id, name, dim) values (:id, :name, :dim)",
        id=number,
        name=name,
        dim=dim,
    )
    tx.index_model(number, dim)
    return number


def counts(tx: Tx) -> list[tuple[str, int, int]]:
    """(name, dimension, chunks that have a vector) of each model that was ever used here."""
    rows = tx.all(
        """
        select m.name, m.dim, count(v.chunk_id) from model m left join chunk_vector v on v.model = m.id
        group by m.id, m.name, m.dim order by m.id
        """
    )
    return [(row[0], row[1], row[2]) for row in rows]


def enqueue_missing(tx: Tx, name: str) -> None:
    """Let every live chunk without a vector of this model wait for one, and no other.

    Whether the model can read a chunk is seen when its turn comes.
    """
    model = model_id(tx, name) or 0
    tx.run(
        """
        delete from pending where exists (
            select 1 from chunk_vector v where v.chunk_id = pending.chunk_id and v.model = :model
        )
        """,
        model=model,
    )
    tx.run(
        f"""
        insert into pending (chunk_id, library_id, since)
        select c.id, c.library_id, :now from chunk c
        where exists (
                select 1 from memory m where m.library_id = c.library_id and m.id = c.memory_id
                    and (m.archived_at is null or m.archived_why = 'superseded')
            )
            and not exists (select 1 from chunk_vector v where v.chunk_id = c.id and v.model = :model)
        order by c.id {tx.for_key_share}
        on conflict (chunk_id) do nothing
        """,
        now=tx.now,
        model=model,
    )


def drop_other_vectors(tx: Tx, name: str, limit: int) -> int:
    """Delete some vectors of other models than this one; returns how many.

    Copies in memory need not hear of it: nobody asks them for these models, and what comes back is the same.
    """
    rows = tx.all(
        """
        delete from chunk_vector where (chunk_id, model) in (
            select v.chunk_id, v.model from chunk_vector v
            where v.model in (select id from model where name <> :name) limit :limit
        ) returning 1
        """,
        name=name,
        limit=limit,
    )
    return len(rows)
