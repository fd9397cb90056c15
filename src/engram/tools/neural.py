"""What the tools of the neural family share: parameters, and how memories are shown in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from engram.errors import Invalid
from engram.model import (
    FILTER_ENTRIES_MAX,
    MEMORY_TYPES,
    NAME_CHARS_MAX,
    SOURCE_CHARS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
)
from engram.rules import times
from engram.tools.params import Bool, Choice, Text, TextList

if TYPE_CHECKING:
    from engram.model import Memory

PLACE_CHARS_MAX = 2 * NAME_CHARS_MAX + 1  # library/name

Namespace = Annotated[str, Text("Namespace; default: everything of one's own.", chars_max=PLACE_CHARS_MAX)]
WriteNamespace = Annotated[str, Text("Namespace; default: `default`.", chars_max=PLACE_CHARS_MAX)]
MemoryType = Annotated[
    str, Choice("episodic: an event; semantic: a fact; procedural: how something is done.", MEMORY_TYPES)
]
Types = Annotated[
    tuple[str, ...],
    TextList("Only these types: episodic, semantic, procedural.", chars_max=40, entries_max=FILTER_ENTRIES_MAX),
]
Sources = Annotated[
    tuple[str, ...],
    TextList("Only what came from these clients.", chars_max=SOURCE_CHARS_MAX, entries_max=FILTER_ENTRIES_MAX),
]
Tags = Annotated[
    tuple[str, ...],
    TextList("Only what has any of these tags.", chars_max=TAG_CHARS_MAX, entries_max=FILTER_ENTRIES_MAX),
]
NewTags = Annotated[
    tuple[str, ...], TextList("Tags; `pinned` is always recalled.", chars_max=TAG_CHARS_MAX, entries_max=TAGS_MAX)
]
Crossing = Annotated[bool, Bool("Beyond the namespace that this server is kept to.")]


def fields(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
    """An answer's fields; those without a value are left out, an empty list is a value."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


def time_of(at: int | None) -> str | None:
    """A moment as answers show it."""
    return None if at is None else times.format_time(at)


def memory_fields(memory: Memory) -> dict[str, Any]:
    """A memory as lists show it, without its text."""
    return fields(
        id=memory.id,
        type=memory.memory_type,
        concept=memory.concept,
        importance=memory.importance,
        source=memory.source,
        createdAt=time_of(memory.created_at),
    )


def types_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """Memory types of a filter.

    Raises:
        Invalid: one is none.
    """
    for name in given:
        if name not in MEMORY_TYPES:
            raise Invalid(f"types names {name[:80]!r}", hint=f"Use some of {', '.join(MEMORY_TYPES)}")
    return given
