"""Tags: how they are kept and compared."""

from __future__ import annotations

from engram.errors import Invalid
from engram.model import TAG_CHARS_MAX
from engram.rules.names import fold_text, is_blank, nfkc


def tidy(tag: str) -> str:
    """A tag as it is kept: NFKC, trimmed, inner white space as one space.

    Raises:
        Invalid: blank, or too long.
    """
    kept = " ".join(nfkc(tag).split())
    if is_blank(kept):
        raise Invalid("a tag is blank", hint="Give it a letter or a digit")
    if len(kept) > TAG_CHARS_MAX:
        raise Invalid(f"a tag has {len(kept)} characters, the most is {TAG_CHARS_MAX}", hint="Shorten it")
    return kept


def fold(tag: str) -> str:
    """A tag as it is compared: caseless."""
    return fold_text(tidy(tag))
