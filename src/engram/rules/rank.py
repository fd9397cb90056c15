"""Ranking: the database proposes candidates, these functions score them, the same on both backends.

The form and the weights come from measurements on development data (talk, notes, code): a keyword
score ``k`` in 0..1 (BM25 over its greatest possible value), a similarity ``v`` (the cosine on a straight scale
between unrelated and paraphrase), one decision per query whether anything here answers it, and a
small bonus for recent memories.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engram.model import QueryTerm

if TYPE_CHECKING:
    from engram.rules.curve import Curve

K1 = 1.2
B = 0.75
TYPICAL_LENGTH = 60.0  # weighted words; used until a library has an average of its own
PROSE_VECTOR_WEIGHT = 0.70
CODE_VECTOR_WEIGHT = 0.9
IDENTIFIER_VECTOR_WEIGHT = 0.5
RECENCY_WEIGHT = 0.05
RECENCY_HALF_LIFE_DAYS = 90.0
ANSWER_KEYWORD = 9.0
ANSWER_SIMILARITY = 18.0
ANSWER_UNKNOWN_NAMES = 3.0
ANSWER_MIN = 11.8  # at ANSWER_COUNT memories
ANSWER_COUNT = 600
ANSWER_CHANCE = 2.0  # how fast it rises with the number of memories
WORDS_ONLY_MIN = 0.34
HIT_SCORE_MIN = 0.22
DAY_MS = 86_400_000
UNRELATED = 0.1  # similarity of the middle of unrelated pairs
PARAPHRASE = 0.9  # and of paraphrases


class Candidate(NamedTuple):
    """What a chunk brings to the ranking. A search makes hundreds: a tuple costs a fifth of a dataclass."""

    chunk_id: int
    memory_id: str
    terms: str  # weighted term frequencies, packed
    length: float  # weighted words
    similarity: float | None  # 0..1 between unrelated and paraphrase; None: no vector was compared
    age_ms: int
    is_code: bool = False
    is_superseded: bool = False


class Scored(NamedTuple):
    """A chunk with its scores, each 0..1."""

    chunk_id: int
    memory_id: str
    score: float
    keyword: float
    similarity: float | None
    is_superseded: bool


def idf(frequency: int, count: int) -> float:
    """Inverse document frequency, never negative (the Lucene form of BM25).

    Args:
        frequency: Chunks that hold the term.
        count: Chunks in all; taken as at least ``frequency``.
    """
    count = max(count, frequency)
    return math.log1p((count - frequency + 0.5) / (frequency + 0.5))


def pack(weights: Mapping[str, float]) -> str:
    """Weighted term frequencies as one text: a search asks a few terms of hundreds of chunks, and parses none.

    Each entry is a line ``term weight`` between line breaks; terms hold no white space.
    """
    lines = [f"\n{term} {weight if weight.__class__ is int else f'{weight:g}'}" for term, weight in weights.items()]
    return "".join(lines) + "\n" if lines else ""


def frequencies(query: Sequence[QueryTerm], packed: str) -> list[float]:
    """The weighted frequency of each query term in a packed chunk: the best of its variants."""
    return [_best_weight(packed, _needles(term)) for term in query]


def _needles(term: QueryTerm) -> tuple[str, ...]:
    exact = tuple(f"\n{variant} " for variant in term.variants)
    return (*exact, f"\n{term.text}") if term.is_prefix else exact


def _best_weight(packed: str, needles: tuple[str, ...]) -> float:
    best = 0.0
    for needle in needles:
        at = packed.find(needle)
        if at >= 0:
            start = packed.index(" ", at) + 1
            best = max(best, float(packed[start : packed.index("\n", start)]))
    return best


def keyword_scores(tfs: Sequence[float], idfs: Sequence[float], length: float) -> tuple[float, float]:
    """What the words of a chunk say, each 0..1.

    Args:
        tfs: The weighted frequency of each query term in the chunk.
        idfs: The weight of each query term.
        length: Weighted words of the chunk.

    Returns:
        (BM25 over the query's terms as a share of the most that a chunk could reach, which share of the query's
        weight stands there at all).

    Source: Robertson & Zaragoza 2009; k1 1.2, b .75.
    """
    norm = K1 * (1 - B + B * length / TYPICAL_LENGTH)
    most = score = covered = 0.0
    for tf, weight in zip(tfs, idfs, strict=True):
        most += weight
        if tf:
            score += weight * tf / (tf + norm)
            covered += weight
    return (min(score / most, 1.0), covered / most) if most else (0.0, 0.0)


def vector_weight(candidate: Candidate, *, has_identifier: bool) -> float:
    """The share of the similarity in a chunk's score; the words have the rest."""
    if candidate.similarity is None:
        return 0.0
    if has_identifier:
        return IDENTIFIER_VECTOR_WEIGHT
    return CODE_VECTOR_WEIGHT if candidate.is_code else PROSE_VECTOR_WEIGHT


def closeness(curve: Curve, cosines: Mapping[int, float]) -> dict[int, float]:
    """Cosines on the straight scale that ranking uses: 0 at unrelated, 1 at paraphrase, by the model's curve."""
    low = next(x for x, y in curve.knots if y >= UNRELATED)
    width = next(x for x, y in curve.knots if y >= PARAPHRASE) - low
    return {key: min(max((cosine - low) / width, 0.0), 1.0) for key, cosine in cosines.items()}


def recency(age_ms: int) -> float:
    """1 for now, .5 after RECENCY_HALF_LIFE_DAYS, towards 0."""
    return 2.0 ** (-max(age_ms, 0) / DAY_MS / RECENCY_HALF_LIFE_DAYS)


def answer_min(count: int) -> float:
    """The evidence that an answer needs: of many memories one looks alike by chance, of few none does.

    The largest of ``n`` values of a normal distribution lies about sqrt(2 ln n) deviations above its mean.
    """
    spread = [math.sqrt(2.0 * math.log(max(n, 2))) for n in (count, ANSWER_COUNT)]
    return ANSWER_MIN + ANSWER_CHANCE * (min(spread[0], spread[1]) - spread[1])


def answers(*, keyword: float, similarity: float | None, has_unknown_names: bool, count: int) -> bool:
    """Whether anything in scope answers the query: one decision, from the best of each arm.

    Args:
        keyword: The best keyword coverage, 0..1.
        similarity: The best similarity, 0..1; None where vectors had no say.
        has_unknown_names: The query has proper names and none of them stands in scope.
        count: Memories that were searched.
    """
    if similarity is None:
        return keyword >= WORDS_ONLY_MIN
    evidence = ANSWER_KEYWORD * keyword + ANSWER_SIMILARITY * similarity
    return evidence - (ANSWER_UNKNOWN_NAMES if has_unknown_names else 0.0) >= answer_min(count)


def rank(
    candidates: Sequence[Candidate],
    query: Sequence[QueryTerm],
    idfs: Sequence[float],
    *,
    has_unknown_names: bool = False,
    count: int = ANSWER_COUNT,
    has_floor: bool = True,
) -> list[Scored]:
    """The best chunk of each memory, best first; equal ones by memory id, so that both backends agree.

    With the floor, nothing is returned where nothing answers, and no hit under HIT_SCORE_MIN.
    """
    has_identifier = any(term.is_identifier for term in query)
    needles = [_needles(term) for term in query]  # once for all candidates
    scored: list[Scored] = []
    best_keyword, best_similarity = 0.0, None
    for item in candidates:
        keyword, covered = keyword_scores([_best_weight(item.terms, sought) for sought in needles], idfs, item.length)
        best_keyword = max(best_keyword, covered)
        weight = vector_weight(item, has_identifier=has_identifier)
        if item.similarity is not None:
            best_similarity = max(best_similarity or 0.0, item.similarity)
        relevance = weight * (item.similarity or 0.0) + (1 - weight) * keyword
        scored.append(
            Scored(
                chunk_id=item.chunk_id,
                memory_id=item.memory_id,
                score=relevance + RECENCY_WEIGHT * relevance * (recency(item.age_ms) - 1),
                keyword=keyword,
                similarity=item.similarity,
                is_superseded=item.is_superseded,
            )
        )
    if has_floor and not answers(
        keyword=best_keyword, similarity=best_similarity, has_unknown_names=has_unknown_names, count=count
    ):
        return []
    floor = HIT_SCORE_MIN if has_floor else -1.0
    return _best_of_each(item for item in scored if item.score >= floor)


def _best_of_each(scored: Iterable[Scored]) -> list[Scored]:
    best: dict[str, Scored] = {}
    for item in scored:
        known = best.get(item.memory_id)
        if known is None or (item.score, -item.chunk_id) > (known.score, -known.chunk_id):
            best[item.memory_id] = item
    return sorted(best.values(), key=lambda item: (-item.score, item.memory_id))
