"""The curve that turns a model's cosine into a similarity.

Every model has its own idea of "unrelated": for one that is a cosine of .05, for another .55. A curve puts
the same value on the same meaning, so that a threshold holds for all models.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

UNRELATED_VALUE = 0.10  # the middle of unrelated pairs
UNRELATED_MOST_VALUE = 0.30  # what 95 of 100 unrelated pairs stay under
PARAPHRASE_VALUE = 0.90  # the middle of paraphrases
UNRELATED_MOST_SHARE = 0.95
KNOT_GAP = 0.01  # least distance of two knots' cosines: a model that tells nothing apart still rises
COSINE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Curve:
    """Knots (cosine, value), both strictly rising from (0, 0) to (1, 1); straight lines between them."""

    knots: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if len(self.knots) < 2 or self.knots[0] != (0.0, 0.0) or self.knots[-1] != (1.0, 1.0):
            raise ValueError("a curve leads from (0, 0) to (1, 1)")
        for left, right in zip(self.knots, self.knots[1:], strict=False):
            if not (left[0] < right[0] and left[1] < right[1]):
                raise ValueError(f"a curve rises at every knot, not from {left} to {right}")

    @property
    def version(self) -> str:
        """Eight hex digits of the knots: two curves have the same version when they give the same values."""
        return sha256(repr(self.knots).encode()).hexdigest()[:8]

    def similarity(self, cosine: float) -> float:
        """The similarity of two texts, 0..1, from the cosine of their vectors.

        A cosine of 0 or less (or not a number) is 0, one of 1 or more (rounding) is 1.
        """
        if not cosine > 0.0:  # also where it is no number
            return 0.0
        if cosine >= 1.0:
            return 1.0
        at = bisect_right(self.knots, cosine, key=lambda knot: knot[0])
        (x0, y0), (x1, y1) = self.knots[at - 1], self.knots[at]
        return y0 + (y1 - y0) * (cosine - x0) / (x1 - x0)

    def similarities(self, cosines: NDArray[np.floating]) -> NDArray[np.float64]:
        """``similarity`` of every element, in the same shape."""
        import numpy as np  # noqa: PLC0415 - whoever has an array has paid for the import; others need not

        x, y = zip(*self.knots, strict=True)
        values = np.interp(np.asarray(cosines, np.float64), x, y)
        return np.nan_to_num(values, nan=0.0)

    def as_json(self) -> dict[str, object]:
        """The curve as plain JSON values; ``curve_from_json`` reads it back."""
        return {"version": self.version, "knots": [list(knot) for knot in self.knots]}


def curve_from_json(data: object) -> Curve:
    """Read what ``Curve.as_json`` gave.

    Raises:
        ValueError: the data has another shape, is no curve, or its knots were changed without its version.
    """
    match data:
        case {"version": version, "knots": [*knots]}:
            curve = Curve(tuple(map(_knot, cast("list[object]", knots))))
        case _:
            raise ValueError("a curve in JSON has a version and a list of knots")
    if version != curve.version:
        raise ValueError("the version of the curve is not that of its knots")
    return curve


def _knot(data: object) -> tuple[float, float]:
    match data:
        case [int() | float() as cosine, int() | float() as value]:
            return float(cosine), float(value)
        case _:
            raise ValueError("a knot is a pair of numbers")


def make_curve(*, unlike: Sequence[float], like: Sequence[float]) -> Curve:
    """Fit a curve to what a model says of pairs that a person has judged.

    Args:
        unlike: Cosines of unrelated pairs, -1..1; a hundred or more to mean anything.
        like: Cosines of paraphrases, -1..1.

    Returns:
        A curve through the quantiles that the contract names. Where the quantiles do not rise, or lie outside
        0..1, they are moved until neighbours are KNOT_GAP apart.

    Raises:
        ValueError: a list is empty or holds something that is no finite number.

    Source: contract "Similarity".
    """
    wanted = [
        0.0,
        quantile(unlike, 0.5),
        quantile(unlike, UNRELATED_MOST_SHARE),
        quantile(like, 0.5),
        1.0,
    ]
    values = (0.0, UNRELATED_VALUE, UNRELATED_MOST_VALUE, PARAPHRASE_VALUE, 1.0)
    return Curve(tuple(zip(_apart(wanted), values, strict=True)))


def quantile(numbers: Sequence[float], share: float) -> float:
    """The value that ``share`` (0..1) of the numbers stay under, interpolated between neighbours.

    Raises:
        ValueError: there are no numbers, or one is not finite.
    """
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise ValueError("a quantile needs finite numbers, at least one")
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _apart(wanted: Sequence[float]) -> list[float]:
    """Cosines moved as little as one pass up and one down need, first and last kept at 0 and 1."""
    places = [round(min(max(place, 0.0), 1.0), COSINE_DIGITS) for place in wanted]
    for at in range(1, len(places) - 1):
        places[at] = round(max(places[at], places[at - 1] + KNOT_GAP), COSINE_DIGITS)
    for at in range(len(places) - 2, 0, -1):
        places[at] = round(min(places[at], places[at + 1] - KNOT_GAP), COSINE_DIGITS)
    return places
