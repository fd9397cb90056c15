"""A memory beside its neighbours: what it contradicts, what it is like. Links are all that comes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.engine import candidates, models
from engram.engine.context import Context
from engram.engine.ledger import Ledger
from engram.model import (
    AUTO_SIMILAR,
    BY_AUTO_LINK,
    BY_CONTRADICTIONS,
    CONTRADICTS,
    KIND_CONSOLIDATED,
    KIND_PROMPT,
    KIND_REFLECTION,
    SCOPE_PERSONAL,
    Link,
    Memory,
)
from engram.rules import analyse, contradict, rank
from engram.store import chunks, links, uncompared
from engram.store import memories as rows
from engram.store.base import Filter, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.embed import Embedder
    from engram.engine.context import Engine
    from engram.rules.contradict import Verdict
    from engram.store.base import Tx

NEAR_MAX = 10  # nearest memories that are compared
WORDS_MAX = 10  # and those that words bring
CONCEPT_MAX = 10
TERMS_MAX = 8
CHUNKS_MAX = 4  # of a long text
SIMILAR_MIN = 0.5
AUTO_MIN = 0.75
AUTO_MAX = 5
COMPARED_AT_ONCE = 8
TEXT_CHARS_MAX = 2_000
# What others' texts were made into is no claim of its own.
APART = frozenset({KIND_PROMPT, KIND_CONSOLIDATED, KIND_REFLECTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory near another one."""

    memory: Memory
    similarity: float | None  # 0..1; None: one of the two has no vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that can't both hold."""

    newer: Memory
    older: Memory
    similarity: float | None
    verdict: Verdict


def around(tx: Tx, embedder: Embedder, memory: Memory, vectors: Sequence[np.ndarray]) -> list[Neighbour]:
    """The live memories of a memory's namespace that are near it: by vectors, by words, by an equal concept."""
    where = Filter(
        places=(
            Place(library_id=memory.library_id, namespace_id=memory.namespace_id),
            Place(library_id=memory.library_id, namespace_id=memory.namespace_id, place=SCOPE_PERSONAL),
        )
    )
    cosines: dict[int, float] = {}
    model = chunks.model_id(tx, embedder.model_id) if vectors else None
    if model is not None:
        for vector in vectors[:CHUNKS_MAX]:
            for chunk_id, cosine in tx.nearest(where, model=model, query=vector, limit=NEAR_MAX * 2):
                cosines[chunk_id] = max(cosine, cosines.get(chunk_id, -1.0))
    by_words = _by_words(tx, where, memory)
    if model is not None:
        rest = [chunk_id for chunk_id in by_words if chunk_id not in cosines]
        for vector in vectors[:1] if rest else ():
            cosines |= tx.cosines(where, rest, model=model, query=vector)
    found = chunks.candidates(tx, list(dict.fromkeys([*cosines, *by_words])))
    similar: dict[str, float] = {}
    for chunk_id, cosine in cosines.items():
        if chunk_id in found:
            likeness = embedder.curve.similarity(cosine)
            similar[found[chunk_id].memory_id] = max(likeness, similar.get(found[chunk_id].memory_id, 0.0))
    near = sorted((key for key, value in similar.items() if value >= SIMILAR_MIN), key=lambda key: -similar[key])
    wanted = [key for key in near if key != memory.id][:NEAR_MAX]
    wanted += [found[chunk_id].memory_id for chunk_id in by_words if chunk_id in found]
    keys = [(memory.library_id, key) for key in dict.fromkeys(wanted) if key != memory.id]
    keys += rows.with_concept(
        tx,
        library_id=memory.library_id,
        namespace_id=memory.namespace_id,
        concept=memory.concept,
        limit=CONCEPT_MAX,
    ) if memory.concept else []  # fmt: skip
    read = rows.by_keys(tx, list(dict.fromkeys(keys)))
    return [
        Neighbour(memory=other, similarity=similar.get(other.id))
        for other in read.values()
        if other.id != memory.id and not other.is_archived
    ]


def _by_words(tx: Tx, where: Filter, memory: Memory) -> list[int]:
    """The chunks that share the rarest words of a memory."""
    text = f"{memory.title} {memory.body[:TEXT_CHARS_MAX]}"
    terms = sorted(
        (term for term in analyse.query_terms(text) if not term.is_compound),
        key=lambda term: (not term.is_identifier, -len(term.text), term.text),
    )[:TERMS_MAX]
    if not terms:
        return []
    dfs = [tx.count_words(where.library_ids, term) for term in terms]
    count = max([*dfs, 1])
    idfs = [rank.idf(df, count) for df in dfs]
    return candidates.by_words(tx, where, terms, dfs, idfs)[:WORDS_MAX]


def conflicts(memory: Memory, near: Sequence[Neighbour]) -> list[Conflict]:
    """Which of the neighbours a memory contradicts, the surest first."""
    if memory.kind in APART:
        return []
    found: list[Conflict] = []
    for one in near:
        other = one.memory
        if other.kind in APART or _are_two_events(memory, other):
            continue
        older, newer = sorted((other, memory), key=_said_at)
        verdict = contradict.compare(_claims(older), _claims(newer), similarity=one.similarity)
        if verdict.is_flagged:
            found.append(Conflict(newer=newer, older=older, similarity=one.similarity, verdict=verdict))
    return sorted(found, key=lambda each: (-each.verdict.confidence, each.older.id, each.newer.id))


def _are_two_events(one: Memory, other: Memory) -> bool:
    """Two things that happened at two times: neither takes the other's place."""
    is_event = one.memory_type == other.memory_type == "episodic"
    return is_event and None not in (one.event_at, other.event_at) and one.event_at != other.event_at


def _said_at(memory: Memory) -> tuple[int, int, int]:
    """What came first: by validity, else event, else creation."""
    at = memory.valid_from if memory.valid_from is not None else memory.happened_at
    return at, memory.created_at, memory.number or 2**62  # one that is being made has no number yet


def _claims(memory: Memory) -> str:
    """What a memory says: its text, with the title before it where that says more."""
    body = memory.body
    return body if body.startswith(memory.title.rstrip(".…")) else f"{memory.title}.\n{body}"


def link_conflicts(tx: Tx, found: Sequence[Conflict]) -> list[Conflict]:
    """Note contradictions as links, but for those that somebody settled; returns the ones that are new."""
    made: list[Conflict] = []
    for each in found:
        ends = ((each.newer.library_id, each.newer.id), (each.older.library_id, each.older.id))
        if links.between(tx, *ends, CONTRADICTS):
            continue
        links.put(
            tx,
            Link(
                library_id=each.newer.library_id,
                from_id=each.newer.id,
                to_id=each.older.id,
                to_library_id=each.older.library_id,
                relation=CONTRADICTS,
                weight=each.verdict.confidence,
                created_by=BY_CONTRADICTIONS,
                created_at=tx.now,
                note=json.dumps(described(each), ensure_ascii=False, separators=(",", ":")),
            ),
        )
        made.append(each)
    return made


def described(conflict: Conflict) -> dict[str, Any]:
    """What made a contradiction, as its link keeps it."""
    return {
        "signals": [
            {"type": signal.type, "description": signal.description, "weight": signal.weight}
            for signal in conflict.verdict.signals
        ],
        "suggestedStrategy": conflict.verdict.strategy,
        **({} if conflict.similarity is None else {"similarity": round(conflict.similarity, 3)}),
    }


def link_similar(tx: Tx, memory: Memory, near: Sequence[Neighbour]) -> int:
    """Note the memories that are most like one; returns how many."""
    like = [one for one in near if one.similarity is not None and one.similarity >= AUTO_MIN]
    like.sort(key=lambda one: (-(one.similarity or 0.0), one.memory.id))
    for one in like[:AUTO_MAX]:
        links.put(
            tx,
            Link(
                library_id=memory.library_id,
                from_id=memory.id,
                to_id=one.memory.id,
                to_library_id=one.memory.library_id,
                relation=AUTO_SIMILAR,
                weight=round(one.similarity or 0.0, 4),
                created_by=BY_AUTO_LINK,
                created_at=tx.now,
            ),
        )
    return min(len(like), AUTO_MAX)


def compare_waiting(engine: Engine, *, most: int = COMPARED_AT_ONCE) -> int:
    """Compare memories whose vectors came after they were saved; safe to run twice. Returns how many were."""
    with engine.store.reading() as tx:
        choice = models.current(tx)
        waiting = uncompared.waiting(tx, most)
        if not waiting:
            return 0
        if choice.model_id != engine.embedder.model_id:
            return 0  # first the worker follows the switch
        model = chunks.model_id(tx, choice.model_id)
        seen: list[tuple[Memory, list[Neighbour], list[Conflict]]] = []
        for memory in waiting:
            ids = chunks.ids_read(tx, library_id=memory.library_id, memory_id=memory.id)
            vectors = chunks.vectors(tx, ids[:CHUNKS_MAX], model) if model is not None else {}
            near = [] if memory.is_archived else around(tx, engine.embedder, memory, list(vectors.values()))
            seen.append((memory, near, conflicts(memory, near)))
    ctx = Context(engine=engine, actor_id=BY_CONTRADICTIONS)
    with engine.store.writing() as tx:
        made: dict[str, list[str]] = {}
        for memory, near, found in sorted(seen, key=lambda each: each[0].id):
            held = rows.by_uuid(tx, library_ids=[memory.library_id], memory_id=memory.id, is_held=True)
            if held is None or held.seal != memory.seal:
                continue  # changed meanwhile: it waits for its new vector, or is gone
            live = _still_live(tx, near)
            links.drop_similar(tx, memory)
            link_similar(tx, memory, [one for one in near if one.memory.id in live])
            new = link_conflicts(tx, [each for each in found if {each.newer.id, each.older.id} - {memory.id} <= live])
            for each in new:
                made.setdefault(memory.library_id, []).extend((each.newer.id, each.older.id))
            uncompared.done(tx, [(memory.library_id, memory.id)])
        if made:
            ledger = Ledger(tx, ctx, made)
            ledger.close("memory.compared", {key: ids[0] for key, ids in made.items()}, contradictions=made)
    return len(seen)


def _still_live(tx: Tx, near: Sequence[Neighbour]) -> set[str]:
    """Ids of the neighbours that are as they were read."""
    now = rows.by_keys(tx, [(one.memory.library_id, one.memory.id) for one in near])
    return {one.memory.id for one in near if one.memory.id in now and now[one.memory.id].seal == one.memory.seal}
