"""Counting tokens by the packaged vocabulary, without the model's own library."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from functools import cache, lru_cache

WORD_CHARS_MAX = 100  # BERT takes a longer word as one unknown piece
_FULL_COST_FROM = "\U00020000"  # ideographs outside the basic plane
# Marks and format characters that are younger than the tokenizer's tables: it keeps them as letters. Each range
# holds none that it drops, so that marks which Unicode adds between them are kept too.
_YOUNG_MARKS = re.compile(
    "[\u05c8-\u05c9\u07fd\u0890-\u08e2\u09fe\u0afa-\u0aff\u0b53-\u0b55\u0c04-\u0c3c\u0d00\u0d3b-\u0d3c\u0d81\u0eba\u0ece"
    "\u180f-\u1886\u1abf-\u1af0\u1df6-\u1dfb\ua82c\ua8c5\ua8ff\ua9bd\U00010d24-\U00010f85\U00011070-\U00011074"
    "\U000110c2-\U000110cd\U000111c9\U000111cf\U0001123e-\U00011241\U0001133b\U000113bb-\U0001145e"
    "\U0001182f-\U0001612f\U00016f4f\U00016fe4\U0001cf00-\U0001d128\U0001d25b-\U0001d25c\U0001e000-\U0001e6f5"
    "\U0001e944-\U0001e94a]"
)
# What was a mark of another kind in the tokenizer's tables than it is in ours.
_OLD_MARK = "\u1734"
_OLD_PUNCTUATION = "\u166d\U000111c9"
# The tokenizer's own list, by ranges: also what is unassigned in them.
_IDEOGRAPH = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class WordPiece:
    """The pieces of an uncased BERT vocabulary; ``##`` marks a piece inside a word."""

    def __init__(self, vocabulary: Container[str]) -> None:
        self._vocabulary = vocabulary
        self._cost = lru_cache(maxsize=65_536)(self._cost_of)
        self._model_cost = lru_cache(maxsize=65_536)(self._model_cost_of)

    def count(self, text: str) -> int:
        """Tokens for a budget: pieces, an unknown piece as half its UTF-8 bytes, never under a quarter of all bytes.

        Source: contract "Tokens".
        """
        total = sum(self._cost(word)[0] for word in words_of(text))
        return max(total, (len(text.encode("utf-8", "surrogatepass")) + 3) // 4)

    def pieces(self, text: str) -> int:
        """Tokens as the model counts them, an unknown word as one."""
        return sum(map(self._model_cost, words_of(text)))

    def _cost_of(self, word: str) -> tuple[int, int]:
        """(budget tokens, model tokens) of one word."""
        if len(word) <= WORD_CHARS_MAX:
            known = self._spell(word)
            if known:
                return known, known
        size = len(word.encode("utf-8", "surrogatepass"))
        return (size if word >= _FULL_COST_FROM else (size + 1) // 2), 1

    def _model_cost_of(self, word: str) -> int:
        return self._cost_of(word)[1]

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
    if text.isascii():  # the usual case, in a fifth of the time
        return text.translate(_ascii()).split()
    return "".join(map(_normal, text)).split()


@cache
def _ascii() -> dict[int, str]:
    return {code: _normal(chr(code)) for code in range(128)}


@lru_cache(maxsize=8_192)
def _normal(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Co", "Cs"} and not _YOUNG_MARKS.match(character):
        return ""  # what is unassigned here (Cn) may be a letter to a newer tokenizer: counted
    if character == "\N{REPLACEMENT CHARACTER}":
        return ""
    parts = "".join(_part(part) for part in unicodedata.normalize("NFD", character))
    return f" {parts} " if _is_ideograph(character) else parts


def _is_ideograph(character: str) -> bool:
    """By the tokenizer's ranges, and those that Unicode added later: a word each costs what they cost, or more."""
    if _IDEOGRAPH.match(character):
        return True
    return character >= "\u2e80" and character.isalpha() and unicodedata.name(character, "").startswith("CJK ")


def _part(character: str) -> str:
    category = unicodedata.category(character)
    if character in _OLD_PUNCTUATION:
        return f" {character} "
    if character == _OLD_MARK or (category == "Mn" and not _YOUNG_MARKS.match(character)):
        return ""
    if character.isspace():
        return " "
    if category[0] == "P" or (character.isascii() and not character.isalnum()):
        return f" {character} "
    return character.lower()
