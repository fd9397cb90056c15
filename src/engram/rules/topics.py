"""Topic keys: a stable name for a subject, so that what is learned later revises what was known."""

from __future__ import annotations

from engram.model import TITLE_CHARS_MAX
from engram.rules.ids import same_hash
from engram.rules.names import cut_text, first_sentence_title, is_blank, words_of

SLUG_CHARS_MAX = 80
OTHER_FAMILY = "topic"

_HASH_DIGITS = 8
# In the order in which they are looked for.
_FAMILIES = {
    "bug": ("bug", "bugfix", "fix", "fixed", "error", "crash", "panic", "regression", "incident", "hotfix"),
    "architecture": ("architecture", "design", "adr", "boundary", "refactor"),
    "decision": ("decision", "decide", "decided", "chose", "tradeoff"),
    "pattern": ("pattern", "convention", "naming", "guideline"),
    "config": ("config", "setup", "environment", "docker", "pipeline", "ci"),
    "discovery": ("discovery", "investigate", "found"),
    "learning": ("learned", "learning"),
}


def suggest(type_: str, title: str, content: str) -> str:
    """The topic key that fits a memory: ``<family>/<slug>``. The same input gives the same key.

    Args:
        type_: A kind; may be empty. Where it names a family, or a word of one, that family is taken.
        title: May be blank; then the first sentence of the content stands for it.
        content: May be empty where there is a title.
    """
    family = _family_of(words_of(type_)) or _family_of(words_of(title)) or _family_of(words_of(content))
    subject = title if not is_blank(title) else first_sentence_title(content, TITLE_CHARS_MAX)
    family = family or OTHER_FAMILY
    return f"{family}/{_slug(subject, family)}"


def _family_of(words: list[str]) -> str:
    """The first family one of whose words is there; empty: none."""
    present = set(words)
    return next((family for family, known in _FAMILIES.items() if not present.isdisjoint(known)), "")


def _slug(title: str, family: str) -> str:
    """The title's words with hyphens between, and the whole title's hash where that is not all of it."""
    words = words_of(title)
    if words and words[0] == family:
        words = words[1:]
    whole = "-".join(words)
    if whole and len(whole) <= SLUG_CHARS_MAX:
        return whole
    return f"{_cut_slug(whole)}-{same_hash(title)[:_HASH_DIGITS]}"


def _cut_slug(whole: str) -> str:
    if len(whole) <= SLUG_CHARS_MAX:
        return whole
    head = cut_text(whole, SLUG_CHARS_MAX)
    if whole[len(head)] == "-":
        return head
    at_word = head.rpartition("-")[0]
    return at_word or head
