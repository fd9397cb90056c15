"""Search: candidates by words and by vectors, ranked by pure functions, within what the caller may see."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engram.engine import access, index, models, places
from engram.engine.prepare import kind, topic_key
from engram.errors import EngramError, Invalid, Unavailable
from engram.model import KIND_PROMPT, Memory, QueryTerm, Role, Span
from engram.rules import analyse, chunk, ids, rank
from engram.rules.preview import preview
from engram.store import chunks, libraries
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.embed import Embedder
    from engram.engine.access import Reach
    from engram.engine.context import Context, Engine
    from engram.store.base import Facets, Filter, Tx
    from engram.store.chunks import Chunk, Unembedded

WORD_CANDIDATES = 300
VECTOR_CANDIDATES = 100
TERMS_DF_MAX = 20_000
MADE_MAX = 64  # vectors that a search makes of what has none yet
MADE_S_MAX = 0.3
SMALL_LIBRARY = 2_000  # memories up to which word frequencies are counted anew each time
log = logging.getLogger(__name__)
_NAME = re.compile(r"(?<=[\w,;:)] )[^\W\d_a-z][\w'’-]+")  # a capitalised word that does not begin a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query, analysed."""

    text: str
    terms: tuple[QueryTerm, ...]
    names: frozenset[str]  # folded proper names
    embedder: Embedder  # the one that made the vector, and makes all others that it is compared with
    vector: np.ndarray | None
    words_only: str = ""  # why there is no vector


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


@dataclass(slots=True)
class Extras:
    """Vectors that a search made itself, not stored yet."""

    vectors: dict[int, tuple[Facets, np.ndarray]] = field(default_factory=dict)
    is_done: bool = False


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
    question = ask(ctx.engine, query)
    extras = Extras(is_done=question.vector is None)
    while True:
        with ctx.engine.store.reading() as tx:
            choice = models.current(tx)
            is_switched = choice.model_id != question.embedder.model_id
            who = access.reach(tx, ctx)
            covered = places.read_scope(tx, ctx, who, project=project, scope=scope, types=types)
            if types == (KIND_PROMPT,):
                covered = replace(covered, where=places.prompts(who), can_widen=False)
            waiting = [] if extras.is_done or is_switched else _waiting(tx, who, covered)
            if not waiting and not is_switched:
                return _found(tx, who, covered, question, extras, limit)
        if is_switched:
            models.follow(ctx.engine, choice)
            question = ask(ctx.engine, query)
            extras = Extras(is_done=question.vector is None)
            continue
        extras = make_vectors(ctx.engine, question.embedder, waiting)  # outside the transaction, then once more


def ask(engine: Engine, query: str) -> Question:
    """Analyse a query; the model is asked if it can read it and comes in time."""
    terms = tuple(analyse.query_terms(query))
    names = frozenset(analyse.fold(word) for word in _NAME.findall(query))
    embedder, vector, reason = engine.embedder, None, ""
    if embedder.can_read(query):
        try:
            vector = embedder.embed_query(query)
        except Unavailable as error:
            reason = str(error)
    elif query.strip():
        reason = "the model can't read this query"
    return Question(text=query, terms=terms, names=names, embedder=embedder, vector=vector, words_only=reason)


def _waiting(tx: Tx, who: Reach, covered: places.Scope) -> list[Unembedded]:
    """What has no vector yet of the scope, and then of the projects that may be looked at next."""
    if not chunks.is_any_pending(tx):
        return []
    waiting = chunks.unembedded_in(tx, covered.where, MADE_MAX)
    if covered.can_widen and len(waiting) < MADE_MAX:
        known = {item.chunk_id for item in waiting}
        rest = chunks.unembedded_in(tx, places.others(who, covered), MADE_MAX - len(waiting))
        waiting += [item for item in rest if item.chunk_id not in known]
    return waiting


def make_vectors(engine: Engine, embedder: Embedder, waiting: list[Unembedded]) -> Extras:
    """Vectors of chunks that have none, for at most MADE_S_MAX; the worker stores them."""
    extras = Extras(is_done=True)
    until = time.monotonic() + MADE_S_MAX
    for item in waiting:
        if time.monotonic() > until:
            break
        try:
            vector = index.embed(embedder, item)
        except EngramError:
            break  # the model went: what is left is found by its words
        except Exception:  # one bad text must not fail the search of all others
            log.exception("a chunk could not be embedded", extra={"chunk_id": item.chunk_id})
        else:
            if vector is not None:
                extras.vectors[item.chunk_id] = (item.facets, vector)
    engine.worker.keep(embedder.model_id, [(chunk_id, vector) for chunk_id, (_, vector) in extras.vectors.items()])
    return extras


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


def frequencies(tx: Tx, who: Reach, where: Filter, terms: tuple[QueryTerm, ...]) -> tuple[list[int], int]:
    """Document frequency of each term in the filter's libraries, and how many memories they hold."""
    library_ids = where.library_ids
    count = sum(who.libraries[library_id][0].live for library_id in library_ids if library_id in who.libraries)
    cache = tx.store.frequencies
    found: list[int] = []
    for term in terms:
        key = ("p:" if term.is_prefix else "") + term.text
        known = cache.get(library_ids, key) if count > SMALL_LIBRARY else None
        if known is None:
            known = tx.count_words(library_ids, term)
            cache.put(library_ids, key, known)
        found.append(known)
    return found, max(count, 1)


def _run(tx: Tx, who: Reach, where: Filter, question: Question, extras: Extras) -> list[tuple[rank.Scored, Chunk]]:
    """The ranked best chunk of each memory that the filter covers."""
    if not where.places:
        return []
    dfs, count = frequencies(tx, who, where, question.terms)
    # A joined word that nobody wrote so is asked for by its parts alone.
    asked = [i for i, term in enumerate(question.terms) if dfs[i] or not term.is_compound]
    terms, dfs = tuple(question.terms[i] for i in asked), [dfs[i] for i in asked]
    idfs = [rank.idf(df, count) for df in dfs]
    word_ids = _by_words(tx, where, terms, dfs, idfs)
    cosines = _by_vectors(tx, where, question, extras, word_ids)
    library_ids = set(where.library_ids)
    found = {
        chunk_id: item
        for chunk_id, item in chunks.candidates(tx, list(dict.fromkeys([*word_ids, *cosines]))).items()
        if item.library_id in library_ids  # whatever an index says, no other library is shown
    }
    similarities = rank.closeness(question.embedder.curve, cosines)
    candidates = [
        rank.Candidate(
            chunk_id=item.id,
            memory_id=item.memory_id,
            terms=item.terms,
            length=item.length,
            similarity=similarities.get(item.id),
            age_ms=tx.now - item.at,
            is_code=bool(item.flags & chunk.IS_CODE),
            is_superseded=item.archived_why is not None,
        )
        for item in found.values()
    ]
    known = {term.text for term, df in zip(terms, dfs, strict=True) if df}
    scored = rank.rank(
        candidates,
        terms,
        idfs,
        count=count,
        has_unknown_names=bool(question.names) and not question.names & known,
    )
    return [(item, found[item.chunk_id]) for item in scored]


def affordable(dfs: Sequence[int]) -> list[int]:
    """Which terms words are asked for: the rarest, while their frequencies stay affordable; two at least."""
    order = sorted((i for i in range(len(dfs)) if dfs[i]), key=lambda i: (dfs[i], i))
    chosen: list[int] = []
    total = 0
    for i in order:
        total += dfs[i]
        if len(chosen) >= 2 and total > TERMS_DF_MAX:
            break
        chosen.append(i)
    return chosen


def _by_words(tx: Tx, where: Filter, terms: tuple[QueryTerm, ...], dfs: list[int], idfs: list[float]) -> list[int]:
    """Candidates by words."""
    chosen = affordable(dfs)
    if not chosen:
        return []
    return tx.words(where, [terms[i] for i in chosen], [idfs[i] for i in chosen], WORD_CANDIDATES)


def _by_vectors(tx: Tx, where: Filter, question: Question, extras: Extras, word_ids: list[int]) -> dict[int, float]:
    """Chunk id -> cosine of the nearest chunks, and the true one of every candidate that words brought."""
    if question.vector is None:
        return {}
    cosines = {
        chunk_id: float(vector @ question.vector)
        for chunk_id, (facets, vector) in extras.vectors.items()
        if where.covers(facets)
    }
    model = chunks.model_id(tx, question.embedder.model_id)
    if model is None:
        return cosines
    near = tx.nearest(where, model=model, query=question.vector, limit=VECTOR_CANDIDATES)
    cosines |= dict(near)
    rest = [chunk_id for chunk_id in word_ids if chunk_id not in cosines]
    if rest:
        cosines |= tx.cosines(where, rest, model=model, query=question.vector)
    return cosines


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
    bodies = rows.by_keys(tx, [(at.library_id, item.memory_id) for item, at in rest])
    found = [(memory, 1.0, Span(start=0, end=len(memory.body))) for memory in exact[:limit]]
    found += [
        (bodies[item.memory_id], item.score, Span(start=at.first_char, end=at.last_char))
        for item, at in rest
        if item.memory_id in bodies
    ]
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
        )
        for memory, score, span in found
    ]
