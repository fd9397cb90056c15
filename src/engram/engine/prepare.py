"""Before a transaction: redact, tidy, check and cut what a caller wants remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import index
from engram.errors import Conflict, Invalid
from engram.model import (
    KIND_CHARS_MAX,
    KIND_PROMPT,
    TITLE_CHARS_MAX,
    Draft,
    Redactions,
    memory_type_of,
)
from engram.rules import ids, markers, names
from engram.rules.redact import is_only_private, redact

if TYPE_CHECKING:
    from engram.engine.context import Engine
    from engram.store.chunks import Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A draft that is ready to be written."""

    draft: Draft
    pieces: list[Piece]
    content_hash: str
    same_hash: str
    redactions: Redactions
    type_given: bool = False  # the memory type was named, not derived from the kind

    @property
    def importance(self) -> float:
        """The draft's importance, else by memory type."""
        if self.draft.importance is not None:
            return self.draft.importance
        return 0.7 if self.draft.memory_type == "semantic" else 0.5


def clean(engine: Engine, text: str, *, parameter: str) -> tuple[str, Redactions]:
    """The text without private parts and secrets.

    Raises:
        Invalid: nothing but private parts.
    """
    shown, redactions = redact(text, secrets=engine.settings.redact_secrets)
    if redactions.private and is_only_private(text, shown):
        raise Invalid(
            f"{parameter} holds nothing but private parts", hint="Leave it out, or save what may be remembered"
        )
    return shown, redactions


def prepare(engine: Engine, draft: Draft, *, may_be_recalled: bool = False, may_be_prompt: bool = False) -> Prepared:
    """Everything about a draft that needs no database.

    Raises:
        Conflict: the text is recalled memory, sent back.
        Invalid: a field is over its limit, blank or only private.
    """
    if not may_be_recalled and markers.is_recalled(draft.body):
        raise Conflict(
            "this is recalled memory, it is stored already",
            hint="Save your own words about it, or change the memory with mem_update",
        )
    redactions = Redactions()
    final: dict[str, str] = {}
    for name in ("title", "body", "concept", "topic_key", "trigger_pattern", "action_pattern", "source"):
        value: str = getattr(draft, name)
        if value:
            final[name], found = clean(engine, value, parameter="content" if name == "body" else name)
            if found:
                redactions = redactions.plus(found)
    final["title"] = _title(final.get("title", ""), final.get("concept", ""), final.get("body", ""))
    final["topic_key"] = topic_key(final.get("topic_key", ""))
    final["kind"] = kind(draft.kind, may_be_prompt=may_be_prompt)
    type_given = bool(draft.memory_type)
    final["memory_type"] = draft.memory_type or memory_type_of(final["kind"])
    draft = replace(draft, **final)
    return Prepared(
        draft=draft,
        pieces=index.cut(
            engine.embedder, title=draft.title, concept=draft.concept, topic_key=draft.topic_key, body=draft.body
        ),
        content_hash=ids.content_hash(draft.body),
        same_hash=ids.same_hash(draft.body),
        redactions=redactions,
        type_given=type_given,
    )


def _title(title: str, concept: str, body: str) -> str:
    title = names.tidy_title(title or concept) or names.first_sentence_title(body)
    if len(title) > TITLE_CHARS_MAX:
        raise Invalid(
            f"title has {len(title)} characters, the most is {TITLE_CHARS_MAX}",
            hint="Put a short title there and the rest into content",
        )
    return title


def topic_key(text: str) -> str:
    """A topic key as it is kept and compared; empty stays empty.

    Raises:
        Invalid: over the limit.
    """
    return names.normalise_topic_key(text) if text else ""


def kind(text: str, *, may_be_prompt: bool = False) -> str:
    """A kind as it is kept: a slug.

    Raises:
        Invalid: not a slug, or reserved.
    """
    slug = names.fold_name(text.strip())
    if not names.is_kind(slug):
        raise Invalid(
            f"type is {text[:80]!r}, it must be a slug of 1 to {KIND_CHARS_MAX} letters, digits, _ or -",
            hint="Use for example decision, bugfix or discovery",
        )
    if slug == KIND_PROMPT and not may_be_prompt:
        raise Invalid("type prompt is reserved", hint="Save prompts with mem_save_prompt")
    return slug
