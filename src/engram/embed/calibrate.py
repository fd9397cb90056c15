"""Gives a model its curve, from the shipped pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from engram.embed.pairs import PARAPHRASES, QUESTIONS, UNRELATED
from engram.rules.curve import Curve, make_curve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engram.embed.protocol import Encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """What a model says of the shipped pairs, each -1..1."""

    unlike: tuple[float, ...]
    like: tuple[float, ...]


def texts() -> list[str]:
    """Every text that ``measure`` embeds, each once."""
    pairs = [text for pair in (*PARAPHRASES, *QUESTIONS) for text in pair]
    return list(dict.fromkeys([*UNRELATED, *pairs]))


def measure(encoder: Encoder) -> Cosines:
    """Embed the shipped texts, some 270, one at a time, and compare them pair by pair."""
    alone = [encoder.embed_passage(text) for text in UNRELATED]
    paraphrases = [cosine(encoder.embed_passage(one), encoder.embed_passage(other)) for one, other in PARAPHRASES]
    answers = [cosine(encoder.embed_query(question), encoder.embed_passage(answer)) for question, answer in QUESTIONS]
    return Cosines(
        unlike=tuple(cosine(one, other) for one, other in combinations(alone, 2)),
        like=(*paraphrases, *answers),
    )


def curve_of(encoder: Encoder) -> Curve:
    """The curve of a model; takes as long as some 270 short texts do."""
    cosines = measure(encoder)
    return make_curve(unlike=cosines.unlike, like=cosines.like)


def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The cosine of two vectors of length 1."""
    return float(one @ other)
