"""Whether a text is one that a model can read.

A model gives every text a vector, also one whose script it has never seen: all such texts look alike to it.
"""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.rules import tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT_SHARE_MIN = 0.9  # of the letters
UNKNOWN_SHARE_MAX = 0.1  # of the words
WORD_CHARS_MAX = 100  # the tokenizer takes a longer word as one unknown piece
_ASCII_LETTER = re.compile("[A-Za-z]")
_LONG_ASCII_WORD = re.compile(f"[A-Za-z0-9]{{{WORD_CHARS_MAX + 1}}}")


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of an uncased BERT tokenizer."""

    ids: Mapping[str, int]
    chars_max: int  # of the longest piece
    spells_ascii: bool = False  # every letter and digit is a piece, so every ASCII word can be spelt

    def knows(self, word: str) -> bool:
        """Whether the tokenizer can spell a normalised word; greedy from the left, as the tokenizer does it."""
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(min(len(word), start + self.chars_max), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.ids), None)
            if end is None:
                return False
            start = end
        return True


def pieces_of(vocabulary: Mapping[str, int]) -> Pieces:
    """The pieces of a vocabulary, ready to be asked."""
    simple = string.ascii_lowercase + string.digits
    spells_ascii = all(letter in vocabulary and f"##{letter}" in vocabulary for letter in simple)
    return Pieces(vocabulary, max(map(len, vocabulary), default=0), spells_ascii)


def is_readable(text: str, *, pieces: Pieces, scripts: frozenset[str]) -> bool:
    """Whether a text is written in these scripts, in words that the tokenizer can spell.

    Args:
        text: Any text; the time is linear in its length.
        pieces: The model's vocabulary.
        scripts: As the first word of Unicode character names, e.g. ``LATIN``.

    Returns:
        False too where there is no letter: numbers and signs alone are found by words, not by meaning.

    Source: contract "Similarity".
    """
    if text.isascii() and pieces.spells_ascii and "LATIN" in scripts:  # the usual case, in a tenth of the time
        if _ASCII_LETTER.search(text) is None:
            return False
        # A look at what stands between white space is a third of the pattern's time, and settles nearly every text.
        return max(map(len, text.split())) <= WORD_CHARS_MAX or _LONG_ASCII_WORD.search(text) is None
    if not has_scripts(text, scripts):
        return False
    words = words_of(text)
    if any(len(word) > WORD_CHARS_MAX for word in words):
        return False
    unknown = sum(not pieces.knows(word) for word in words)
    return unknown <= UNKNOWN_SHARE_MAX * len(words)


def has_scripts(text: str, scripts: frozenset[str]) -> bool:
    """Whether a text has letters, nearly all of these scripts (as in ``is_readable``)."""
    if text.isascii() and "LATIN" in scripts:
        return _ASCII_LETTER.search(text) is not None
    letters = [character for character in text if character.isalpha()]
    return bool(letters) and sum(_script(letter) in scripts for letter in letters) >= SCRIPT_SHARE_MIN * len(letters)


def words_of(text: str) -> list[str]:
    """The words of a text as the tokenizer sees them before it spells them.

    Lower case without accents, cut at white space and punctuation. What has neither letter nor digit is no word.
    """
    return [word for word in tokens.words_of(text) if any(map(str.isalnum, word))]


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
