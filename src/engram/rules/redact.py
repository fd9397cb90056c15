"""Redaction: private parts and known shapes of secrets, before anything is stored, hashed, logged or echoed."""

from __future__ import annotations

import re

from engram.model import Redactions
from engram.rules.secrets import SHAPES

PRIVATE_MARK = "[REDACTED]"
PASSES_MAX = 12  # a secret that ran into another shows its own end once that one is gone; hostile text gets no more
# A tag as HTML would read it: any case, spaces, attributes. Neither `<private/>` nor `<private-x>` is one.
_TAG = re.compile(r"<\s{0,100}(/?)\s{0,100}private(\s[^<>]*)?>", re.IGNORECASE)


def redact(text: str, *, secrets: bool = True) -> tuple[str, Redactions]:
    """The text without private parts and, unless told otherwise, without secrets; and what went.

    Each outermost private block becomes PRIVATE_MARK, an unclosed one to the end of the text. Doing it again
    changes nothing more.
    """
    text, private, unclosed = _without_private(text)
    kinds: list[str] = []
    for _ in range(PASSES_MAX if secrets else 0):
        text, found = _without_secrets(text)
        kinds += found
        if not found:
            break
    return text, Redactions(
        private=private,
        secrets=len(kinds),
        kinds=tuple(dict.fromkeys(kinds)),
        unclosed_characters=unclosed,
    )


def is_only_private(original: str, redacted: str) -> bool:
    """Whether a text held nothing but private parts and white space."""
    return redacted != original and not redacted.replace(PRIVATE_MARK, "").strip()


def _without_private(text: str) -> tuple[str, int, int]:
    """(text, blocks taken, characters after an unclosed start)."""
    if "<" not in text:
        return text, 0, 0
    parts: list[str] = []
    kept_from = depth = start = count = 0
    for tag in _TAG.finditer(text):
        if tag[1]:
            if depth == 0 or (tag[2] or "").strip():
                continue  # a stray end, or an end with attributes, is text
            depth -= 1
            if depth == 0:
                parts += [text[kept_from:start], PRIVATE_MARK]
                kept_from, count = tag.end(), count + 1
        elif not (tag[2] or "").endswith("/"):
            if depth == 0:
                start = tag.start()
            depth += 1
    if depth:
        return "".join([*parts, text[kept_from:start], PRIVATE_MARK]), count + 1, len(text) - start
    return "".join([*parts, text[kept_from:]]), count, 0


def _without_secrets(text: str) -> tuple[str, list[str]]:
    """(text, the kind of each secret taken)."""
    kinds: list[str] = []
    for shape in SHAPES:
        if not any(literal in text for literal in shape.literals):
            continue

        def mark(found: re.Match[str], kind: str = shape.kind, group: int = shape.group) -> str:
            if found[group].startswith("[REDACTED"):
                return found[0]
            kinds.append(kind)
            start, end = (edge - found.start() for edge in found.span(group))
            return f"{found[0][:start]}[REDACTED:{kind}]{found[0][end:]}"

        text = shape.pattern.sub(mark, text)
    return text, kinds
