"""Cutting a body into pieces that a model can read whole, at sentence and heading borders."""

from __future__ import annotations

import re
from collections.abc import Callable

from engram.model import CHUNK_CHARS_MAX, CHUNK_TOKENS_MAX, Span
from engram.rules.names import cut_at_word, cut_text

TEXT_VERSION = 1  # of embedding_text: another text is another vector
MARKS = 2  # tokens that the model adds at both ends
BLOCK_CHARS_MAX = 16_000  # what the splitter gets at once: its time grows with the square of an unbroken text
PREFIX_TOKENS_MAX = 160
PREFIX_CHARS_MAX = 320  # a longer one is cut for embedding, so that it fits that many tokens; its words are indexed

ENDS_AS_QUESTION = 1
IS_CODE = 2
HAS_NUMBER = 4

# Words that also begin a line of prose count only with a sign that prose does without.
# Lines are stripped first, and no two repetitions of white space stand side by side: hostile lines cost little.
_CODE_LINE = re.compile(
    r"(?:def|func|fn|import|return|yield|raise|const|var|elif|struct|impl|@\w+|#include)\b.*|"
    r"from \S+ import\b.*|[\w\[(\"'][\w.,\[\]()\"' ]{0,80} [-+*/|&]?= .*|(?:pass|break|continue|end|fi|done)|"
    r"(?:class|function|let|public|private|static|package|use|using|if|for|while|else|try|except|switch|case|"
    r"interface|type)\b[^(){}=;:]*[(){}=;:].*|"
    r".*[;{}]|.*\)\s*+:|.*\w\(.*\).*|(?://|/\*|\*/).*|.*(?:==|!=|=>|->|:=|\+=|&&|\|\|).*"
)
_DOC_BORDERS = ('"""', "'''")
_LINE_CHARS_MAX = 300
_ASCII_DIGIT = re.compile("[0-9]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLOCK_BORDERS = ("\n#", "\n\n", "\n", "。", ". ", " ")  # the best first
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
    found: list[Span] = []
    for block in _blocks(body, whole):
        found += _cut(body, block, count_tokens, room, CHUNK_CHARS_MAX)
    return tuple(found) or (whole,)


def _blocks(body: str, span: Span) -> list[Span]:
    """The span in parts of at most BLOCK_CHARS_MAX characters, ended at the best border of each one's second half."""
    found: list[Span] = []
    start = span.start
    while span.end - start > BLOCK_CHARS_MAX:
        end = _block_end(body, start)
        found.append(Span(start=start, end=end))
        start = end
    return [*found, Span(start=start, end=span.end)]


def _block_end(body: str, start: int) -> int:
    middle, most = start + BLOCK_CHARS_MAX // 2, start + BLOCK_CHARS_MAX
    for border in _BLOCK_BORDERS:
        at = body.rfind(border, middle, most)
        if at >= 0:
            return at + (1 if border.startswith("\n") else len(border))
    return start + len(cut_text(body[start : most + 1], BLOCK_CHARS_MAX))


def _fits(body: str, span: Span, count_tokens: Callable[[str], int], room: int) -> bool:
    return span.end - span.start <= CHUNK_CHARS_MAX and count_tokens(body[span.start : span.end]) <= room


def _cut(body: str, span: Span, count_tokens: Callable[[str], int], room: int, chars_max: int) -> list[Span]:
    """Pieces of a span of at most ``chars_max`` characters; those with too many tokens are cut again, in halves."""
    from semantic_text_splitter import MarkdownSplitter  # noqa: PLC0415 - most bodies are short and need no splitter

    found: list[Span] = []
    # A lone surrogate, which UTF-8 has not, stands for one character as the mark in its place does.
    part = _SURROGATE.sub("?", body[span.start : span.end])
    for offset, text in MarkdownSplitter(chars_max).chunk_indices(part):
        piece = Span(start=span.start + offset, end=span.start + offset + len(text))
        if chars_max <= 8 or _fits(body, piece, count_tokens, room):
            found.append(piece)
        else:
            found += _cut(body, piece, count_tokens, room, max(8, chars_max // 2))
    return found


def embedding_text(*, title: str, concept: str, piece: str) -> str:
    """The one canonical text of which a chunk's vector is made: title and concept, where the piece lacks them."""
    head = [part for part in (title, concept) if part and not piece.startswith(part)]
    prefix = cut_at_word("\n".join(dict.fromkeys(head)), PREFIX_CHARS_MAX)
    return f"{prefix}\n{piece}" if prefix else piece


def flags(piece: str) -> int:
    """What ranking wants to know of a piece, as bits."""
    found = ENDS_AS_QUESTION if piece.rstrip().endswith(_QUESTION_MARKS) else 0
    if is_code(piece):
        found |= IS_CODE
    if _ASCII_DIGIT.search(piece) or (not piece.isascii() and any(character.isdigit() for character in piece)):
        found |= HAS_NUMBER
    return found


def is_code(piece: str) -> bool:
    """Whether a piece is program text: more than half of its lines look like code, in any human language.

    The text between triple quotes says nothing: a function that explains itself at length is still a function.
    """
    lines = _undocumented([line.strip()[:_LINE_CHARS_MAX] for line in piece.splitlines() if line.strip()])
    if len(lines) < 2:
        return False
    code = prose = 0
    for line in lines:
        if _CODE_LINE.fullmatch(line):
            code += 1
        else:
            prose += 1
        if code * 2 > len(lines) or prose * 2 >= len(lines):
            break  # the rest can't change it
    return code * 2 > len(lines)


def _undocumented(lines: list[str]) -> list[str]:
    """The lines without those on which a text in triple quotes begins, goes on or ends."""
    kept: list[str] = []
    border = ""
    for line in lines:
        if border:
            if border in line:
                border = ""
            continue
        opened = next((mark for mark in _DOC_BORDERS if line.count(mark) % 2), "")
        if not (opened or line.startswith(_DOC_BORDERS)):
            kept.append(line)
        border = opened
    return kept
