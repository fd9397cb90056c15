"""Ranking is pure: scores in 0..1, more evidence never less, ties by id, nothing for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.embed import PackagedEmbedder
from engram.model import QueryTerm
from engram.rules import rank
from engram.rules.rank import Candidate

property_test = settings(deadline=None)  # a busy machine is no failure

CACHE = QueryTerm(text="caching", variants=("caching", "cach"))
PREFIX = QueryTerm(text="库", variants=("库",), is_prefix=True)
CURVE = PackagedEmbedder().curve


def candidate(chunk: int = 1, **changes: object) -> Candidate:
    """A candidate with changes."""
    plain = Candidate(
        chunk_id=chunk, memory_id=f"m{chunk}", terms=rank.pack({"cach": 1.0}), length=40.0, similarity=0.5, age_ms=0
    )
    return plain._replace(**changes)  # type: ignore[arg-type]


CANDIDATES = st.builds(
    candidate,
    chunk=st.integers(1, 30),
    length=st.floats(0, 1e4),
    similarity=st.none() | st.floats(0, 1),
    age_ms=st.integers(-10, 10**12),
    is_code=st.booleans(),
    terms=st.dictionaries(st.sampled_from(["cach", "caching", "warm", "库存"]), st.floats(0.5, 50), max_size=4).map(
        rank.pack
    ),
)


@property_test
@given(st.lists(CANDIDATES, max_size=12), st.booleans())
def test_scores_are_in_0_to_1_best_first_one_a_memory_ties_by_id(found: list[Candidate], has_floor: bool) -> None:  # noqa: FBT001 - drawn
    """The same on both backends, whatever order the candidates come in."""
    ranked = rank.rank(found, [CACHE, PREFIX], [1.0, 2.0], has_floor=has_floor)
    assert all(0.0 <= item.score <= 1.0 and 0.0 <= item.keyword <= 1.0 for item in ranked)
    assert len({item.memory_id for item in ranked}) == len(ranked)
    assert [(-item.score, item.memory_id) for item in ranked] == sorted(
        (-item.score, item.memory_id) for item in ranked
    )
    assert {i.memory_id: i.score for i in ranked} == {
        i.memory_id: i.score for i in rank.rank(found[::-1], [CACHE, PREFIX], [1.0, 2.0], has_floor=has_floor)
    }


@property_test
@given(CANDIDATES, st.floats(0, 1), st.floats(0, 1), st.floats(0.5, 50), st.floats(0, 50))
def test_more_evidence_never_lowers_a_hit(item: Candidate, close: float, closer: float, tf: float, more: float) -> None:
    """Neither a nearer vector nor a word more in the same chunk makes it worse, nor does a younger age."""

    def score(**changes: object) -> float:
        return rank.rank([item._replace(**changes)], [CACHE], [1.0], has_floor=False)[0].score  # type: ignore[arg-type]

    low, high = sorted((close, closer))
    assert score(similarity=high) >= score(similarity=low)
    assert score(terms=rank.pack({"cach": tf + more})) >= score(terms=rank.pack({"cach": tf}))
    assert score(age_ms=item.age_ms) >= score(age_ms=item.age_ms + 10**10)


@property_test
@given(st.lists(CANDIDATES, min_size=1, max_size=12))
def test_the_floor_only_takes_weak_hits_away(found: list[Candidate]) -> None:
    """What is left has the score and the place that it had without one, and nothing below the floor is left."""
    everything = rank.rank(found, [CACHE], [1.0], has_floor=False)
    kept = rank.rank(found, [CACHE], [1.0])
    assert kept in ([], [item for item in everything if item.score >= rank.HIT_SCORE_MIN])


@property_test
@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_more_memories_never_ask_for_less_evidence(count: int, other: int) -> None:
    """Chance likeness grows with the number of memories, up to the size at which the decision was measured."""
    low, high = sorted((count, other))
    assert rank.answer_min(low) <= rank.answer_min(high) <= rank.ANSWER_MIN


@property_test
@given(st.floats(0.5, 50), st.floats(0, 50), st.floats(0, 1000))
def test_more_of_a_word_never_lowers_the_keyword_score(tf: float, more: float, length: float) -> None:
    """BM25 saturates, it does not fall."""
    assert rank.keyword_scores([tf + more], [1.5], length) >= rank.keyword_scores([tf], [1.5], length)
    assert rank.keyword_scores([], [], length) == (0.0, 0.0)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """And no word weighs less than nothing, though every chunk holds it."""
    assert rank.idf(1, 1000) > rank.idf(500, 1000) > rank.idf(1000, 1000) > 0
    assert rank.idf(50, 10) > 0
    assert rank.keyword_scores([1.0, 0.0], [3.0, 1.0], 60.0)[1] == 0.75


def test_terms_are_found_in_a_packed_chunk_by_any_variant_and_by_prefix() -> None:
    """A part of a longer word is none."""
    packed = rank.pack({"cach": 2.5, "precaching": 9.0, "库存": 1.0})
    assert rank.frequencies([CACHE, PREFIX, QueryTerm(text="ach", variants=("ach",))], packed) == [2.5, 1.0, 0.0]
    assert rank.pack({}) == ""


def test_nothing_is_returned_where_nothing_answers() -> None:
    """Weak evidence is enough in a small store, and not in a large one; a name that nobody mentions speaks against."""
    weak = candidate(similarity=0.55, terms=rank.pack({"other": 1.0}))
    assert rank.rank([weak], [CACHE], [1.0], count=1)
    assert not rank.rank([weak], [CACHE], [1.0], count=100_000)
    assert rank.rank([weak], [CACHE], [1.0], count=100_000, has_floor=False)
    fair = candidate(similarity=0.7, terms=rank.pack({"other": 1.0}))
    assert rank.rank([fair], [CACHE], [1.0])
    assert not rank.rank([fair], [CACHE], [1.0], has_unknown_names=True)


def test_words_alone_decide_where_no_vector_was_compared() -> None:
    """A third of the query's weight must stand there."""
    assert rank.rank([candidate(similarity=None)], [CACHE], [1.0])
    assert not rank.rank([candidate(similarity=None)], [CACHE, PREFIX], [1.0, 9.0])


def test_identifiers_lower_the_weight_of_the_vector_and_code_raises_it() -> None:
    """What was written exactly so is asked for by its words."""
    prose, code = candidate(), candidate(is_code=True)
    assert rank.vector_weight(code, has_identifier=False) > rank.vector_weight(prose, has_identifier=False)
    assert rank.vector_weight(prose, has_identifier=False) > rank.vector_weight(prose, has_identifier=True)
    assert rank.vector_weight(candidate(similarity=None), has_identifier=False) == 0.0


def test_age_is_a_small_bounded_factor() -> None:
    """Old and relevant beats new and vague."""
    old = rank.rank([candidate(age_ms=10**12)], [CACHE], [1.0], has_floor=False)[0].score
    new = rank.rank([candidate(age_ms=0)], [CACHE], [1.0], has_floor=False)[0].score
    assert new > old >= new * (1 - rank.RECENCY_WEIGHT)


@pytest.mark.parametrize(
    ("cosine", "low", "high"), [(0.0, 0, 0), (0.394, 0, 0.01), (0.62, 0.4, 0.6), (0.86, 1, 1), (1.0, 1, 1)]
)
def test_a_cosine_is_read_by_the_models_curve(cosine: float, low: float, high: float) -> None:
    """0 at unrelated, 1 at paraphrase."""
    assert low <= rank.closeness(CURVE, {1: cosine})[1] <= high
