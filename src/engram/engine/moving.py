"""The steps of a merge: memories and sessions from one namespace of a library to another, and back.

Each step is one transaction with one event that lists what it moved. Texts, versions, ids and numbers stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.engine import access, index
from engram.engine.ledger import Ledger
from engram.errors import Conflict
from engram.model import TOPIC_KEY_CHARS_MAX, Memory, ProjectMerge, Role
from engram.store import libraries, merges
from engram.store import memories as rows
from engram.store.merges import UNMERGING, Trace

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Facets, Tx
    from engram.store.chunks import Piece

BATCH = 500  # memories in a transaction
BATCH_CHARS = 2_000_000  # and characters, so that nobody waits long for the turn to write
SUFFIXES_TRIED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Rekeyed:
    """A memory whose topic key a merge changed, or could not give back."""

    label: str  # how the caller names the memory
    title: str
    was: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one transaction moved."""

    moved: int
    rekeyed: list[Rekeyed]


@dataclass(slots=True)
class _Plan:
    """What a transaction will change, found before it takes the library's lock."""

    changes: list[tuple[Memory, Memory]] = field(default_factory=list[tuple[Memory, Memory]])  # (after, was)
    traces: list[Trace] = field(default_factory=list[Trace])
    rekeyed: list[Rekeyed] = field(default_factory=list[Rekeyed])
    given: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])  # (scope, key)


def move_memories(ctx: Context, part: ProjectMerge) -> Step | None:
    """Move the next memories of a merge, or back where it is taken back; None when none are left.

    Raises:
        Conflict: another process turned the merge round meanwhile.
    """
    with ctx.engine.store.reading() as tx:
        chosen = _chosen(merges.sizes(tx, part, limit=BATCH))
        if not chosen:
            return None
        seen = {memory.id: memory for memory in merges.memories(tx, library_id=part.library_id, ids=chosen)}
        spans = merges.spans(tx, library_id=part.library_id, memory_ids=chosen)
        spaces = {space.id: space.folded for space in libraries.namespaces(tx, library_ids=[part.library_id])}
    words = {  # outside the transaction: it takes longer than all the rest
        memory.id: index.words_of(memory, [span for span in spans if span.memory_id == memory.id])
        for memory in seen.values()
        if not memory.is_hidden
    }
    with ctx.engine.store.writing() as tx:
        place = f"{part.library_id}:{spaces[_target(part)]}"
        tx.lock(*{f"topic:{place}:{m.scope}:{m.topic_key}" for m in seen.values() if m.topic_key})
        who = _hold(tx, ctx, part)
        held = merges.memories(tx, library_id=part.library_id, ids=chosen, is_held=True)
        same = [memory for memory in held if memory.seal == seen[memory.id].seal]  # changed ones come next time
        plan = _plan_back(tx, who, part, same) if part.state == UNMERGING else _plan(tx, part, same)
        _reindex(tx, ctx, part, plan, words)
        if plan.changes:
            _record(tx, ctx, part, plan)
    return Step(moved=len(same), rekeyed=plan.rekeyed)


def move_sessions(ctx: Context, part: ProjectMerge) -> int:
    """Move the next sessions of a merge, or back; returns how many, 0 when none are left."""
    with ctx.engine.store.writing() as tx:
        _hold(tx, ctx, part)
        moved = merges.move_sessions(tx, part, limit=BATCH)
        if moved:
            ledger = Ledger(tx, ctx, [part.library_id])
            ledger.close("project.moved", {part.library_id: _target(part)}, merge=part.id, sessions=moved)
    return len(moved)


def move_back_keys(ctx: Context, part: ProjectMerge) -> list[Rekeyed]:
    """Give memories that were there before the merge their topic keys back; returns those that another holds now."""
    kept: list[Rekeyed] = []
    while True:
        with ctx.engine.store.writing() as tx:
            traces = merges.rekeyed(tx, part, is_there=True, limit=BATCH)
            if not traces:
                return kept
            ids = [trace.memory_id for trace in traces]
            spaces = {space.id: space.folded for space in libraries.namespaces(tx, library_ids=[part.library_id])}
            keys = {trace.memory_id: trace.was_key for trace in traces}
            seen = merges.memories(tx, library_id=part.library_id, ids=ids)
            tx.lock(*{f"topic:{part.library_id}:{spaces[m.namespace_id]}:{m.scope}:{keys[m.id]}" for m in seen})
            who = _hold(tx, ctx, part)
            held = {m.id: m for m in merges.memories(tx, library_id=part.library_id, ids=ids, is_held=True)}
            plan = _Plan()
            for trace in traces:
                memory = held.get(trace.memory_id)
                if memory is not None and memory.topic_key == trace.new_key:
                    _key_back(tx, who, plan, memory, memory, trace.was_key or "")
            plan.changes = [(after, was) for after, was in plan.changes if after != was]
            _reindex(tx, ctx, part, plan, {})
            merges.drop_notes(tx, part, ids)
            if plan.changes:
                _record(tx, ctx, part, plan)
            kept += plan.rekeyed


def shown_keys(tx: Tx, who: Reach, part: ProjectMerge) -> list[Rekeyed]:
    """The topic keys that a merge changed."""
    traces = merges.rekeyed(tx, part)
    held = merges.memories(tx, library_id=part.library_id, ids=[trace.memory_id for trace in traces])
    found = {memory.id: memory for memory in held}
    return [
        _changed(who, found[trace.memory_id], trace.was_key or "", trace.new_key or "")
        for trace in traces
        if trace.memory_id in found
    ]


def _changed(who: Reach, memory: Memory, was: str, now: str) -> Rekeyed:
    return Rekeyed(label=who.label(memory), title=memory.title, was=was, now=now)


def _target(part: ProjectMerge) -> str:
    """The namespace to which memories move now."""
    return part.from_id if part.state == UNMERGING else part.into_id


def _chosen(sizes: list[tuple[str, int]]) -> list[str]:
    """The first ids that together stay under the limit of characters, one at least."""
    chosen: list[str] = []
    total = 0
    for memory_id, characters in sizes:
        total += characters
        if chosen and total > BATCH_CHARS:
            break
        chosen.append(memory_id)
    return chosen


def _hold(tx: Tx, ctx: Context, part: ProjectMerge) -> Reach:
    """Hold the merge and both namespaces, if the caller may still write there and the merge goes the same way."""
    who = access.reach(tx, ctx)
    who.require(part.library_id, Role.WRITE)
    keys = [(part.library_id, part.from_id), (part.library_id, part.into_id)]
    merges.hold_namespaces(tx, keys, is_changed=False)
    held = merges.hold(tx, part)
    if held is None or held.state != part.state:
        raise Conflict(
            "another process has finished this merge, or takes it back",
            hint="See `engram project list` for how it stands",
        )
    return who


def _plan(tx: Tx, part: ProjectMerge, moving: list[Memory]) -> _Plan:
    """Where each memory goes; where a topic key is taken there, the older memory's gets a suffix."""
    plan = _Plan()
    for memory in moving:
        after = replace(memory, namespace_id=part.into_id)
        held = None if memory.is_archived or not memory.topic_key else _holder(tx, after)
        trace = Trace(memory_id=memory.id, is_moved=True)
        if held is not None and memory.topic_key:
            key = _free_key(tx, part, plan, memory.scope, memory.topic_key)
            if (held.created_at, held.number) < (memory.created_at, memory.number):
                plan.changes.insert(0, (replace(held, topic_key=key), held))  # before the one that takes its key
                plan.traces.append(Trace(memory_id=held.id, is_moved=False, was_key=memory.topic_key, new_key=key))
            else:
                after = replace(after, topic_key=key)
                trace = replace(trace, was_key=memory.topic_key, new_key=key)
        plan.changes.append((after, memory))
        plan.traces.append(trace)
    return plan


def _plan_back(tx: Tx, who: Reach, part: ProjectMerge, moving: list[Memory]) -> _Plan:
    """Each memory goes home, with the key that it had where nobody holds that now."""
    plan = _Plan()
    traces = merges.traces(tx, part, [memory.id for memory in moving])
    for memory in moving:
        trace = traces[memory.id]
        wanted = memory.topic_key or ""
        if trace.was_key and memory.topic_key == trace.new_key:
            wanted = trace.was_key
        _key_back(tx, who, plan, replace(memory, namespace_id=part.from_id), memory, wanted)
    merges.drop_notes(tx, part, [memory.id for memory in moving])
    return plan


def _key_back(tx: Tx, who: Reach, plan: _Plan, after: Memory, was: Memory, wanted: str) -> None:
    """Plan a change with the wanted topic key, else with the present one, else with none; what is kept is said."""
    tried = [key for key in dict.fromkeys([wanted, was.topic_key or ""]) if key]
    free = [key for key in tried if was.is_archived or _is_free(tx, plan, replace(after, topic_key=key))]
    key = free[0] if free else ""
    if key:
        plan.given.add((f"{after.namespace_id}:{after.scope}", key))
    if wanted and key != wanted:
        plan.rekeyed.append(_changed(who, was, wanted, key))
    plan.changes.append((replace(after, topic_key=key or None), was))


def _is_free(tx: Tx, plan: _Plan, memory: Memory) -> bool:
    if (f"{memory.namespace_id}:{memory.scope}", memory.topic_key or "") in plan.given:
        return False
    held = _holder(tx, memory)
    return held is None or held.id == memory.id


def _holder(tx: Tx, memory: Memory) -> Memory | None:
    """The live memory that holds a memory's topic key in its place."""
    return rows.by_topic(
        tx,
        library_id=memory.library_id,
        namespace_id=memory.namespace_id,
        scope=memory.scope,
        topic_key=memory.topic_key or "",
    )


def _free_key(tx: Tx, part: ProjectMerge, plan: _Plan, scope: str, key: str) -> str:
    """The key with the first suffix that no memory of either namespace holds."""
    first = 2
    while True:
        tried = [f"{key[: TOPIC_KEY_CHARS_MAX - 8]}-{n}" for n in range(first, first + SUFFIXES_TRIED)]
        held = merges.live_keys(
            tx, library_id=part.library_id, namespace_ids=[part.from_id, part.into_id], scope=scope, keys=tried
        )
        free = [each for each in tried if each not in held and (scope, each) not in plan.given]
        if free:
            plan.given.add((scope, free[0]))
            return free[0]
        first += SUFFIXES_TRIED


def _reindex(tx: Tx, ctx: Context, part: ProjectMerge, plan: _Plan, words: dict[str, list[tuple[int, Piece]]]) -> None:
    """Words and vectors under the new namespace; a memory with another topic key is cut anew."""
    visible = [(after, was) for after, was in plan.changes if not was.is_hidden]
    spans = merges.spans(tx, library_id=part.library_id, memory_ids=[was.id for _, was in visible], is_held=True)
    by_memory: dict[str, list[merges.ChunkSpan]] = {}
    for span in spans:
        by_memory.setdefault(span.memory_id, []).append(span)
    dropped: list[int] = []
    fresh: list[tuple[int, Piece, Facets]] = []
    vectors: dict[Facets, list[int]] = {}
    woken: list[int] = []
    for after, was in visible:
        facets, here = index.facets_of(after), by_memory.get(was.id, [])
        known = words.get(was.id, [])
        if after.topic_key != was.topic_key or [span.id for span in here] != [chunk_id for chunk_id, _ in known]:
            pieces = index.cut_memory(ctx.engine.embedder, after)
            woken += index.replace_chunks(tx, was.id, was=index.facets_of(was), now=facets, pieces=pieces)
            continue
        dropped += [chunk_id for chunk_id, _ in known]
        fresh += [(chunk_id, piece, facets) for chunk_id, piece in known]
        vectors.setdefault(facets, []).extend(chunk_id for chunk_id, _ in known)
    if dropped:
        tx.drop_words(dropped)
    for chunk_id, piece, facets in fresh:
        tx.put_words(chunk_id, title=piece.title, body=piece.body, keys=piece.keys, facets=facets, length=piece.length)
    for facets, chunk_ids in vectors.items():
        tx.move_vectors(chunk_ids, facets)
    tx.after_commit(lambda: ctx.engine.worker.wake(woken))


def _record(tx: Tx, ctx: Context, part: ProjectMerge, plan: _Plan) -> None:
    """Rows, seals, totals, what the merge did to each, and the one event."""
    ledger = Ledger(tx, ctx, [part.library_id])
    for after, was in plan.changes:
        ledger.update(after, was=was)
    for trace in plan.traces:
        merges.note(tx, part, trace)
    moved = [was.id for after, was in plan.changes if after.namespace_id != was.namespace_id]
    rekeyed = [was.id for after, was in plan.changes if after.topic_key != was.topic_key]
    ledger.close("project.moved", {part.library_id: _target(part)}, merge=part.id, memories=moved, rekeyed=rekeyed)
