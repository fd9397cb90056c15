"""Search by similarity alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, candidates, places
from engram.engine.candidates import Extras, Question, Wait
from engram.rules import tagging
from engram.store import chunks
from engram.store import memories as rows

if TYPE_CHECKING:
    from engram.engine.context import Context
    from engram.engine.recall import Wanted
    from engram.model import Memory
    from engram.store.base import Filter, Tx

CHUNKS_A_MEMORY = 3  # nearest chunks that are asked for, for each memory that is wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Memories with their similarity, the most similar first."""

    hits: tuple[tuple[Memory, float], ...]
    pending: int
    notes: tuple[str, ...]


def search(ctx: Context, query: str, wanted: Wanted, *, limit: int, threshold: float) -> Found:
    """The memories nearest to a query by the model's curve, none under the threshold; superseded ones are left out."""

    def look(tx: Tx, question: Question, extras: Extras) -> Found | Wait:
        who = access.reach(tx, ctx)
        covered = places.recalled(tx, ctx, who, namespace=wanted.namespace, is_crossing=wanted.is_crossing)
        where = replace(
            covered.where,
            memory_types=wanted.memory_types,
            sources=wanted.sources,
            tags=tuple(tagging.fold(tag) for tag in wanted.tags),
        )
        waiting = candidates.waiting(tx, where, extras)
        if waiting:
            return Wait(waiting)
        notes = list(covered.notes)
        if question.vector is None and question.words_only:
            notes.append(f"nothing can be compared: {question.words_only}")
        hits = _nearest(tx, where, question, extras, limit, threshold)
        made = sum(where.covers(facets) for facets, _ in extras.vectors.values())
        pending = max(0, chunks.count_pending(tx, where) - made) if question.vector is not None else 0
        return Found(hits=tuple(hits), pending=pending, notes=tuple(notes))

    return candidates.answer(ctx.engine, query, look)


def _nearest(
    tx: Tx, where: Filter, question: Question, extras: Extras, limit: int, threshold: float
) -> list[tuple[Memory, float]]:
    asked = limit * CHUNKS_A_MEMORY
    while True:
        cosines = candidates.near(tx, where, question, extras, asked)
        found = chunks.candidates(tx, list(cosines))
        best: dict[tuple[str, str], float] = {}
        for chunk_id, piece in found.items():
            if piece.is_past(tx.now):
                continue
            key = (piece.library_id, piece.memory_id)
            similarity = question.embedder.curve.similarity(cosines[chunk_id])
            if similarity >= threshold:
                best[key] = max(similarity, best.get(key, 0.0))
        if len(best) >= limit or len(cosines) < asked:
            break
        lowest = min(cosines.values())
        if question.embedder.curve.similarity(lowest) < threshold:
            break  # what comes after these is under the threshold
        asked *= 4
    first = sorted(best.items(), key=lambda item: (-item[1], item[0][1]))[:limit]
    read = rows.by_keys(tx, [key for key, _ in first])
    return [(read[key[1]], similarity) for key, similarity in first if key[1] in read]
