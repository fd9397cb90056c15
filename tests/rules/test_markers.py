"""Markers: stored text can neither end its fence nor begin one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.rules import markers

property_test = settings(deadline=None, max_examples=200)
pieces = st.lists(
    st.one_of(
        st.sampled_from([*markers.MARKERS, "<", "[", "]", ">", "recalled", " ", "\n", "\\", "memory>>>", "KNOWLEDGE"]),
        st.text(max_size=3),
    ),
    max_size=12,
).map("".join)


def is_marked(text: str) -> bool:
    """The plain way to see it: any marker, in any case, with white space of any length."""
    flat = " ".join(text.lower().split())
    return any(marker.lower() in flat for marker in markers.MARKERS)


@pytest.mark.parametrize("marker", markers.MARKERS)
def test_a_marker_gets_a_backslash_after_its_first_character(marker: str) -> None:
    """Wherever it stands in a line; the rest of the text stays."""
    assert markers.escape(f"a {marker} b") == f"a {marker[0]}\\{marker[1:]} b"


@pytest.mark.parametrize("marker", markers.MARKERS)
@pytest.mark.parametrize("gap", ["  ", "\t", "\n", "\u00a0"])
def test_a_disguised_marker_is_escaped_too(marker: str, gap: str) -> None:
    """Another case and other white space read the same to a model."""
    assert markers.escape(marker.swapcase().replace(" ", gap)) == (
        marker[0].swapcase() + "\\" + marker[1:].swapcase().replace(" ", gap)
    )


@pytest.mark.parametrize("text", ["<<<recalled memory", "[Knowledge base]", "recalled memory >>", "[[STAND]]", ""])
def test_what_is_no_marker_stays(text: str) -> None:
    """Text that only resembles one is shown as it is."""
    assert markers.escape(text) == text


@property_test
@given(pieces)
def test_escaped_text_holds_no_marker(text: str) -> None:
    """None is left, escaping again changes nothing, and only backslashes were added."""
    escaped = markers.escape(text)
    assert not is_marked(escaped)
    assert markers.escape(escaped) == escaped
    assert escaped.replace("\\", "") == text.replace("\\", "")


@property_test
@given(pieces)
def test_a_fence_is_opened_and_closed_once(text: str) -> None:
    """Whatever is inside, the start and the end are ours, and the whole is known as recalled."""
    fenced = markers.fence(text)
    assert (fenced.count(markers.START), fenced.count(markers.END)) == (1, 1)
    assert markers.is_recalled(fenced)


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        (f"\n {markers.START}\nx\n{markers.END} \n", True),
        (f"{markers.NEURAL_START}\n{markers.NEURAL_KNOWLEDGE}\n• x\n{markers.NEURAL_END}", True),
        (f"{markers.START}\nx\n{markers.NEURAL_END}", False),
        (f"I saw {markers.START}\nx\n{markers.END}", False),
        (f"{markers.START}\nx\n{markers.END} and more", False),
        (markers.START, False),
        ("", False),
    ],
)
def test_our_own_answer_is_known_when_it_comes_back(text: str, is_ours: bool) -> None:  # noqa: FBT001 - a column
    """Begins and ends with the markers of one family; what only contains them is a text like any other."""
    assert markers.is_recalled(text) is is_ours


@pytest.mark.parametrize(
    "unit", ["[", "[ ", "recalled ", "recalled\n\n\n", "<<<recalled memory: data, ", "[PAST EVENTS & "]
)
def test_a_megabyte_of_half_markers_is_read_at_once(unit: str) -> None:
    """The search is linear."""
    text = (unit * (1_000_000 // len(unit))) + " " * 100_000
    began = time.perf_counter()
    assert markers.escape(text) == text
    assert time.perf_counter() - began < 10
