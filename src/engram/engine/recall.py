"""Recall: the few things that matter for a question, with what always holds, within a token budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, candidates, index, places, policies
from engram.engine.candidates import Extras, Question, Wait
from engram.model import (
    CONTRADICTS,
    KIND_PROMPT,
    SCOPE_PERSONAL,
    SUPERSEDES,
    TAG_PINNED,
    Memory,
    Role,
    Span,
)
from engram.rules import decay, markers, rank, recall, tagging, times
from engram.rules.preview import preview
from engram.store import chunks, libraries, links
from engram.store import memories as rows
from engram.store.base import Filter, Place

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.model import Link
    from engram.rules.recall import Item
    from engram.store.base import Tx

SEEDS_MAX = 64  # memories that are scored
EXPANDED_MAX = 10  # of them whose links are followed
PER_NODE_MAX = 5
GRAPH_MAX = 20
HOPS_MAX = 2
STANDING_MAX = 50
WHOLE_TOKENS_MAX = 300  # a longer text is told by the part that answers
FOLLOWED_EXCEPT = frozenset({CONTRADICTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a recall covers."""

    memory_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    namespace: str = ""
    is_crossing: bool = False
    as_of: int | None = None
    has_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One memory that was recalled."""

    memory: Memory
    score: float
    namespace: str
    is_standing: bool
    is_of_graph: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A context, and what is in it."""

    context: str
    memories: tuple[Remembered, ...]
    latency_ms: int
    is_hybrid: bool
    standing_left_out: int
    pending: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    memory: Memory
    relevance: float
    span: Span
    is_of_graph: bool = False


def recall_context(ctx: Context, query: str, wanted: Wanted, *, tokens_max: int, is_counted: bool = True) -> Recalled:
    """The context for a question.

    Args:
        ctx: Who asks.
        query: Any text.
        wanted: What is covered.
        tokens_max: Of the whole context.
        is_counted: Note the use of what was told, where the caller may write.
    """
    began = time.monotonic()
    found = candidates.answer(ctx.engine, query, lambda tx, q, extras: _look(tx, ctx, q, extras, wanted, tokens_max))
    recalled, roles = found
    if is_counted:
        keys = [(each.memory.library_id, each.memory.id) for each in recalled.memories]
        may = [key for key in keys if roles.get(key[0], Role.NONE) >= Role.WRITE]
        if may:
            with ctx.engine.store.writing() as tx:
                rows.touch(tx, may)
    return replace(recalled, latency_ms=round((time.monotonic() - began) * 1000))


def _look(
    tx: Tx, ctx: Context, question: Question, extras: Extras, wanted: Wanted, tokens_max: int
) -> tuple[Recalled, dict[str, Role]] | Wait:
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
    at = tx.now if wanted.as_of is None else wanted.as_of
    scored = _found(tx, who, where, question, extras, wanted, at)
    standing = _standing(tx, who, where, at)
    told, by_id = _told(tx, question, scored, standing, wanted, tokens_max)
    spaces = {
        (space.library_id, space.id): space.name
        for space in libraries.namespaces(tx, library_ids=sorted({m.memory.library_id for m in by_id.values()}))
    } if told.items else {}  # fmt: skip
    memories = tuple(
        Remembered(
            memory=by_id[item.id].memory,
            score=item.score,
            namespace=_place(who, by_id[item.id].memory, spaces),
            is_standing=item.is_standing,
            is_of_graph=by_id[item.id].is_of_graph,
        )
        for item in told.items
    )
    pending = 0
    if question.vector is not None:
        made = sum(where.covers(facets) for facets, _ in extras.vectors.values())
        pending = max(0, chunks.count_pending(tx, where) - made)
    words = [f"searched by words alone: {question.words_only}"] if question.words_only else []
    recalled = Recalled(
        context=told.text,
        memories=memories,
        latency_ms=0,
        is_hybrid=question.vector is not None,
        standing_left_out=told.standing_left_out,
        pending=pending,
        notes=(*covered.notes, *words),
    )
    return recalled, {library_id: role for library_id, (_, role) in who.libraries.items()}


def _place(who: Reach, memory: Memory, spaces: dict[tuple[str, str], str]) -> str:
    name = spaces.get((memory.library_id, memory.namespace_id), "")
    return name if memory.library_id == who.bound.id else f"{who.libraries[memory.library_id][0].name}/{name}"


def _found(
    tx: Tx, who: Reach, where: Filter, question: Question, extras: Extras, wanted: Wanted, at: int
) -> list[_Scored]:
    """What answers the question, and what its links bring, each with its relevance."""
    gathered = candidates.gather(tx, who, where, question, extras)
    ranked = candidates.scored(tx, gathered, question)[:SEEDS_MAX]
    read = rows.by_keys(tx, [(gathered.chunks[one.chunk_id].library_id, one.memory_id) for one in ranked])
    seeds: list[_Scored] = []
    for one in ranked:
        memory = read.get(one.memory_id)
        if memory is None or not _holds(memory, wanted, at):
            continue
        piece = gathered.chunks[one.chunk_id]
        seeds.append(_Scored(memory, one.score, Span(start=piece.first_char, end=piece.last_char)))
    return [*seeds, *_expanded(tx, where, question, seeds, wanted, at)]


def _holds(memory: Memory, wanted: Wanted, at: int) -> bool:
    """Whether a memory is told: what holds at that time, whoever follows it now."""
    if memory.is_hidden or memory.kind == KIND_PROMPT:
        return False
    if wanted.as_of is not None:
        return memory.holds_at(at)
    if wanted.has_superseded:
        return True
    return not memory.is_archived and _is_current(memory, at)


def _is_current(memory: Memory, now: int) -> bool:
    begins_later = memory.valid_from is not None and memory.valid_from > now
    return not begins_later and (memory.valid_to is None or now < memory.valid_to)


def _expanded(
    tx: Tx, where: Filter, question: Question, seeds: list[_Scored], wanted: Wanted, at: int
) -> list[_Scored]:
    """What the links of the best seeds lead to: seed's relevance x weight x hop decay, on top of its own likeness."""
    known = {(seed.memory.library_id, seed.memory.id) for seed in seeds}
    bonus: dict[tuple[str, str], float] = {}
    front = {(s.memory.library_id, s.memory.id): s.relevance for s in seeds[:EXPANDED_MAX]}
    for _ in range(HOPS_MAX):
        if not front or len(bonus) >= GRAPH_MAX:
            break
        onward: dict[tuple[str, str], float] = {}
        for source, target, weight in _steps(links.touching(tx, list(front)), front):
            given = front[source] * weight * recall.HOP_DECAY
            if target in known or (len(bonus) >= GRAPH_MAX and target not in bonus):
                continue
            bonus[target] = max(given, bonus.get(target, 0.0))
            onward[target] = bonus[target]
        front = onward
    return _with_likeness(tx, where, question, bonus, wanted, at)


def _steps(
    found: list[Link], front: dict[tuple[str, str], float]
) -> list[tuple[tuple[str, str], tuple[str, str], float]]:
    """(from, to, weight) along links in either direction, the strongest of each node first, within its budget."""
    steps: list[tuple[tuple[str, str], tuple[str, str], float]] = []
    taken: dict[tuple[str, str], int] = {}
    for link in found:
        if link.relation in FOLLOWED_EXCEPT or link.library_id != link.to_library_id:
            continue
        ends = ((link.library_id, link.from_id), (link.to_library_id, link.to_id))
        for source, target in (ends, ends[::-1]):
            if source in front and taken.get(source, 0) < PER_NODE_MAX:
                taken[source] = taken.get(source, 0) + 1
                steps.append((source, target, link.weight))
    return steps


def _with_likeness(
    tx: Tx, where: Filter, question: Question, bonus: dict[tuple[str, str], float], wanted: Wanted, at: int
) -> list[_Scored]:
    if not bonus:
        return []
    pieces = chunks.of_memories(tx, list(bonus))
    covered = chunks.kept(tx, where, [piece.id for piece in pieces])
    cosines = candidates.true_cosines(tx, where, question, sorted(covered))
    close = rank.closeness(question.embedder.curve, cosines)
    best: dict[str, tuple[float, chunks.Chunk]] = {}
    for piece in pieces:
        if piece.id in covered:
            own = rank.PROSE_VECTOR_WEIGHT * close.get(piece.id, 0.0)
            if piece.memory_id not in best or own > best[piece.memory_id][0]:
                best[piece.memory_id] = (own, piece)
    read = rows.by_keys(tx, [(piece.library_id, piece.memory_id) for _, piece in best.values()])
    found: list[_Scored] = []
    for memory in read.values():
        own, piece = best[memory.id]
        relevance = min(1.0, own + bonus[memory.library_id, memory.id])
        if relevance >= rank.HIT_SCORE_MIN and _holds(memory, wanted, at):
            found.append(_Scored(memory, relevance, Span(start=piece.first_char, end=piece.last_char), True))
    return found


def _standing(tx: Tx, who: Reach, where: Filter, at: int) -> list[Memory]:
    """What always holds: what is pinned, preferences, instructions, of the bound library and Personal alone."""
    inside = {who.bound.id, who.personal.id}
    own = [place for place in where.places if place.library_id in inside]
    if any(place.library_id == who.bound.id for place in where.places):
        own.append(Place(library_id=who.personal.id, place=SCOPE_PERSONAL))  # the person's own, always
    found = rows.standing(tx, replace(where, places=tuple(dict.fromkeys(own))), TAG_PINNED, STANDING_MAX)
    return [memory for memory in found if not memory.is_archived and memory.holds_at(max(at, memory.created_at))]


def _told(
    tx: Tx,
    question: Question,
    scored: list[_Scored],
    standing: list[Memory],
    wanted: Wanted,
    tokens_max: int,
) -> tuple[recall.Told, dict[str, _Scored]]:
    every = {each.memory.id: each for each in scored}
    for memory in standing:
        every.setdefault(memory.id, _Scored(memory, 0.0, Span(start=0, end=len(memory.body))))
    keys = [(each.memory.library_id, each.memory.id) for each in every.values()]
    used = rows.uses(tx, keys)
    touching = links.touching(tx, keys, relations=[CONTRADICTS, SUPERSEDES])
    policy = policies.reader(tx)
    always = {memory.id for memory in standing}

    def item(each: _Scored, *, is_standing: bool) -> Item:
        memory = each.memory
        uses, used_at = used.get(memory.id, (0, None))
        worth = decay.Standing(
            memory_type=memory.memory_type,
            importance=memory.importance,
            confidence=memory.confidence,
            created_at=memory.created_at,
            used_at=used_at,
            uses=uses,
        )
        importance = memory.importance
        if memory.decays:
            importance = decay.effective_importance(worth, policy(memory), tx.now)
        value = recall.score(
            relevance=each.relevance, age_ms=tx.now - memory.happened_at, importance=importance, uses=uses
        )
        text = _line(question, each, _marks(memory, touching))
        return _item(memory, text, value, is_standing=is_standing)

    held = [item(every[memory.id], is_standing=True) for memory in standing]
    found = [item(each, is_standing=False) for each in scored if each.memory.id not in always]
    found.sort(key=lambda one: (-one.score, one.id))
    if wanted.has_superseded:
        found = _after_successors(found, touching)
    return recall.tell(held, found, tokens_max=tokens_max, count=index.tokens().count), every


def _item(memory: Memory, text: str, value: float, *, is_standing: bool) -> Item:
    """A memory as the budget sees it."""
    return recall.Item(
        id=memory.id,
        memory_type=memory.memory_type,
        text=text,
        score=value,
        words=recall.words_of(memory.body[:2_000]),
        is_standing=is_standing,
    )


def _after_successors(found: list[Item], touching: list[Link]) -> list[Item]:
    """Each superseded one right after what holds in its place."""
    successor = {link.to_id: link.from_id for link in touching if link.relation == SUPERSEDES}
    by_id = {one.id: one for one in found}
    ordered: list[Item] = []
    for one in found:
        if successor.get(one.id) in by_id:
            continue
        ordered.append(one)
        ordered += [by_id[old] for old, new in successor.items() if new == one.id and old in by_id]
    return ordered


def _marks(memory: Memory, touching: list[Link]) -> list[str]:
    marks: list[str] = []
    for link in touching:
        if link.relation == CONTRADICTS and link.settled_at is None and memory.id in (link.from_id, link.to_id):
            other = link.to_id if link.from_id == memory.id else link.from_id
            marks.append(f"conflicts with {short(other)}")
        if link.relation == SUPERSEDES and link.to_id == memory.id:
            marks.append(f"superseded by {short(link.from_id)}")
    if memory.is_archived and memory.archived_at is not None:
        marks.append(f"held until {times.show_date(memory.valid_to or memory.archived_at)}")
    return marks


def short(memory_id: str) -> str:
    """A memory's id as a context shows it: its last digits, which differ where ids of one moment begin alike."""
    return memory_id[-8:]


def _line(question: Question, each: _Scored, marks: list[str]) -> str:
    """How a memory is told: short id, date and source of an event, title, text, marks."""
    memory = each.memory
    body = memory.body.strip()
    count = index.tokens().count
    if len(body) > WHOLE_TOKENS_MAX * 8 or count(body) > WHOLE_TOKENS_MAX:
        body = preview(memory.body, each.span, question.terms, count_tokens=count)
    title = "" if body.startswith(memory.title.rstrip(".…")) else f"{memory.title}: "
    facts: list[str] = []
    if memory.memory_type == "episodic":
        facts = [times.show_date(memory.happened_at), *([memory.source] if memory.source else [])]
    elif marks:
        facts = [times.show_date(memory.happened_at)]
    head = f"({short(memory.id)}{', ' if facts else ''}{', '.join(facts)})"
    tail = f" [{'; '.join(marks)}]" if marks else ""
    text = "\n  ".join(f"{title}{body}".splitlines())
    return markers.escape(f"• {head} {text}{tail}")
