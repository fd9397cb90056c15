"""Cutting a body into pieces that a model can read whole, at sentence and heading borders."""

from __future__ import annotations

import re
from collections.abc import Callable

from engram.model import CHUNK_CHARS_MAX, CHUNK_TOKENS_MAX, Span

TEXT_VERSION = 1  # of embedding_text: another text is another vector
MARKS = 2  # tokens that the model adds at both ends
PREFIX_TOKENS_MAX = 160  # a longer title is cut for embedding; its words are indexed whole

ENDS_AS_QUESTION = 1
IS_CODE = 2
HAS_NUMBER = 4

_CODE_LINE = re.compile(
    r"\s*(?:(?:def|class|func|fn|function|import|from|return|const|let|var|public|private|static|package|use|using|"
    r"if|for|while|elif|else|try|except|switch|case|struct|impl|interface|type|@\w+|#include)\b.*|"
    r".*[;{}]\s*|.*\)\s*:\s*|.*\w\(.*\).*[;:{]?\s*|\s*(?://|/\*|\*/).*|.*(?:==|!=|=>|->|:=|\+=|&&|\|\|).*)"
)
_LINE_CHARS_MAX = 300
_QUESTION_MARKS = ("?", "？", "؟", "՞", "፧", ";")


def split(body: str, *, count_tokens: Callable[[str], int], prefix: str = "") -> tuple[Span, ...]:
    """Where the pieces of a body stand: in order, without overlap, all text that is not white space covered.

    Args:
        body: Any text.
        count_tokens: Tokens as the model counts them.
        prefix: Title and concept, which go before each piece.

    Returns:
        At least one span; each at most CHUNK_CHARS_MAX characters and, with the prefix, CHUNK_TOKENS_MAX tokens.
    """
    room = CHUNK_TOKENS_MAX - MARKS - min(count_tokens(prefix), PREFIX_TOKENS_MAX)
    start = len(body) - len(body.lstrip())
    whole = Span(start=start if start < len(body) else 0, end=len(body.rstrip()) or len(body))
    if _fits(body, whole, count_tokens, room):
        return (whole,)
    return tuple(_cut(body, whole, count_tokens, room, CHUNK_CHARS_MAX))


def _fits(body: str, span: Span, count_tokens: Callable[[str], int], room: int) -> bool:
    return span.end - span.start <= CHUNK_CHARS_MAX and count_tokens(body[span.start : span.end]) <= room


def _cut(body: str, span: Span, count_tokens: Callable[[str], int], room: int, chars_max: int) -> list[Span]:
    """Pieces of a span of at most ``chars_max`` characters; those with too many tokens are cut again, in halves."""
    from semantic_text_splitter import MarkdownSplitter  # noqa: PLC0415 - most bodies are short and need no splitter

    found: list[Span] = []
    for offset, text in MarkdownSplitter(chars_max).chunk_indices(body[span.start : span.end]):
        piece = Span(start=span.start + offset, end=span.start + offset + len(text))
        if chars_max <= 8 or _fits(body, piece, count_tokens, room):
            found.append(piece)
        else:
            found += _cut(body, piece, count_tokens, room, max(8, chars_max // 2))
    return found or [span]


def embedding_text(*, title: str, concept: str, piece: str) -> str:
    """The one canonical text of which a chunk's vector is made: title and concept, where the piece lacks them."""
    head = [part for part in (title, concept) if part and not piece.startswith(part)]
    return "\n".join([*dict.fromkeys(head), piece])


def flags(piece: str) -> int:
    """What ranking wants to know of a piece, as bits."""
    found = ENDS_AS_QUESTION if piece.rstrip().endswith(_QUESTION_MARKS) else 0
    if is_code(piece):
        found |= IS_CODE
    if any(character.isdigit() for character in piece):
        found |= HAS_NUMBER
    return found


def is_code(piece: str) -> bool:
    """Whether a piece is program text: more than half of its lines look like code, in any human language."""
    lines = [line[:_LINE_CHARS_MAX] for line in piece.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    return sum(_CODE_LINE.fullmatch(line) is not None for line in lines) * 2 > len(lines)
