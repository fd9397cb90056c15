"""The curve from cosine to similarity."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.rules.curve import KNOT_GAP, Curve, curve_from_json, make_curve, quantile

COSINES = st.lists(st.floats(-1, 1), min_size=1, max_size=40)
CURVES = st.builds(make_curve, unlike=COSINES, like=COSINES)
TYPICAL = Curve(((0.0, 0.0), (0.4, 0.1), (0.5, 0.3), (0.85, 0.9), (1.0, 1.0)))


@settings(deadline=None)  # the machine may be busy
@given(unlike=COSINES, like=COSINES)
def test_every_measurement_gives_a_curve_that_rises(unlike: list[float], like: list[float]) -> None:
    """Also from quantiles that are equal, in the wrong order or negative."""
    curve = make_curve(unlike=unlike, like=like)
    assert [value for _, value in curve.knots] == [0.0, 0.1, 0.3, 0.9, 1.0]
    assert (curve.knots[0][0], curve.knots[-1][0]) == (0.0, 1.0)
    assert all(right[0] - left[0] >= KNOT_GAP - 1e-9 for left, right in pairwise(curve.knots))


def test_the_knots_are_the_quantiles_of_the_contract() -> None:
    """The middles of both kinds of pairs and the 95th of a hundred unrelated ones get their values."""
    unlike = [0.2 + at / 500 for at in range(101)]
    like = [0.7, 0.8, 0.95]
    curve = make_curve(unlike=unlike, like=like)
    assert curve.knots == ((0.0, 0.0), (0.3, 0.1), (0.39, 0.3), (0.8, 0.9), (1.0, 1.0))


@settings(deadline=None)  # the machine may be busy
@given(curve=CURVES, one=st.floats(-1, 1), other=st.floats(-1, 1))
def test_a_higher_cosine_never_has_a_lower_similarity(curve: Curve, one: float, other: float) -> None:
    """The order of cosines is the order of similarities, and both ends are kept."""
    low, high = sorted((curve.similarity(min(one, other)), curve.similarity(max(one, other))))
    assert low == curve.similarity(min(one, other))
    assert 0.0 <= low <= high <= 1.0
    if abs(max(one, 0.0) - max(other, 0.0)) > 1e-6:
        assert low < high


@settings(deadline=None)  # the machine may be busy
@given(curve=CURVES)
def test_a_curve_goes_through_its_knots(curve: Curve) -> None:
    """At a knot the value is the knot's own."""
    for cosine, value in curve.knots:
        assert curve.similarity(cosine) == pytest.approx(value, abs=1e-12)


def test_between_two_knots_the_line_is_straight() -> None:
    """Half way between two cosines lies half way between their values."""
    assert TYPICAL.similarity(0.2) == pytest.approx(0.05)
    assert TYPICAL.similarity(0.45) == pytest.approx(0.2)
    assert TYPICAL.similarity(0.675) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("cosine", "similarity"),
    [(-1.0, 0.0), (-math.inf, 0.0), (-0.0, 0.0), (math.nan, 0.0), (1.0000001, 1.0), (math.inf, 1.0)],
)
def test_what_is_no_cosine_has_the_similarity_of_the_nearest_end(cosine: float, similarity: float) -> None:
    """Rounding may lead out of the range; what is no number is like nothing."""
    assert TYPICAL.similarity(cosine) == similarity
    assert TYPICAL.similarities(np.array([cosine])).tolist() == [similarity]


@settings(deadline=None)  # the machine may be busy
@given(curve=CURVES, cosines=st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=20))
def test_an_array_has_the_similarities_of_its_elements(curve: Curve, cosines: list[float]) -> None:
    """The fast way and the slow way agree."""
    fast = curve.similarities(np.array(cosines, np.float32))
    assert fast.tolist() == pytest.approx([curve.similarity(cosine) for cosine in cosines], abs=1e-9)


def test_an_array_keeps_its_shape() -> None:
    """A matrix of cosines gives a matrix of similarities."""
    assert TYPICAL.similarities(np.zeros((2, 3), np.float32)).shape == (2, 3)


@settings(deadline=None)  # the machine may be busy
@given(numbers=st.lists(st.floats(-1, 1), min_size=1, max_size=50), share=st.floats(0, 1))
def test_a_quantile_is_that_of_numpy(numbers: list[float], share: float) -> None:
    """Our few lines agree with the well-known ones."""
    assert quantile(numbers, share) == pytest.approx(float(np.quantile(numbers, share)), abs=1e-9)


@settings(deadline=None)  # the machine may be busy
@given(curve=CURVES)
def test_a_curve_survives_json(curve: Curve) -> None:
    """What was written is read as the same curve of the same version."""
    again = curve_from_json(json.loads(json.dumps(curve.as_json())))
    assert again == curve
    assert again.version == curve.version


def test_another_curve_has_another_version() -> None:
    """A vector's similarity may be kept only beside the version that it was made with."""
    other = Curve((*TYPICAL.knots[:3], (0.86, 0.9), (1.0, 1.0)))
    assert other.version != TYPICAL.version


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"version": TYPICAL.version},
        {"knots": TYPICAL.as_json()["knots"]},
        {"version": TYPICAL.version, "knots": "0011"},
        {"version": TYPICAL.version, "knots": [[0, 0], [1]]},
        {"version": TYPICAL.version, "knots": [[0, 0], ["1", 1]]},
        {"version": "00000000", "knots": TYPICAL.as_json()["knots"]},
        {"version": TYPICAL.version, "knots": [[0, 0], [1, 1]]},
    ],
)
def test_json_that_is_no_curve_is_refused(data: object) -> None:
    """Wrong shapes, and knots that were edited without their version."""
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the promise, texts are compared nowhere
        curve_from_json(data)


@pytest.mark.parametrize(
    "knots",
    [
        (),
        ((0.0, 0.0),),
        ((0.1, 0.0), (1.0, 1.0)),
        ((0.0, 0.0), (1.0, 0.9)),
        ((0.0, 0.0), (0.5, 0.5), (0.5, 0.6), (1.0, 1.0)),
        ((0.0, 0.0), (0.5, 0.5), (0.6, 0.5), (1.0, 1.0)),
        ((0.0, 0.0), (math.nan, 0.5), (1.0, 1.0)),
    ],
)
def test_knots_that_do_not_rise_are_no_curve(knots: tuple[tuple[float, float], ...]) -> None:
    """There is no curve that would turn two orders into one."""
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the promise, texts are compared nowhere
        Curve(knots)


@pytest.mark.parametrize(("unlike", "like"), [([], [0.5]), ([0.5], []), ([math.nan], [0.5]), ([0.1], [math.inf])])
def test_a_curve_needs_measurements(unlike: list[float], like: list[float]) -> None:
    """Nothing measured, or something that is no number, gives no curve."""
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the promise, texts are compared nowhere
        make_curve(unlike=unlike, like=like)
