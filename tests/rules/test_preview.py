"""What a search shows of a text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engram.engine.index import tokens
from engram.model import Span
from engram.rules.analyse import query_terms
from engram.rules.preview import preview

COUNT = tokens().count


def show(body: str, question: str) -> str:
    """The preview of a whole body."""
    return preview(body, Span(start=0, end=len(body)), query_terms(question), count_tokens=COUNT)


def test_the_matching_words_are_in_the_preview() -> None:
    """However far down they stand; marked where the text goes on."""
    body = (
        "Unrelated sentence about nothing at all. " * 40 + "The greenhouse door code is 4711. " + "More of it. " * 100
    )
    shown = show(body, "code of the greenhouse door")
    assert "greenhouse door code is 4711" in shown
    assert shown.startswith("...")
    assert shown.endswith("...")


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    """Line breaks of all kinds become spaces."""
    assert show("one\r\ntwo\u2028three", "two") == "one two three"


def test_the_place_where_most_words_meet_is_shown() -> None:
    """Not the first place where one of them stands alone."""
    body = (
        "The cache is here. " + "Words go on and on. " * 40 + "A café's redis cache times out. " + "More of it. " * 50
    )
    assert "redis cache times out" in show(body, "redis cache cafe")
    assert "café" in show(body, "redis cache cafe")


def test_a_text_that_goes_on_in_the_next_chunk_is_marked() -> None:
    """Also where the chunk itself is shown whole, and not at the end of the text."""
    body = "first half here. second half there."
    assert preview(body, Span(start=0, end=16), [], count_tokens=COUNT) == "first half here...."
    assert preview(body, Span(start=17, end=35), [], count_tokens=COUNT) == "...second half there."


def test_a_family_of_emoji_is_never_parted() -> None:
    """Neither at the beginning nor at the end."""
    family = "👩‍👩‍👧‍👦"
    shown = show(family * 200 + "needle" + family * 200, "needle").removeprefix("...").removesuffix("...")
    assert not shown.replace(family, "").replace("needle", "")


@settings(deadline=None)  # the first text beyond ASCII builds the analyser's table of characters
@given(st.text(max_size=900), st.text(max_size=20))
def test_a_preview_keeps_its_budget_and_its_line(body: str, question: str) -> None:
    """About 100 tokens, never a line break, never half a character."""
    shown = show(body, question)
    assert COUNT(shown.removeprefix("...").removesuffix("...")) <= 100
    assert len(shown.splitlines()) <= 1
    shown.encode()


def test_a_word_that_never_ends_is_sought_a_bounded_number_of_times() -> None:
    """A text that repeats it still has a preview with it."""
    assert show("needle and thread, " * 2_000, "needle").startswith("needle and thread")
