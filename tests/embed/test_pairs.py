"""The pairs that ship, and the curve that a model gets from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engram.embed.calibrate import Cosines, curve_of, measure
from engram.embed.pairs import PARAPHRASES, QUESTIONS, UNRELATED
from engram.rules.curve import quantile

if TYPE_CHECKING:
    from engram.embed import PackagedEmbedder


def test_there_are_enough_pairs_and_none_twice() -> None:
    """Sixty of each kind at least; a text that stood in two places would count twice."""
    assert len(PARAPHRASES) >= 60
    assert len(UNRELATED) >= 60
    texts = [*UNRELATED, *(text for pair in (*PARAPHRASES, *QUESTIONS) for text in pair)]
    assert len(set(texts)) == len(texts)


def test_the_packaged_model_tells_the_two_kinds_apart(embedder: PackagedEmbedder) -> None:
    """All but a few paraphrases lie above all but a few unrelated pairs."""
    cosines = measure(embedder)
    assert len(cosines.unlike) == len(UNRELATED) * (len(UNRELATED) - 1) // 2
    assert len(cosines.like) == len(PARAPHRASES) + len(QUESTIONS)
    assert quantile(cosines.like, 0.02) > quantile(cosines.unlike, 0.98)


class FlatEncoder:
    """A model for which all texts are the same: the worst that a URL can lead to."""

    def embed_passage(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        del text
        return np.array([1.0, 0.0], np.float32)

    embed_query = embed_passage


def test_a_model_that_tells_nothing_apart_gets_a_curve_all_the_same() -> None:
    """It rises, with everything but identity far below a paraphrase's usual place."""
    assert measure(FlatEncoder()) == Cosines(
        unlike=(1.0,) * (len(UNRELATED) * (len(UNRELATED) - 1) // 2), like=(1.0,) * (len(PARAPHRASES) + len(QUESTIONS))
    )
    curve = curve_of(FlatEncoder())
    assert curve.similarity(0.9) < 0.1
    assert curve.similarity(1.0) == 1.0
