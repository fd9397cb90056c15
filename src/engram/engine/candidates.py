"""Candidates: what words and vectors propose for a question, within a filter, before the rules rank it."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from engram.engine import index, models
from engram.errors import EngramError, Unavailable
from engram.model import QueryTerm
from engram.rules import analyse, chunk, rank
from engram.store import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from engram.embed import Embedder
    from engram.engine.access import Reach
    from engram.engine.context import Engine
    from engram.store.base import Facets, Filter, Tx
    from engram.store.chunks import Chunk, Unembedded

WORD_CANDIDATES = 300
VECTOR_CANDIDATES = 100
TERMS_DF_MAX = 20_000
MADE_MAX = 64  # vectors that a search makes of what has none yet
MADE_S_MAX = 0.3
SMALL_LIBRARY = 2_000  # memories up to which word frequencies are counted anew each time
NARROW_MAX = 20_000  # chunks of some sources or tags up to which each is compared
Result = TypeVar("Result")
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


@dataclass(slots=True)
class Extras:
    """Vectors that a search made itself, not stored yet."""

    vectors: dict[int, tuple[Facets, np.ndarray]] = field(default_factory=dict)
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was proposed, and what ranking needs to know of it."""

    chunks: dict[int, Chunk]
    cosines: dict[int, float]  # of every candidate that has a vector
    terms: tuple[QueryTerm, ...] = ()
    idfs: tuple[float, ...] = ()
    known: frozenset[str] = frozenset()  # words of the query that stand somewhere in the libraries
    count: int = 1  # memories of the libraries


@dataclass(frozen=True, slots=True)
class Wait:
    """What a look found to be without a vector: it is embedded outside the transaction, then looked at once more."""

    chunks: list[Unembedded]


def answer(engine: Engine, query: str, look: Callable[[Tx, Question, Extras], Result | Wait]) -> Result:
    """Ask a question of one snapshot: with the database's present model, and with vectors of what has none yet.

    Args:
        engine: Whose store and model.
        query: Any text.
        look: Answers inside a reading transaction, or says what has to be embedded first; must do that once only.
    """
    question = ask(engine, query)
    extras = Extras(is_done=question.vector is None)
    while True:
        with engine.store.reading() as tx:
            choice = models.current(tx)
            if choice.model_id == question.embedder.model_id:
                found = look(tx, question, extras)
                if not isinstance(found, Wait):
                    return found
                waiting = found.chunks
            else:
                waiting = None
        if waiting is None:  # the model was switched
            models.follow(engine, choice)
            question = ask(engine, query)
            extras = Extras(is_done=question.vector is None)
        else:
            extras = make_vectors(engine, question.embedder, waiting)


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


def gather(tx: Tx, who: Reach, where: Filter, question: Question, extras: Extras) -> Gathered:
    """The chunks that words and vectors propose, each with its true cosine where it has one."""
    if not where.places:
        return Gathered(chunks={}, cosines={})
    dfs, count = frequencies(tx, who, where, question.terms)
    # A joined word that nobody wrote so is asked for by its parts alone.
    asked = [i for i, term in enumerate(question.terms) if dfs[i] or not term.is_compound]
    terms, dfs = tuple(question.terms[i] for i in asked), [dfs[i] for i in asked]
    idfs = tuple(rank.idf(df, count) for df in dfs)
    word_ids = by_words(tx, where, terms, dfs, idfs)
    cosines = _by_vectors(tx, where, question, extras, word_ids)
    library_ids = set(where.library_ids)
    found = {
        chunk_id: item
        for chunk_id, item in chunks.candidates(tx, list(dict.fromkeys([*word_ids, *cosines]))).items()
        if item.library_id in library_ids  # whatever an index says, no other library is shown
    }
    return Gathered(
        chunks=found,
        cosines=cosines,
        terms=terms,
        idfs=idfs,
        known=frozenset(term.text for term, df in zip(terms, dfs, strict=True) if df),
        count=count,
    )


def scored(tx: Tx, gathered: Gathered, question: Question, *, has_floor: bool = True) -> list[rank.Scored]:
    """The ranked best chunk of each memory that was gathered."""
    similarities = rank.closeness(question.embedder.curve, gathered.cosines)
    found = [
        rank.Candidate(
            chunk_id=item.id,
            memory_id=item.memory_id,
            terms=item.terms,
            length=item.length,
            similarity=similarities.get(item.id),
            age_ms=tx.now - item.at,
            is_code=bool(item.flags & chunk.IS_CODE),
            is_superseded=item.is_past(tx.now),
        )
        for item in gathered.chunks.values()
    ]
    return rank.rank(
        found,
        gathered.terms,
        gathered.idfs,
        count=gathered.count,
        has_unknown_names=bool(question.names) and not question.names & gathered.known,
        has_floor=has_floor,
    )


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


def waiting(tx: Tx, where: Filter, extras: Extras) -> list[Unembedded]:
    """What the filter covers that has no vector yet, as long as nobody has tried to make them."""
    if extras.is_done or not chunks.is_any_pending(tx):
        return []
    return chunks.unembedded_in(tx, where, MADE_MAX)


def by_words(tx: Tx, where: Filter, terms: Sequence[QueryTerm], dfs: Sequence[int], idfs: Sequence[float]) -> list[int]:
    """Candidates by words."""
    chosen = affordable(dfs)
    if not chosen:
        return []

    def propose(limit: int) -> list[int]:
        return tx.words(where, [terms[i] for i in chosen], [idfs[i] for i in chosen], limit)

    return _narrowed(tx, where, propose, WORD_CANDIDATES)


def near(tx: Tx, where: Filter, question: Question, extras: Extras, limit: int) -> dict[int, float]:
    """Chunk id -> cosine of the nearest chunks that the filter covers, sources and tags included."""
    if question.vector is None or not where.places:
        return {}
    return _near(tx, where, question, extras, chunks.model_id(tx, question.embedder.model_id), limit)


def _near(tx: Tx, where: Filter, question: Question, extras: Extras, model: int | None, limit: int) -> dict[int, float]:
    vector = question.vector
    if vector is None:
        return {}
    made = {chunk_id: float(own @ vector) for chunk_id, (facets, own) in extras.vectors.items() if where.covers(facets)}
    if where.is_narrow:
        made = {chunk_id: made[chunk_id] for chunk_id in chunks.kept(tx, where, list(made))}
    if model is None:
        return made
    if where.is_narrow:
        few = chunks.covered(tx, where, NARROW_MAX + 1)
        if len(few) <= NARROW_MAX:
            cosines = tx.cosines(where, few, model=model, query=vector) if few else {}
            best = sorted(cosines.items(), key=lambda item: (-item[1], item[0]))[:limit]
            return made | dict(best)
    known: dict[int, float] = {}

    def propose(most: int) -> list[int]:
        known.update(tx.nearest(where, model=model, query=vector, limit=most))
        return list(known)

    return made | {chunk_id: known[chunk_id] for chunk_id in _narrowed(tx, where, propose, limit)}


def _narrowed(tx: Tx, where: Filter, propose: Callable[[int], list[int]], wanted: int) -> list[int]:
    """The first candidates that have the filter's sources and tags; more are asked for until enough are left."""
    limit = wanted
    while True:
        found = propose(limit)
        if not where.is_narrow:
            return found
        covered = chunks.kept(tx, where, found)
        kept = [chunk_id for chunk_id in found if chunk_id in covered]
        if len(kept) >= wanted or len(found) < limit:
            return kept[:wanted]
        limit *= 4


def _by_vectors(tx: Tx, where: Filter, question: Question, extras: Extras, word_ids: list[int]) -> dict[int, float]:
    """Chunk id -> cosine of the nearest chunks, and the true one of every candidate that words brought."""
    if question.vector is None:
        return {}
    model = chunks.model_id(tx, question.embedder.model_id)
    cosines = _near(tx, where, question, extras, model, VECTOR_CANDIDATES)
    rest = [each for each in word_ids if each not in cosines]
    if model is None or not rest:
        return cosines
    return cosines | tx.cosines(where, rest, model=model, query=question.vector)


def true_cosines(tx: Tx, where: Filter, question: Question, chunk_ids: Sequence[int]) -> dict[int, float]:
    """The cosine of each of these chunks that has a vector of the question's model."""
    if question.vector is None or not chunk_ids:
        return {}
    model = chunks.model_id(tx, question.embedder.model_id)
    return {} if model is None else tx.cosines(where, chunk_ids, model=model, query=question.vector)
