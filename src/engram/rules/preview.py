"""The part of a text that a search shows: some hundred tokens around the matching words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engram.model import QueryTerm, Span
from engram.rules.names import cut_text

CHARS_A_TOKEN = 4
WINDOW_CHARS = 700  # more than tokens_max tokens of nearly any text


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
    start = _best_start(piece, terms)
    window = piece[start : start + WINDOW_CHARS]
    if start:  # begin at a word
        space = next((i for i, c in enumerate(window[:40]) if c.isspace()), -1)
        window = window[space + 1 :] if space >= 0 else window
    line = " ".join(window.split())
    shown = _fitting(line, count_tokens, tokens_max)
    is_cut_after = len(shown) < len(line) or span.start + start + WINDOW_CHARS < len(body.rstrip())
    before = "..." if span.start + start > len(body) - len(body.lstrip()) else ""
    return f"{before}{shown}{'...' if is_cut_after else ''}"


def _best_start(piece: str, terms: Sequence[QueryTerm]) -> int:
    """Where to begin: a little before the window that holds the most different query words."""
    if len(piece) <= WINDOW_CHARS // 2:
        return 0
    folded = piece.casefold()
    if len(folded) != len(piece):  # a letter that folds into two: places would not agree
        folded = piece.lower() if len(piece.lower()) == len(piece) else piece
    places = sorted({at for term in terms for variant in term.variants if (at := folded.find(variant)) >= 0})
    if not places:
        return 0
    width = WINDOW_CHARS // 2
    best = max(places, key=lambda at: (sum(at <= other < at + width for other in places), -at))
    return max(0, best - 60)


def _fitting(line: str, count_tokens: Callable[[str], int], tokens_max: int) -> str:
    """The longest beginning within the budget, cut at a word where there is one."""
    if count_tokens(line) <= tokens_max:
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(line[:middle]) <= tokens_max else (low, middle - 1)
    cut = line.rfind(" ", max(0, low - 30), low)
    return cut_text(line, cut if cut > 0 else low)
