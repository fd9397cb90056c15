"""Counting tokens by the packaged vocabulary, without the model's own library."""

from __future__ import annotations

import unicodedata
from collections.abc import Container
from functools import lru_cache

WORD_CHARS_MAX = 100  # BERT takes a longer word as one unknown piece
_FULL_COST_FROM = "\U00020000"  # ideographs outside the basic plane


class WordPiece:
    """The pieces of an uncased BERT vocabulary; ``##`` marks a piece inside a word."""

    def __init__(self, vocabulary: Container[str]) -> None:
        self._vocabulary = vocabulary
        self._cost = lru_cache(maxsize=65_536)(self._cost_of)

    def count(self, text: str) -> int:
        """Tokens for a budget: pieces, an unknown piece as half its UTF-8 bytes, never under a quarter of all bytes.

        Source: contract "Tokens".
        """
        total = sum(self._cost(word)[0] for word in words_of(text))
        return max(total, (len(text.encode("utf-8", "surrogatepass")) + 3) // 4)

    def pieces(self, text: str) -> int:
        """Tokens as the model counts them, an unknown word as one."""
        return sum(self._cost(word)[1] for word in words_of(text))

    def _cost_of(self, word: str) -> tuple[int, int]:
        """(budget tokens, model tokens) of one word."""
        if len(word) <= WORD_CHARS_MAX:
            known = self._spell(word)
            if known:
                return known, known
        size = len(word.encode("utf-8", "surrogatepass"))
        return (size if word >= _FULL_COST_FROM else (size + 1) // 2), 1

    def _spell(self, word: str) -> int:
        """How many pieces spell the word, greedy from the left; 0 if none do."""
        start = count = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = len(word)
            while end > start and prefix + word[start:end] not in self._vocabulary:
                end -= 1
            if end == start:
                return 0
            start, count = end, count + 1
        return count


def words_of(text: str) -> list[str]:
    """The words of a text as the tokenizer sees them: lower case, no accents, each punctuation mark a word."""
    return "".join(map(_normal, text)).split()


@lru_cache(maxsize=8_192)
def _normal(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Co", "Cs"} or character == "\N{REPLACEMENT CHARACTER}":
        return ""  # what is unassigned here (Cn) may be a letter to a newer tokenizer: counted
    parts = "".join(_part(part) for part in unicodedata.normalize("NFD", character))
    is_ideograph = not character.isascii() and unicodedata.name(character, "").startswith("CJK ")
    return f" {parts} " if is_ideograph and character.isalpha() else parts


def _part(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Mn":
        return ""
    if character.isspace():
        return " "
    if category[0] == "P" or (character.isascii() and not character.isalnum()):
        return f" {character} "
    return character.lower()
