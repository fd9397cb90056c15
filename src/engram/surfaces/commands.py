"""The commands about memories: each calls the same tools and verbs as an agent does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from engram.engine import lifecycle
from engram.errors import Invalid
from engram.surfaces.console import Json, call_tool, confirm, decoded, open_app, parser, print_json, read_file, unmarked

Project = Annotated[str, Parameter(help="Project; default: found from the working folder.")]
Scope = Annotated[Literal["project", "personal"] | None, Parameter(help="Only this scope.")]


@parser.command
def save(  # noqa: PLR0913 - the options of mem_save
    title: str,
    content: str = "",
    /,
    *,
    type: str = "manual",
    project: Project = "",
    scope: Scope = None,
    topic_key: str = "",
    session: str = "",
    file: Annotated[str, Parameter(help="Read the text from this file; - is standard input.")] = "",
    json: Json = False,
) -> int:
    """Save a memory: TITLE and its text, from the argument, a file, or standard input (-)."""
    if file and content:
        raise Invalid("content and --file exclude each other", hint="Give one of them")
    if unmarked(file or content) == "-":
        content = decoded(sys.stdin.buffer.read(), "standard input")
    elif file:
        content = read_file(Path(unmarked(file)))
    arguments = {
        "title": title, "content": content, "type": type, "project": project, "scope": scope, "topic_key": topic_key,
        "session_id": session,
    }  # fmt: skip
    return call_tool("mem_save", arguments, is_json=json)


@parser.command
def search(
    query: str,
    /,
    *,
    project: Project = "",
    scope: Scope = None,
    type: str = "",
    limit: int = 10,
    all: Annotated[bool, Parameter(negative=(), help="Every project.")] = False,
    json: Json = False,
) -> int:
    """Find memories by meaning and by words."""
    arguments = {
        "query": query, "project": project, "scope": scope, "type": type, "limit": limit, "all_projects": all,
    }  # fmt: skip
    return call_tool("mem_search", arguments, is_json=json)


@parser.command
def get(
    id: str,
    /,
    *,
    history: Annotated[bool, Parameter(negative=(), help="Also the newest versions.")] = False,
    version: Annotated[str, Parameter(help="The text of this version: 7 or more digits of its commit id.")] = "",
    json: Json = False,
) -> int:
    """Print a memory: by number (12) or UUID."""
    if not version:
        return call_tool("mem_get_observation", {"id": id, "history": history}, is_json=json)
    with open_app() as opened:
        found = lifecycle.version(opened.context, unmarked(id), version)
    if json:
        text = {"text": found.body} if found.body is not None else {"is_erased": True}
        print_json({"commit_sha": found.commit_sha, "title": found.title, **text})
    else:
        print(found.body if found.body is not None else "(erased)")
    return 0


@parser.command
def update(
    id: str,
    /,
    *,
    title: str | None = None,
    content: str | None = None,
    type: str | None = None,
    project: str | None = None,
    scope: Scope = None,
    topic_key: Annotated[str | None, Parameter(help="New key; an empty one clears it.")] = None,
    json: Json = False,
) -> int:
    """Correct a memory: give only what changes; the earlier text stays in its history."""
    arguments = {
        "id": id, "title": title, "content": content, "type": type, "project": project, "scope": scope,
        "topic_key": topic_key,
    }  # fmt: skip
    return call_tool("mem_update", arguments, is_json=json)


@parser.command
def context(*, project: Project = "", scope: Scope = None, limit: int = 20, json: Json = False) -> int:
    """Print what happened lately: sessions, prompts and memories."""
    return call_tool("mem_context", {"project": project, "scope": scope, "limit": limit}, is_json=json)


@parser.command
def timeline(id: str, /, *, before: int = 5, after: int = 5, json: Json = False) -> int:
    """Print what came just before and after a memory in its session."""
    return call_tool("mem_timeline", {"observation_id": id, "before": before, "after": after}, is_json=json)


@parser.command
def stats(*, json: Json = False) -> int:
    """Print how much is remembered."""
    return call_tool("mem_stats", {}, is_json=json)


@parser.command
def delete(
    id: str,
    /,
    *,
    hard: Annotated[bool, Parameter(negative=(), help="Erase it for good, history included.")] = False,
    json: Json = False,
) -> int:
    """Delete a memory; `engram restore` brings it back unless --hard was given."""
    return call_tool("mem_delete", {"id": id, "hard_delete": hard}, is_json=json)


@parser.command
def erase(
    id: str,
    /,
    *,
    version: Annotated[str, Parameter(help="Only the text of this version: 7 or more digits of its commit id.")] = "",
    yes: Annotated[bool, Parameter(negative=(), help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Erase a memory for good with its history, or the text of one version; `engram compact` then cleans the file."""
    what = f"the text of version {unmarked(version)} of memory {unmarked(id)}" if version else f"memory {unmarked(id)}"
    confirm(f"Erase {what} for good?", is_agreed=yes)
    if not version:
        return call_tool("mem_delete", {"id": id, "hard_delete": True}, is_json=json)
    with open_app() as opened:
        done = lifecycle.erase_version(opened.context, unmarked(id), unmarked(version))
    if json:
        print_json({"commit_sha": done.commit_sha, "was_already": done.was_already, "alike": list(done.alike)})
        return 0
    print(f"Version {done.commit_sha[:12]} of {done.label} {'was erased already' if done.was_already else 'erased'}")
    if done.alike:
        others = ", ".join(sha[:12] for sha in done.alike)
        print(f"Note: the same text still stands in {others}; erase those too, or correct the memory first")
    return 0


@parser.command
def restore(id: str, /, *, json: Json = False) -> int:
    """Bring a deleted memory back."""
    with open_app() as opened:
        memory, label, left_off = lifecycle.restore(opened.context, unmarked(id))
    lines = [f'Memory restored: {label} "{memory.title}"']
    if left_off:
        lines.append(f"Note: topic {left_off} belongs to another memory by now and was left off")
    if json:
        print_json({"id": memory.id, "number": memory.number, "left_off": left_off})
    else:
        print("\n".join(lines))
    return 0


@parser.command
def call(tool: str, /, *arguments: str, json: Json = False) -> int:
    """Call any tool: engram call mem_search query="login bug" limit=5. JSON values are understood."""
    sent: dict[str, Any] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise Invalid(f"{argument[:80]!r} is no key=value", hint='Write for example query="login bug"')
        if sent.get(key, value) != value:
            raise Invalid(f"{key[:80]!r} has two values", hint="Give it once")
        sent[key] = value
    return call_tool(tool, sent, is_json=json)


@parser.command
def mcp() -> int:
    """Serve memory to an agent over stdio: see `engram mcp --help`."""
    from engram.surfaces import cli  # noqa: PLC0415 - it comes here only where its fast path was passed by

    return cli.run(["mcp"])
