"""Consolidation: old events that say nearly the same become one fact that keeps every line and its sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.engine import index, lifecycle, memories
from engram.engine.ledger import Ledger, salted
from engram.engine.prepare import prepare
from engram.model import BY_CONSOLIDATION, DERIVED_FROM, KIND_CONSOLIDATED, Draft, Link, Memory
from engram.rules import clusters
from engram.store import chunks, links
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.engine.context import Context
    from engram.rules.decay import Policy
    from engram.store.decaying import Fading

CONSOLIDATED = "consolidated"
MEMBERS_MAX = 20
CHARS_MAX = 20_000
COMPARED_MAX = 2_000  # events of a namespace that one sweep compares with each other


@dataclass(slots=True, kw_only=True)
class Made:
    """What was made of how many."""

    ids: list[str] = field(default_factory=list[str])
    events: list[str] = field(default_factory=list[str])
    sources: int = 0


def run(ctx: Context, library_id: str, policy: Policy, events: Sequence[Fading], *, is_dry: bool) -> Made:
    """Make one memory of each cluster of old events, which are of one namespace; a dry run only counts."""
    made = Made()
    if len(events) < policy.min_cluster_size:
        return made
    wanted = sorted(each.id for each in events)[:COMPARED_MAX]
    with ctx.engine.store.reading() as tx:
        pieces = chunks.of_memories(tx, [(library_id, key) for key in wanted])
        model = chunks.model_id(tx, ctx.engine.embedder.model_id)
        vectors = chunks.vectors(tx, [piece.id for piece in pieces], model) if model is not None else {}
        read = rows.by_keys(tx, [(library_id, key) for key in wanted])
    first: dict[str, np.ndarray] = {}
    for piece in sorted(pieces, key=lambda each: each.id):
        if piece.id in vectors:
            first.setdefault(piece.memory_id, vectors[piece.id])
    able = [read[key] for key in wanted if key in first and key in read and not read[key].is_archived]
    least = ctx.engine.embedder.curve
    found = clusters.complete(
        [first[memory.id] for memory in able],
        is_near=lambda cosine: least.similarity(cosine) >= policy.similarity_threshold,
        size_max=MEMBERS_MAX,
    )
    for group in found:
        for members in _parts([able[i] for i in group]):
            if len(members) < policy.min_cluster_size:
                continue
            made.sources += len(members)
            if not is_dry:
                _merge(ctx, members, made)
    return made


def _parts(members: list[Memory]) -> list[list[Memory]]:
    """A cluster in parts of at most CHARS_MAX characters, by time."""
    parts: list[list[Memory]] = [[]]
    size = 0
    for memory in sorted(members, key=lambda each: (each.happened_at, each.id)):
        if parts[-1] and size + len(memory.body) > CHARS_MAX:
            parts.append([])
            size = 0
        parts[-1].append(memory)
        size += len(memory.body)
    return parts


def lines_of(members: Sequence[Memory]) -> str:
    """Every distinct line of the members' texts, in their order."""
    return "\n".join(dict.fromkeys(line for memory in members for line in memory.body.splitlines() if line.strip()))


def _merge(ctx: Context, members: Sequence[Memory], made: Made) -> None:
    body = lines_of(members)
    draft = Draft(
        title=f"{members[0].title} (and {len(members) - 1} more)"[:200],
        body=body,
        kind=KIND_CONSOLIDATED,
        memory_type="semantic",
        concept=members[0].concept,
        importance=min(1.0, sum(memory.importance for memory in members) / len(members) + 0.1),
        decays=True,
        source=members[0].source,
        scope=members[0].scope,
    )
    ready = prepare(ctx.engine, draft, may_be_recalled=True)
    with ctx.engine.store.writing() as tx:
        held: list[Memory] = []
        for memory in sorted(members, key=lambda each: each.id):
            now = rows.by_uuid(tx, library_ids=[memory.library_id], memory_id=memory.id, is_held=True)
            if now is None or now.seal != memory.seal:
                return  # one was changed meanwhile: the next sweep looks again
            held.append(now)
        space = rows.namespace_of(tx, held[0])
        fresh = memories.draw(tx, ctx, ready, space, None)
        chunk_ids = index.replace_chunks(tx, fresh.id, was=None, now=index.facets_of(fresh), pieces=ready.pieces)
        memories.add_tags(tx, fresh, (CONSOLIDATED,))
        for memory in held:
            links.put(tx, _source(fresh, memory, tx.now))
        lifecycle.hide(tx, held, why=CONSOLIDATED)
        ledger = Ledger(tx, ctx, [fresh.library_id])
        fresh = ledger.insert(fresh)
        for memory in held:
            ledger.update(lifecycle.archived(tx, memory, why=CONSOLIDATED), was=memory)
        made.events += ledger.close(
            "memory.consolidated",
            {fresh.library_id: fresh.id},
            hash=salted(fresh),
            ids=[memory.id for memory in held],
            namespace=fresh.namespace_id,
            number=fresh.number,
        )
        made.ids.append(fresh.id)
        tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))


def _source(fresh: Memory, memory: Memory, now: int) -> Link:
    return Link(
        library_id=fresh.library_id,
        from_id=fresh.id,
        to_id=memory.id,
        to_library_id=memory.library_id,
        relation=DERIVED_FROM,
        weight=1.0,
        created_by=BY_CONSOLIDATION,
        created_at=now,
    )
