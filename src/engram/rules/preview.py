"""The part of a text that a search shows: some hundred tokens around the matching words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from engram.model import QueryTerm, Span
from engram.rules.names import cut_text

WINDOW_CHARS = 700  # more than tokens_max tokens of nearly any text
LEAD_CHARS = 60  # shown before the first matching word
SEARCH_CHARS_MAX = 50_000  # far more than a chunk; a memory that was asked for by its id is shown from its beginning
PLACES_MAX = 200  # of one variant: hostile text repeats a word as often as it likes


def preview(
    body: str,
    span: Span,
    terms: Sequence[QueryTerm],
    *,
    count_tokens: Callable[[str], int],
    tokens_max: int = 100,
) -> str:
    """About ``tokens_max`` tokens of a chunk around the first place where most query words meet.

    One line; ``...`` where the text goes on. Never cuts inside what a reader sees as one character.
    """
    piece = body[span.start : span.end]
    start = _word_border(piece, _best_start(piece[:SEARCH_CHARS_MAX], terms))
    window = cut_text(piece[start : start + WINDOW_CHARS + 1], WINDOW_CHARS)
    line = " ".join(window.split())
    shown = _fitting(line, count_tokens, tokens_max)
    is_cut_before = span.start + start > len(body) - len(body.lstrip())
    is_cut_after = len(shown) < len(line) or span.start + start + len(window) < len(body.rstrip())
    return f"{'...' if is_cut_before else ''}{shown}{'...' if is_cut_after else ''}"


def _word_border(piece: str, start: int) -> int:
    """The next beginning of a word, or where none is near the border between characters as a reader sees them."""
    if not start:
        return 0
    space = next((at for at in range(start, min(start + 40, len(piece))) if piece[at].isspace()), -1)
    return space + 1 if space >= 0 else len(cut_text(piece[: start + 1], start))


def _best_start(piece: str, terms: Sequence[QueryTerm]) -> int:
    """Where to begin: a little before the first window that holds the most different query words."""
    if len(piece) <= WINDOW_CHARS // 2:
        return 0
    plain, origins = _plain(piece)
    places = sorted((at, number) for number, term in enumerate(terms) for at in _places(plain, term))
    best, most, last = 0, 0, 0
    inside: Counter[int] = Counter()
    for at, number in places:
        inside[number] += 1
        while places[last][0] < at - WINDOW_CHARS // 2:
            inside -= Counter({places[last][1]: 1})
            last += 1
        if len(inside) > most:
            best, most = places[last][0], len(inside)
    return max(0, origins[best] - LEAD_CHARS) if most else 0


def _places(plain: str, term: QueryTerm) -> list[int]:
    """Where a query word stands: at the beginnings of words, else anywhere (parts of names, scripts without spaces)."""
    found = {at for variant in term.variants for at in _occurrences(plain, _plain(variant)[0])}
    beginnings = [at for at in found if not at or not plain[at - 1].isalnum()]
    return beginnings or list(found)


def _occurrences(plain: str, word: str) -> Iterator[int]:
    at = plain.find(word) if word else -1
    for _ in range(PLACES_MAX):
        if at < 0:
            return
        yield at
        at = plain.find(word, at + 1)


def _plain(text: str) -> tuple[str, Sequence[int]]:
    """The text folded and without marks, and for each of its characters the place in the text that it comes from."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded = [_plain_character(character) for character in text]
    return "".join(folded), [at for at, part in enumerate(folded) for _ in part]


@lru_cache(maxsize=8_192)
def _plain_character(character: str) -> str:
    parts = unicodedata.normalize("NFKD", character).casefold()
    return "".join(part for part in unicodedata.normalize("NFKD", parts) if unicodedata.category(part) != "Mn")


def _fitting(line: str, count_tokens: Callable[[str], int], tokens_max: int) -> str:
    """The longest beginning within the budget, cut at a word where there is one."""
    if count_tokens(line) <= tokens_max:
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(line[:middle]) <= tokens_max else (low, middle - 1)
    cut = line.rfind(" ", max(0, low - 30), low + 1)
    return cut_text(line, cut if cut > 0 else low)
