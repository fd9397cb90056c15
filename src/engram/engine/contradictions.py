"""Contradictions: looked for, listed, decided. Nothing is archived on a heuristic: a caller decides."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engram.engine import access, comparing, lifecycle, places
from engram.engine.ledger import Ledger
from engram.errors import Conflict
from engram.model import CONTRADICTS, SUPERSEDED, SUPERSEDES, Link, Memory, Role
from engram.store import chunks, links
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tx

KEEP_NEWEST, KEEP_OLDEST, KEEP_IMPORTANT = "keep_newest", "keep_oldest", "keep_important"
KEEP_BOTH, MANUAL = "keep_both", "manual"
STRATEGIES = (KEEP_NEWEST, KEEP_OLDEST, KEEP_IMPORTANT, KEEP_BOTH, MANUAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What one memory contradicts."""

    memory: Memory
    conflicts: tuple[comparing.Conflict, ...]
    candidates: int
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A contradiction that nobody decided."""

    source: Memory  # the newer one
    target: Memory
    confidence: float
    details: dict[str, Any]  # signals, suggestedStrategy, similarity


def check(ctx: Context, ref: str, *, limit: int) -> Checked:
    """What a memory contradicts now; writes nothing.

    Raises:
        NotFound: no such memory, or archived for another reason than a successor.
    """
    began = time.monotonic()
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref)
        lifecycle.require_shown(who, memory, ref)
        embedder = ctx.engine.embedder
        model = chunks.model_id(tx, embedder.model_id)
        ids = chunks.ids_read(tx, library_id=memory.library_id, memory_id=memory.id)[: comparing.CHUNKS_MAX]
        vectors = chunks.vectors(tx, ids, model) if model is not None else {}
        near = comparing.around(tx, embedder, memory, [vectors[key] for key in ids if key in vectors])
        found = comparing.conflicts(memory, near)
        settled = {
            frozenset((link.from_id, link.to_id))
            for link in links.touching(tx, [(memory.library_id, memory.id)], relations=[CONTRADICTS])
            if link.settled_at is not None
        }
    open_ones = [each for each in found if frozenset((each.newer.id, each.older.id)) not in settled]
    return Checked(
        memory=memory,
        conflicts=tuple(open_ones[:limit]),
        candidates=len(near),
        latency_ms=round((time.monotonic() - began) * 1000),
    )


def unresolved(ctx: Context, *, limit: int) -> list[Open]:
    """The contradictions of the own set that nobody decided, the newest first."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        covered = places.recalled(tx, ctx, who)
        found = links.unsettled(tx, covered.where.library_ids, limit=limit)
        read = _ends(tx, found)
        return [
            Open(
                source=read[link.from_id],
                target=read[link.to_id],
                confidence=link.weight,
                details=json.loads(link.note) if link.note else {},
            )
            for link in found
            if link.from_id in read and link.to_id in read
        ]


def _ends(tx: Tx, found: Sequence[Link]) -> dict[str, Memory]:
    keys = [(link.library_id, link.from_id) for link in found] + [(link.to_library_id, link.to_id) for link in found]
    return rows.by_keys(tx, list(dict.fromkeys(keys)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What was decided about two memories."""

    is_resolved: bool
    kept: Memory | None = None
    archived: Memory | None = None
    events: tuple[str, ...] = ()


def resolve(ctx: Context, source_ref: str, target_ref: str, strategy: str) -> Resolved:
    """Decide between two memories; the loser is superseded and can be restored.

    Raises:
        NotFound: no such memory.
        AccessDenied: too small a role.
        Conflict: an archived side, equal ids, or two libraries.
    """
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        source, target = _held(tx, who, source_ref, target_ref)
        if strategy == MANUAL:
            return Resolved(is_resolved=False)
        if strategy == KEEP_BOTH:
            _settle(tx, source, target)
            ledger = Ledger(tx, ctx, [source.library_id])
            events = ledger.close("contradiction.settled", {source.library_id: source.id}, ids=[source.id, target.id])
            return Resolved(is_resolved=True, events=tuple(events))
        kept, loser = _chosen(source, target, strategy)
        gone = _superseded(tx, kept, loser, strategy)
        _settle(tx, source, target)
        links.put(
            tx,
            Link(
                library_id=kept.library_id,
                from_id=kept.id,
                to_id=loser.id,
                to_library_id=loser.library_id,
                relation=SUPERSEDES,
                weight=1.0,
                created_by=ctx.actor_id,
                created_at=tx.now,
                note=json.dumps({"validFrom": loser.valid_from, "validTo": loser.valid_to}),
            ),
        )
        ledger = Ledger(tx, ctx, [kept.library_id])
        gone = ledger.update(gone, was=loser)
        events = ledger.close(
            "contradiction.resolved", {kept.library_id: loser.id}, kept=kept.id, archived=loser.id, why=SUPERSEDED
        )
        return Resolved(is_resolved=True, kept=kept, archived=gone, events=tuple(events))


def _held(tx: Tx, who: Reach, source_ref: str, target_ref: str) -> tuple[Memory, Memory]:
    """Both memories, held in the order of their ids so that two callers never wait for each other."""
    seen = [access.memory(tx, who, ref, role=Role.WRITE) for ref in (source_ref, target_ref)]
    if seen[0].id == seen[1].id:
        raise Conflict("sourceId and targetId are one memory", hint="Name the two that contradict each other")
    if seen[0].library_id != seen[1].library_id:
        raise Conflict("the two are in two libraries", hint="Only memories of one library can supersede each other")
    held = {each.id: access.memory(tx, who, each.id, role=Role.WRITE, is_held=True) for each in sorted(seen, key=_id)}
    for each in held.values():
        if each.is_archived:
            raise Conflict(
                f"memory {who.label(each)} was {each.archived_why}",
                hint=f"Bring it back first with `engram restore {each.number}`",
            )
    return held[seen[0].id], held[seen[1].id]


def _id(memory: Memory) -> str:
    return memory.id


def _chosen(source: Memory, target: Memory, strategy: str) -> tuple[Memory, Memory]:
    """(kept, archived); on a tie the source counts as the newer and the more important one."""
    ages = [each.valid_from if each.valid_from is not None else each.happened_at for each in (source, target)]
    if strategy == KEEP_IMPORTANT:
        return (source, target) if source.importance >= target.importance else (target, source)
    is_source_newer = ages[0] >= ages[1]
    return (source, target) if is_source_newer == (strategy == KEEP_NEWEST) else (target, source)


def _superseded(tx: Tx, kept: Memory, loser: Memory, strategy: str) -> Memory:
    """The loser as it is now: what was true until then ends there, what was never true never held."""
    gone = lifecycle.archived(tx, loser, why=SUPERSEDED)
    begin = loser.valid_from if loser.valid_from is not None else loser.happened_at
    if strategy == KEEP_NEWEST:
        return replace(gone, valid_to=kept.valid_from if kept.valid_from is not None else tx.now)
    return replace(gone, valid_from=begin, valid_to=begin)


def _settle(tx: Tx, source: Memory, target: Memory) -> None:
    """Settle the pair for good, whether or not it was noted before."""
    ends = ((source.library_id, source.id), (target.library_id, target.id))
    found = links.between(tx, *ends, CONTRADICTS)
    for link in found:
        links.put(tx, replace(link, settled_at=tx.now))
    if not found:
        links.put(
            tx,
            Link(
                library_id=source.library_id,
                from_id=source.id,
                to_id=target.id,
                to_library_id=target.library_id,
                relation=CONTRADICTS,
                weight=1.0,
                created_by=source.author_id,
                created_at=tx.now,
                settled_at=tx.now,
            ),
        )
