"""Memories and contexts as MCP resources: ``engram://memory/{id}`` and ``engram://context/{project}``.

A resource is read by the tool that shows the same thing, so that both answer alike, errors included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from engram.errors import Invalid
from engram.rules import markers, times
from engram.tools import mem, registry, text
from engram.tools.later import Later

if TYPE_CHECKING:
    from engram.engine import browse
    from engram.engine.browse import Listed, Project, Shown
    from engram.engine.context import Context
else:
    browse = Later("engram.engine.browse")

MIME_TYPE = "text/markdown"
PAGE_SIZE = 50
READERS = {"memory": (mem.mem_get_observation.__name__, "id"), "context": (mem.mem_context.__name__, "project")}

_URI = re.compile(r"engram://(memory|context)/(.+)", re.IGNORECASE | re.DOTALL)
_AFTER_MEMORY = re.compile(r"m\.(\d{1,18})\.(\d{1,18})\.([0-9a-f-]{36})", re.ASCII)
_AFTER_PROJECT = re.compile(r"p\.([0-9a-f-]{36})\.(.+)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A kind of resource: what its URIs look like."""

    uri: str
    name: str
    title: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A resource in a list."""

    uri: str
    name: str
    title: str
    description: str
    updated: str = ""  # ISO 8601; empty where it has no one time


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the list; ``cursor`` asks for the next, empty on the last."""

    entries: tuple[Entry, ...]
    cursor: str


TEMPLATES = (
    Template(
        uri="engram://memory/{id}",
        name="memory",
        title="A memory",
        description="The full text of a memory and where it comes from. id: its UUID or number (12, or 12@library).",
    ),
    Template(
        uri="engram://context/{project}",
        name="context",
        title="Recent context of a project",
        description="What happened lately in a project: sessions, prompts and memories. project: its name.",
    ),
)


def read(ctx: Context, uri: str) -> str:
    """The text of a resource, stored text between markers.

    Raises:
        Invalid: the URI is none of ours.
        NotFound: there is no such memory, or the caller may not see it.
        Conflict: a project name that several libraries have.
    """
    found = _URI.fullmatch(uri)
    if not found:
        raise Invalid("this is no resource of Engram", hint=f"Read {' or '.join(one.uri for one in TEMPLATES)}.")
    try:
        name = unquote_to_bytes(found[2].encode()).decode()
    except UnicodeError:
        raise Invalid("the URI is not percent-encoded UTF-8", hint="Encode it anew and read it again.") from None
    reader, parameter = READERS[found[1].lower()]
    return registry.answer(registry.TOOLS[reader], ctx, {parameter: name}).text


def page(ctx: Context, cursor: str) -> Page:
    """One page of what the caller reads unasked: a context for each project, then memories, newest first.

    Raises:
        Invalid: the cursor is none that a page gave.
    """
    memory, project = _AFTER_MEMORY.fullmatch(cursor), _AFTER_PROJECT.fullmatch(cursor)
    if cursor and not memory and not project:
        raise Invalid("the cursor is none of ours", hint="Leave it out to begin with the first page.")
    listed = browse.listed(
        ctx,
        limit=PAGE_SIZE,
        after_project=(project[2], project[1]) if project else ("", ""),
        after_memory=(int(memory[1]), int(memory[2]), memory[3]) if memory else None,
    )
    entries = [*map(_context_entry, listed.projects), *map(_memory_entry, listed.memories)]
    return Page(entries=tuple(entries), cursor=_next(listed) if listed.has_more else "")


def _next(listed: Listed) -> str:
    if listed.memories:
        last = listed.memories[-1].memory
        return f"m.{last.created_at}.{last.number}.{last.library_id}"
    folded, library_id = listed.projects[-1].key
    return f"p.{library_id}.{folded}"


def _context_entry(project: Project) -> Entry:
    shown = markers.escape(project.name)
    return Entry(
        uri=f"engram://context/{quote(project.name, safe='')}",
        name=f"context of {shown}",
        title=f"Recent context of {shown}",
        description="Sessions, prompts and memories of the project, newest first.",
    )


def _memory_entry(shown: Shown) -> Entry:
    memory = shown.memory
    return Entry(
        uri=f"engram://memory/{memory.id}",
        name=markers.escape(f"{shown.label} {memory.title}"),
        title=text.title_of(memory),
        description=markers.escape(f"{text.kind_of(memory)} | {shown.project} | {times.show_date(memory.created_at)}"),
        updated=times.format_time(memory.updated_at),
    )
