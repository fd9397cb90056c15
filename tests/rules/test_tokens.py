"""Tokens for budgets and for the model's window."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from engram.embed import tokenizer_path
from engram.engine.index import tokens

property_test = settings(deadline=None)  # a busy machine is no failure

REAL = Tokenizer.from_file(str(tokenizer_path()))
REAL.no_truncation()
REAL.no_padding()


@property_test
@given(st.text(max_size=80))
def test_a_window_never_holds_more_than_was_counted(text: str) -> None:
    """Our count for the model is never below the tokenizer's own."""
    real = len(REAL.encode(text, add_special_tokens=False).ids)
    assert tokens().pieces(text) >= real


def test_no_character_costs_the_window_more_than_was_counted() -> None:
    """Also marks that are younger than the tokenizer, alone and inside a word."""
    for start in range(0, 0x20000, 0x1000):
        codes = (code for code in range(start, start + 0x1000) if not 0xD800 <= code <= 0xDFFF)
        texts = [text for code in codes for text in (chr(code), f"ab{chr(code)}cd")]
        for text, real in zip(texts, REAL.encode_batch(texts, add_special_tokens=False), strict=True):
            assert tokens().pieces(text) >= len(real.ids), ascii(text)


@property_test
@given(st.text(max_size=80))
def test_a_budget_is_never_under_a_quarter_of_the_bytes(text: str) -> None:
    """A text that the vocabulary does not know still costs."""
    assert tokens().count(text) * 4 >= len(text.encode())


def test_known_words_are_their_pieces_and_unknown_ones_half_their_bytes() -> None:
    """All of their bytes for ideographs outside the basic plane."""
    assert tokens().pieces("the cache is warm") == 4
    assert tokens().count("the cache is warm") == 5  # a quarter of 17 bytes
    assert tokens().count("\U0001f600") == 2
    assert tokens().count("\U00020000") == 4
    assert tokens().count("") == 0
    assert tokens().pieces("x" * 101) == 1
