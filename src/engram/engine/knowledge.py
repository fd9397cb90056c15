"""Storing for assistants that share a memory: a fact, an event, a habit, with its vector and what it contradicts."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, comparing, index, memories, models, places, sessions
from engram.engine.ledger import Ledger, salted
from engram.engine.prepare import prepare
from engram.errors import EngramError
from engram.model import DUPLICATE_WINDOW_MS, KIND_MEMORY, Draft, Memory, Namespace, Session
from engram.rules import chunk, concept, names
from engram.rules.redact import redact
from engram.store import chunks
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.embed import Embedder
    from engram.engine.comparing import Conflict, Neighbour
    from engram.engine.context import Context
    from engram.engine.prepare import Prepared
    from engram.model import Redactions
    from engram.store.base import Tx

EMBEDDED_MAX = 16  # chunks whose vectors are made before the answer
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of something that an assistant wants remembered."""

    memory: Memory
    namespace: str
    is_duplicate: bool = False
    conflicts: tuple[Conflict, ...] | None = None  # None: they follow, with the vector
    has_vector: bool = False
    redactions: Redactions
    notes: tuple[str, ...] = ()


def store(ctx: Context, draft: Draft, *, namespace: str = "", session: str = "") -> Kept:
    """Keep a memory of the neural family, or find that it is kept already.

    Raises:
        AccessDenied, NotFound: the caller may not write there.
        Conflict: the text is recalled memory.
        Invalid: a field is over its limit, blank or only private.
    """
    shown, _ = redact(draft.body, secrets=ctx.engine.settings.redact_secrets)
    about = draft.concept or (concept.extract(shown) if not names.is_blank(shown) else "")
    ready = prepare(
        ctx.engine,
        replace(draft, kind=KIND_MEMORY, concept=about, decays=True, source=draft.source or ctx.client),
    )
    embedder, vectors = ctx.engine.embedder, _vectors(ctx.engine.embedder, ready)
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        target = places.kept_in(tx, ctx, who, namespace)
        tx.lock(f"same:{target.library.id}:{names.fold_name(target.name)}:{ready.same_hash}")
        found, _ = places.open_namespace(tx, target)
        at, _ = sessions.attach(tx, ctx, found, wanted=session) if session else (None, False)
        twin, gone = _twin(tx, ready, found, at)
        if twin is not None:
            return _united(tx, ctx, twin, ready, found)
        if models.current(tx).model_id != embedder.model_id:
            vectors = []  # the model was switched while this text was embedded
        kept = _insert(tx, ctx, ready, found, at, embedder, vectors)
        if at is not None:
            sessions.touch(tx, at)
        notes = [target.note] if target.note else []
        notes += [f"the same text was {gone.archived_why} before, as {who.label(gone)}"] if gone else []
        return replace(kept, notes=(*notes, *kept.notes))


def _vectors(embedder: Embedder, ready: Prepared) -> list[np.ndarray]:
    """The vectors of all pieces, if the model can read them, there are few and the model comes in time; else none."""
    pieces = ready.pieces
    if not pieces or len(pieces) > EMBEDDED_MAX or not all(piece.is_readable for piece in pieces):
        return []
    draft = ready.draft
    try:
        return [
            embedder.embed_passage(
                chunk.embedding_text(
                    title=draft.title, concept=draft.concept, piece=draft.body[piece.first_char : piece.last_char]
                )
            )
            for piece in pieces
        ]
    except EngramError as error:
        log.info("a vector has to wait: %s", error.code)
        return []


def _twin(
    tx: Tx, ready: Prepared, namespace: Namespace, session: Session | None
) -> tuple[Memory | None, Memory | None]:
    """(the live memory that says exactly this, an archived one that did)."""
    draft = ready.draft
    same = rows.same_content(
        tx,
        library_id=namespace.library_id,
        namespace_id=namespace.id,
        same_hash=ready.same_hash,
        content_hash=ready.content_hash,
    )
    gone = next((memory for memory in same if memory.is_hidden), None)
    for memory in same:
        if memory.is_archived or memory.memory_type != draft.memory_type or not _says_the_same(memory, draft, session):
            continue
        if draft.memory_type == "episodic" and not _is_same_event(tx, memory, session):
            continue
        if memories.is_held_as(tx, memory):
            return memory, None
    return None, gone


def _says_the_same(memory: Memory, draft: Draft, session: Session | None) -> bool:
    """Whether nothing that was given is another than the memory's."""
    given = (
        (draft.event_at, memory.event_at),
        (draft.valid_from, memory.valid_from),
        (draft.valid_to, memory.valid_to),
        (session.id if session else None, memory.session_id),
    )
    return all(new is None or old is None or new == old for new, old in given)


def _is_same_event(tx: Tx, memory: Memory, session: Session | None) -> bool:
    if session is not None and memory.session_id is not None:
        return session.id == memory.session_id
    return session is None and memory.session_id is None and tx.now - memory.created_at <= DUPLICATE_WINDOW_MS


def _united(tx: Tx, ctx: Context, twin: Memory, ready: Prepared, namespace: Namespace) -> Kept:
    """Tags of both, the higher importance, and what was empty filled."""
    draft = ready.draft
    notes: list[str] = []
    filled: dict[str, object] = {}
    for name in ("source", "trigger_pattern", "action_pattern", "event_at", "valid_from", "valid_to"):
        old, new = getattr(twin, name), getattr(draft, name)
        if new and not old:
            filled[name] = new
        elif new and new != old and name in ("trigger_pattern", "action_pattern"):
            notes.append(f"{name} was not taken: the memory has another")
    if draft.importance is not None and draft.importance > twin.importance:
        filled["importance"] = draft.importance
    new_tags = memories.add_tags(tx, twin, draft.tags)
    rows.note_repeat(tx, twin)
    memory = twin
    if filled or new_tags:
        ledger = Ledger(tx, ctx, [twin.library_id])
        memory = ledger.update(replace(twin, updated_at=max(tx.now, twin.updated_at), **filled), was=twin)  # type: ignore[arg-type]
        ledger.close("memory.united", {twin.library_id: twin.id}, tags=len(new_tags))
    return Kept(
        memory=memory,
        namespace=namespace.name,
        is_duplicate=True,
        conflicts=(),
        has_vector=True,
        redactions=ready.redactions,
        notes=tuple(notes),
    )


def _insert(
    tx: Tx,
    ctx: Context,
    ready: Prepared,
    namespace: Namespace,
    session: Session | None,
    embedder: Embedder,
    vectors: Sequence[np.ndarray],
) -> Kept:
    memory = memories.draw(tx, ctx, ready, namespace, session)
    near: list[Neighbour] = []
    is_compared = bool(vectors) or not any(piece.is_readable for piece in ready.pieces)
    if is_compared:
        near = comparing.around(tx, embedder, memory, vectors)
    found = comparing.conflicts(memory, near)
    facets = index.facets_of(memory)
    chunk_ids = index.replace_chunks(tx, memory.id, was=None, now=facets, pieces=ready.pieces)
    if vectors:
        model = chunks.add_model(tx, embedder.model_id, len(vectors[0]))
        for chunk_id, vector in zip(chunk_ids, vectors, strict=True):
            tx.put_vector(chunk_id, model=model, facets=facets, vector=vector)
        chunks.settle(tx, chunk_ids)
    memories.add_tags(tx, memory, ready.draft.tags)
    comparing.link_similar(tx, memory, near)
    made = comparing.link_conflicts(tx, found)
    ledger = Ledger(tx, ctx, [memory.library_id])
    memory = ledger.insert(memory)
    ledger.close(
        "memory.stored",
        {memory.library_id: memory.id},
        hash=salted(memory),
        kind=memory.kind,
        type=memory.memory_type,
        namespace=namespace.id,
        number=memory.number,
        **({"contradictions": [[each.newer.id, each.older.id] for each in made]} if made else {}),
    )
    if not vectors:
        tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
    return Kept(
        memory=memory,
        namespace=namespace.name,
        conflicts=tuple(found) if is_compared else None,
        has_vector=bool(vectors),
        redactions=ready.redactions,
    )
