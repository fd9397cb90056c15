"""Reflection: tasks with evidence for a client's own model, and the insights that come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.engine import access, index, memories, places
from engram.engine.ledger import Ledger, salted
from engram.engine.prepare import prepare
from engram.errors import Conflict, NotFound
from engram.model import DERIVED_FROM, KIND_REFLECTION, Draft, Link, Memory, Role
from engram.rules import ids, reflect
from engram.store import links, reflections, tags
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tx
    from engram.store.reflections import Task

MEMORIES_MIN = 3
EVIDENCE_MAX = 12
LEASE_MS = 3_600_000
NO_INSIGHT = "NO_INSIGHT"
TAG = "reflection:"
CHOOSERS: dict[str, Callable[[Tx, str, str, int], list[Memory]]] = {
    "pattern": reflections.linked,
    "knowledge_gap": reflections.unlinked,
    "trend": reflections.ends,
    "contradiction_summary": reflections.contradicting,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Tasks for a client's model, or why there are none."""

    tasks: tuple[tuple[Task, str], ...] = ()  # with the prompt
    message: str = ""


def request(ctx: Context) -> Asked:
    """One task for each type, within the namespace that has the most news; each is out for an hour."""
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        covered = places.recalled(tx, ctx, who)
        mine = [key for key in covered.where.library_ids if who.role(key) >= Role.READ]
        inside = {place.namespace_id for place in covered.where.places if place.namespace_id}
        found = [each for each in reflections.news(tx, mine) if not inside or each[1] in inside]
        if not found or found[0][3] < MEMORIES_MIN:
            return Asked(message=f"Nothing to reflect on yet: it takes {MEMORIES_MIN} memories in a namespace")
        library_id, namespace_id, _, _ = found[0]
        tx.lock(f"reflection:{library_id}:{namespace_id}")
        out = reflections.leased(tx, library_id, namespace_id)
        tasks: list[tuple[Task, str]] = []
        for kind in ctx.engine.settings.reflections:
            evidence = [] if kind in out else CHOOSERS[kind](tx, library_id, namespace_id, EVIDENCE_MAX)
            if len(evidence) < 2:
                continue
            task = reflections.Task(
                library_id=library_id,
                id=ids.uuid7(tx.now),
                namespace_id=namespace_id,
                actor_id=ctx.actor_id,
                type=kind,
                evidence=tuple(memory.id for memory in evidence),
                made_at=tx.now,
                lease_until=tx.now + LEASE_MS,
            )
            if who.role(library_id) >= Role.WRITE:  # a reader causes no write
                reflections.insert(tx, task)
            prompt = reflect.prompt(kind, task.id, evidence, count=index.tokens().count)
            tasks.append((task, prompt))
    if not tasks:
        return Asked(message="Every task is out with somebody, or there is nothing new; ask again in an hour")
    return Asked(tasks=tuple(tasks), message=f"{len(tasks)} tasks; answer each with store_reflection")


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """A stored insight with its evidence."""

    memory: Memory
    type: str
    evidence: tuple[str, ...]


def store(
    ctx: Context, kind: str, insight: str, *, task_id: str = "", related: Sequence[str] = (), confidence: float = 0.5
) -> Insight | None:
    """Keep an insight with links to its evidence; None where the task is closed without one.

    Raises:
        NotFound: no such task, or one of the memories is not there.
        Conflict: the task was answered before.
    """
    is_empty = insight.strip() == NO_INSIGHT
    ready = None
    if not is_empty:
        draft = Draft(
            title="",
            body=insight,
            kind=KIND_REFLECTION,
            memory_type="semantic",
            importance=0.5 + 0.25 * confidence,
            confidence=confidence,
            decays=True,
            source=ctx.client,
            tags=(TAG + kind,),
        )
        ready = prepare(ctx.engine, draft)
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        task = _task(tx, who, task_id)
        evidence = [access.memory(tx, who, ref) for ref in related]
        if task is not None:
            read = rows.by_keys(tx, [(task.library_id, key) for key in task.evidence])
            evidence += [memory for memory in read.values() if memory.id not in {each.id for each in evidence}]
            reflections.close(tx, task)
        if ready is None:
            return None
        space = rows.namespace_of(tx, evidence[0]) if evidence else None
        if task is not None:
            space = rows.namespace_by_id(tx, task.library_id, task.namespace_id) or space
        if space is None:
            space, _ = places.open_namespace(tx, places.kept_in(tx, ctx, who))
        who.require(space.library_id, Role.WRITE)
        memory = memories.draw(tx, ctx, ready, space, None)
        chunk_ids = index.replace_chunks(tx, memory.id, was=None, now=index.facets_of(memory), pieces=ready.pieces)
        memories.add_tags(tx, memory, ready.draft.tags)
        inside = [each for each in evidence if each.library_id == memory.library_id]
        for each in inside:
            links.put(tx, _evidence(memory, each, ctx.actor_id, tx.now))
        ledger = Ledger(tx, ctx, [memory.library_id])
        memory = ledger.insert(memory)
        ledger.close(
            "memory.stored",
            {memory.library_id: memory.id},
            hash=salted(memory),
            kind=memory.kind,
            reflection=kind,
            namespace=memory.namespace_id,
            number=memory.number,
        )
        tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
        return Insight(memory=memory, type=kind, evidence=tuple(each.id for each in inside))


def _task(tx: Tx, who: Reach, task_id: str) -> Task | None:
    if not task_id:
        return None
    task = reflections.by_id(tx, who.readable(), task_id.strip().lower())
    if task is None:
        raise NotFound(f"there is no task {task_id[:80]}", hint="Ask for tasks with request_reflection")
    who.require(task.library_id, Role.WRITE)
    if task.done_at is not None:
        raise Conflict("this task was answered already", hint="Ask for new ones with request_reflection")
    return task


def _evidence(memory: Memory, each: Memory, actor_id: str, now: int) -> Link:
    return Link(
        library_id=memory.library_id,
        from_id=memory.id,
        to_id=each.id,
        to_library_id=each.library_id,
        relation=DERIVED_FROM,
        weight=1.0,
        created_by=actor_id,
        created_at=now,
    )


def listed(ctx: Context, *, kind: str = "", limit: int) -> list[Insight]:
    """Stored insights, the newest first."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        covered = places.recalled(tx, ctx, who)
        found = reflections.insights(tx, covered.where.library_ids, TAG + kind if kind else "", limit)
        keys = [(memory.library_id, memory.id) for memory in found]
        tagged = tags.of(tx, keys)
        evidence: dict[str, list[str]] = {}
        for link in links.touching(tx, keys, relations=[DERIVED_FROM]):
            evidence.setdefault(link.from_id, []).append(link.to_id)
        return [
            Insight(
                memory=memory,
                type=next((tag.removeprefix(TAG) for tag in tagged.get(memory.id, []) if tag.startswith(TAG)), ""),
                evidence=tuple(evidence.get(memory.id, ())),
            )
            for memory in found
        ]
