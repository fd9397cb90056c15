"""Redaction: private parts and known shapes of secrets, before anything is stored, hashed, logged or echoed."""

from __future__ import annotations

import re

from engram.model import Redactions
from engram.rules.names import is_blank
from engram.rules.secrets import SHAPES, Shape

PRIVATE_MARK = "[REDACTED]"
ROUNDS_MAX = 12  # twice what secrets that run into each other were seen to need; hostile text gets no more

# Our own mark is no part of a tag: `<private <private>x</private>>` would leave a new one, and not come to rest.
_UNMARKED = r"(?!\[REDACTED[\]:])"
_PLAIN = rf"(?:\s(?:{_UNMARKED}[^<>])*+)?>"
# Tried second: attributes in good order, in whose quotes `<` and `>` are characters as any.
_VALUE = rf"\"(?:{_UNMARKED}[^\"]){{0,200}}+\"|'(?:{_UNMARKED}[^']){{0,200}}+'|[^\s\"'<>=\[]{{1,100}}+"
_QUOTED = rf"(?:\s{{1,20}}+[\w:.-]{{1,40}}+(?:\s{{0,20}}+=\s{{0,20}}+(?:{_VALUE}))?){{1,8}}+\s{{0,20}}+/?>"
# As HTML would read it: any case, spaces, attributes. Neither `<private/>` nor `<private-x>` is one.
_TAG = re.compile(rf"<\s*+(?P<end>/?)\s*+private(?:{_PLAIN}|{_QUOTED})", re.IGNORECASE)

_LITERALS = tuple(dict.fromkeys(literal for shape in SHAPES for literal in shape.literals))


def redact(text: str, *, secrets: bool = True) -> tuple[str, Redactions]:
    """The text without private parts and, unless told otherwise, without secrets; and what went.

    Each outermost private block becomes PRIVATE_MARK, an unclosed one to the end of the text: its characters are
    counted with its tag. A secret becomes ``[REDACTED:kind]``. Doing it again changes nothing more.
    """
    text, private, unclosed = _without_private(text)
    kinds: list[str] = []
    if secrets:
        text, kinds = _without_secrets(text)
    return text, Redactions(
        private=private,
        secrets=len(kinds),
        kinds=tuple(dict.fromkeys(kinds)),
        unclosed_characters=unclosed,
    )


def is_only_private(original: str, redacted: str) -> bool:
    """Whether a text held nothing but private parts and what can't be seen."""
    return redacted != original and is_blank(redacted.replace(PRIVATE_MARK, ""))


def _without_private(text: str) -> tuple[str, int, int]:
    """(text, blocks taken, characters from an unclosed start on)."""
    if "<" not in text:
        return text, 0, 0
    parts: list[str] = []
    kept_from = depth = start = count = 0
    for tag in _TAG.finditer(text):
        if tag["end"]:
            if depth == 0:
                continue  # a stray end is text
            depth -= 1
            if depth == 0:
                parts += [text[kept_from:start], PRIVATE_MARK]
                kept_from, count = tag.end(), count + 1
        elif not tag[0][:-1].rstrip().endswith("/"):  # else it opens nothing
            if depth == 0:
                start = tag.start()
            depth += 1
    if depth:
        return "".join([*parts, text[kept_from:start], PRIVATE_MARK]), count + 1, len(text) - start
    return "".join([*parts, text[kept_from:]]), count, 0


def _without_secrets(text: str) -> tuple[str, list[str]]:
    """(text, the kind of each secret taken)."""
    text, taken = _one_round(text)
    kinds, rounds = taken, 1
    while taken and rounds < ROUNDS_MAX:  # a secret that touched one of these is a word of its own now
        text, taken = _one_round(text)
        kinds, rounds = kinds + taken, rounds + 1
    return text, kinds


def _one_round(text: str) -> tuple[str, list[str]]:
    kinds: list[str] = []
    present = {literal for literal in _LITERALS if literal in text}
    if not present:  # most texts: no shape needs a look
        return text, kinds
    for shape in SHAPES:
        if not present.isdisjoint(shape.literals):
            text, count = _without_shape(text, shape)
            kinds += [shape.kind] * count
    return text, kinds


def _without_shape(text: str, shape: Shape) -> tuple[str, int]:
    def mark(found: re.Match[str]) -> str:
        start, end = (edge - found.start() for edge in found.span(shape.pattern.groups))
        return f"{found[0][:start]}[REDACTED:{shape.kind}]{found[0][end:]}"

    return shape.pattern.subn(mark, text)
