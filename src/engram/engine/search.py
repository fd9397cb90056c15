"""Search: candidates by words and by vectors, ranked by pure functions, within what the caller may see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, candidates, index, marks, places
from engram.engine.candidates import Extras, Question, Wait
from engram.engine.prepare import kind, topic_key
from engram.errors import Invalid
from engram.model import KIND_PROMPT, Memory, Role, Span
from engram.rules import ids, rank
from engram.rules.preview import preview
from engram.store import chunks, libraries
from engram.store import memories as rows

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Filter, Tx
    from engram.store.chunks import Chunk, Unembedded


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found, as a surface shows it."""

    memory: Memory
    label: str
    project: str
    library: str  # empty: the bound one
    library_name: str
    score: float  # 0..1, the one that ordered
    preview: str
    marks: tuple[str, ...] = ()  # what it conflicts with, what follows it


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found, and what the caller should know of it."""

    hits: tuple[Hit, ...]
    name: str  # what was searched
    is_elsewhere: bool = False  # nothing in the project: these are from others
    is_known: bool = True
    closest: tuple[str, ...] = ()
    pending: int = 0
    notes: tuple[str, ...] = ()


def search(ctx: Context, query: str, *, project: str = "", scope: str = "", type_: str = "", limit: int = 10) -> Found:
    """The memories that answer a query, best first.

    Args:
        query: Any text; operators and quotes are words.
        project: A project's name, ``*`` for all, empty for the current one (others if nothing is there).
        scope: project, personal, or empty for both.
        type_: A kind or a memory type.
        limit: Most memories to return.

    Raises:
        Invalid: type or scope is none.
        Conflict: a project name that several libraries have.
    """
    types = (kind(type_, may_be_prompt=True),) if type_ else ()

    def look(tx: Tx, question: Question, extras: Extras) -> Found | Wait:
        who = access.reach(tx, ctx)
        covered = places.read_scope(tx, ctx, who, project=project, scope=scope, types=types)
        if types == (KIND_PROMPT,):
            covered = replace(covered, where=places.prompts(who), can_widen=False)
        waiting = [] if extras.is_done else _waiting(tx, who, covered)
        return Wait(waiting) if waiting else _found(tx, who, covered, question, extras, limit)

    return candidates.answer(ctx.engine, query, look)


def _waiting(tx: Tx, who: Reach, covered: places.Scope) -> list[Unembedded]:
    """What has no vector yet of the scope, and then of the projects that may be looked at next."""
    if not chunks.is_any_pending(tx):
        return []
    waiting = chunks.unembedded_in(tx, covered.where, candidates.MADE_MAX)
    if covered.can_widen and len(waiting) < candidates.MADE_MAX:
        known = {item.chunk_id for item in waiting}
        rest = chunks.unembedded_in(tx, places.others(who, covered), candidates.MADE_MAX - len(waiting))
        waiting += [item for item in rest if item.chunk_id not in known]
    return waiting


def _found(tx: Tx, who: Reach, covered: places.Scope, question: Question, extras: Extras, limit: int) -> Found:
    exact = _named(tx, who, covered, question.text)
    scored = _run(tx, who, covered.where, question, extras)
    where, is_elsewhere = covered.where, False
    if not scored and not exact and covered.can_widen:
        where = places.others(who, covered)
        scored = _run(tx, who, where, question, extras)
        is_elsewhere = bool(scored)
    hits = _hits(tx, who, question, exact, scored, limit)
    pending = 0
    if question.vector is not None:
        made = sum(where.covers(facets) for facets, _ in extras.vectors.values())
        pending = max(0, chunks.count_pending(tx, where) - made)
    words_only = [] if exact or not question.words_only else [f"searched by words alone: {question.words_only}"]
    return Found(
        hits=tuple(hits),
        name=covered.name,
        is_elsewhere=is_elsewhere,
        is_known=covered.is_known,
        closest=covered.closest,
        pending=pending,
        notes=(*covered.notes, *words_only),
    )


def _named(tx: Tx, who: Reach, covered: places.Scope, text: str) -> list[Memory]:
    """The memory that a query names, if it is nothing but ``#12``, a UUID or a topic key."""
    text = text.strip()
    if text.startswith("#") or ids.is_uuid(text):
        try:
            parsed = ids.parse_ref(text)
        except Invalid:
            return []
        found = None
        if parsed.uuid:
            found = rows.by_uuid(tx, library_ids=who.readable(), memory_id=parsed.uuid)
        elif parsed.number is not None:
            library = who.named(parsed.library) if parsed.library else who.bound
            found = rows.by_number(tx, library_id=library.id, number=parsed.number) if library else None
        shown = found and not found.is_hidden and who.role(found.library_id) >= Role.READ
        return [found] if found and shown and found.kind != KIND_PROMPT else []
    if any(letter.isspace() for letter in text) or not 1 <= len(text) <= 200:
        return []
    return rows.topics(tx, covered.where, topic_key(text), 3)


def _run(tx: Tx, who: Reach, where: Filter, question: Question, extras: Extras) -> list[tuple[rank.Scored, Chunk]]:
    """The ranked best chunk of each memory that the filter covers."""
    gathered = candidates.gather(tx, who, where, question, extras)
    return [(item, gathered.chunks[item.chunk_id]) for item in candidates.scored(tx, gathered, question)]


def _hits(
    tx: Tx,
    who: Reach,
    question: Question,
    exact: list[Memory],
    scored: list[tuple[rank.Scored, Chunk]],
    limit: int,
) -> list[Hit]:
    """The first ``limit`` memories with their previews; bodies are read for these alone."""
    first = {memory.id for memory in exact}
    rest = [(item, at) for item, at in scored if item.memory_id not in first][: max(0, limit - len(exact))]
    rest.sort(key=lambda pair: pair[0].is_superseded)  # below what holds in their place
    bodies = rows.by_keys(tx, [(at.library_id, item.memory_id) for item, at in rest])
    found = [(memory, 1.0, Span(start=0, end=len(memory.body))) for memory in exact[:limit]]
    found += [
        (bodies[item.memory_id], item.score, Span(start=at.first_char, end=at.last_char))
        for item, at in rest
        if item.memory_id in bodies
    ]
    marked = marks.of(tx, who, [memory for memory, _, _ in found])
    spaces = (
        {
            (space.library_id, space.id): space.name
            for space in libraries.namespaces(tx, library_ids=sorted({memory.library_id for memory, _, _ in found}))
        }
        if found
        else {}
    )
    return [
        Hit(
            memory=memory,
            label=who.label(memory),
            project=spaces.get((memory.library_id, memory.namespace_id), ""),
            library_name=who.libraries[memory.library_id][0].name,
            library="" if memory.library_id == who.bound.id else who.libraries[memory.library_id][0].name,
            score=score,
            preview=preview(memory.body, span, question.terms, count_tokens=index.tokens().count),
            marks=marked.get(memory.id, ()),
        )
        for memory, score, span in found
    ]
