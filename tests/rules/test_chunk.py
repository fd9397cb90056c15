"""Pieces that a model can read whole, and all of the text in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.engine.index import tokens
from engram.model import CHUNK_CHARS_MAX, CHUNK_TOKENS_MAX
from engram.rules import chunk

COUNT = tokens().pieces


def check(body: str, prefix: str = "") -> int:
    """Every promise of split; how many pieces there are."""
    spans = chunk.split(body, count_tokens=COUNT, prefix=prefix)
    assert spans
    covered, last = [False] * len(body), 0
    for span in spans:
        assert last <= span.start <= span.end <= len(body)
        assert span.end - span.start <= CHUNK_CHARS_MAX
        last = span.end
        covered[span.start : span.end] = [True] * (span.end - span.start)
        assert COUNT(body[span.start : span.end]) <= CHUNK_TOKENS_MAX
    assert all(is_covered or character.isspace() for is_covered, character in zip(covered, body, strict=True))
    return len(spans)


@pytest.mark.parametrize(
    "body",
    [
        "short", "  padded  ", "# Heading\n\ntext ünï 😀\n\n## Two\n\nmore", "word " * 3_000, "数据库" * 2_000, "x" * 9_000,
        "0123456789abcdef" * 700, "a\n" * 5_000, "😀👩‍👩‍👧‍👦" * 900, "- item one\n" * 800, "```\ncode(x);\n```\n" * 300, "!?" * 3_000,
        "\u0e44\u0e17\u0e22" * 2_000, "\r\n".join(["line"] * 2_000), "first. " + "second sentence here. " * 400, "数据库" * 20_000, "👩‍👩‍👧‍👦" * 6_000, "word\n\n# Head\n" * 3_000,
        "\ud800 lone " * 2_000,
    ],
)  # fmt: skip
def test_pieces_cover_the_text_and_fit_the_model(body: str) -> None:
    """In order, without overlap, also for texts of many tokens a character."""
    check(body)
    check(body, prefix="A title " * 5)


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=40), st.integers(1, 200))
def test_any_text_is_cut_whole(unit: str, times: int) -> None:
    """Whatever the characters."""
    body = unit * times
    if body.strip():
        check(body)


def test_a_title_is_said_once() -> None:
    """The one canonical text of a vector."""
    assert chunk.embedding_text(title="T", concept="", piece="body") == "T\nbody"
    assert chunk.embedding_text(title="Cache", concept="Cache", piece="Cache is warm") == "Cache is warm"
    assert chunk.embedding_text(title="T", concept="C", piece="b") == "T\nC\nb"


def test_a_title_beyond_reason_is_cut_for_the_vector_alone() -> None:
    """The piece stays whole."""
    text = chunk.embedding_text(title="long title " * 45, concept="", piece="the piece")
    assert text.endswith("\nthe piece")
    assert COUNT(text) <= chunk.PREFIX_TOKENS_MAX + 2


@pytest.mark.parametrize(
    ("piece", "is_code"),
    [
        ("def f(x):\n    return x + 1\n", True),
        ("const a = () => {\n  go();\n};\n", True),
        ("We deploy on Friday.\nThen we rest.\nNobody is on call.", False),
        ("**What**: set the flag\n**Why**: it broke\n**Where**: src/a.py", False),
        ("部署在周五\n然后休息\n没有人值班", False),
        ("one line", False),
        ("if the server is down\nuse the backup\nfor a while", False),
        ("if x:\n    go()\nelse:\n    stop()", True),
        (
            'def f(x):\n    """Explain at length.\n\n    Why it is so.\n    And how.\n    """\n    y = x + 1\n    return y',
            True,
        ),
        ("def f(x):\n    '''One line.'''\n    self.y, z = x\n    yield z", True),
        ('"""A text that is quoted.\nIt has lines.\nMany of them."""', False),
        ("pip = the installer\nWe pass on Friday.\nAnd raise a glass.", False),
    ],
)
def test_code_is_told_from_prose(piece: str, is_code: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """By the look of its lines."""
    assert bool(chunk.flags(piece) & chunk.IS_CODE) is is_code


def test_a_question_is_told_in_any_script() -> None:
    """By its last mark."""
    for piece, asks in (("who?", True), ("谁？", True), ("من؟ ", True), ("me.", False), ("3", False)):
        assert bool(chunk.flags(piece) & chunk.ENDS_AS_QUESTION) is asks
    assert chunk.flags("room 3") & chunk.HAS_NUMBER
