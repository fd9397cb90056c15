"""The commands about memories: each calls the same tools and verbs as an agent does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from engram.engine import lifecycle
from engram.errors import Invalid
from engram.rules import names
from engram.surfaces.console import (
    MEMORIES,
    Json,
    call_tool,
    confirm,
    decoded,
    open_app,
    parser,
    print_json,
    read_file,
    unmarked,
)

STDIN = "-"

Project = Annotated[str, Parameter(help="Project; default: found from the working folder.")]
Scope = Annotated[
    Literal["project", "personal"] | None,
    Parameter(help="personal: about you, shown in every project.", show_choices=True),
]
Id = Annotated[str, Parameter(help="Number (12 or '#12'), '#12@library' or UUID.")]
Kind = Annotated[
    str,
    Parameter(help="decision, architecture, bugfix, pattern, config, discovery, learning, preference, or any slug."),
]


@parser.command(group=MEMORIES)
def save(  # noqa: PLR0913 - the options of mem_save
    title: Annotated[str, Parameter(help="Title; alone it is the whole note, and - is standard input.")] = "",
    content: Annotated[str, Parameter(help="Text; - is standard input.")] = "",
    /,
    *,
    type: Kind = "manual",
    project: Project = "",
    scope: Scope = None,
    topic_key: Annotated[
        str, Parameter(help="Key of an evolving topic: saving it again revises that memory and keeps its history.")
    ] = "",
    session: Annotated[str, Parameter(help="Session that it belongs to.")] = "",
    file: Annotated[str, Parameter(help="Read the text from this file; - is standard input.")] = "",
    json: Json = False,
) -> int:
    """Save a memory: a sentence, a title with its text, a file, or standard input.

    A text has up to 1,000,000 characters; a longer one is refused whole.

    Examples: `engram save "We deploy on Tuesdays"` · `engram save "Pool size" "Six: the server has 100 slots"
    --type decision` · `engram save --file notes.md` · `git log -1 | engram save "Last commit" -`
    """
    title, content, file = unmarked(title), unmarked(content), unmarked(file)
    if file and content:
        raise Invalid("content and --file exclude each other", hint="Give one of them")
    if not (file or content):  # one text alone is the note, its first sentence the title
        title, content = "", title
    text = _text(file or STDIN) if file or content == STDIN else content
    if names.is_blank(text):
        raise Invalid(
            "there is no text to save", hint='Write `engram save "A sentence"`, or pipe it to `engram save -`'
        )
    arguments = {
        "title": title or names.first_sentence_title(text), "content": text, "type": type, "project": project,
        "scope": scope, "topic_key": topic_key, "session_id": session,
    }  # fmt: skip
    return call_tool("mem_save", arguments, is_json=json)


def _text(file: str) -> str:
    """What a file, or standard input, holds."""
    if file != STDIN:
        return read_file(Path(file))
    if sys.stdin.isatty():
        print("Type the text; Ctrl-D on a line of its own ends it", file=sys.stderr, flush=True)
    return decoded(sys.stdin.buffer.read(), "standard input")


@parser.command(group=MEMORIES)
def search(
    query: Annotated[str, Parameter(help="A question or words, as you would ask a colleague.")],
    /,
    *,
    project: Project = "",
    scope: Scope = None,
    type: Annotated[str, Parameter(help="Only this type.")] = "",
    limit: Annotated[int, Parameter(help="Most hits, 1 to 20.")] = 10,
    all: Annotated[bool, Parameter(negative=(), help="Every project, not only this one.")] = False,
    json: Json = False,
) -> int:
    """Find memories by meaning and by words. Nothing relevant is an empty answer, not the nearest noise.

    Examples: `engram search "why do logins break on Safari"` · `engram search pool --all --limit 3`
    """
    arguments = {
        "query": query, "project": project, "scope": scope, "type": type, "limit": limit, "all_projects": all,
    }  # fmt: skip
    return call_tool("mem_search", arguments, is_json=json)


@parser.command(group=MEMORIES)
def get(
    id: Id,
    /,
    *,
    history: Annotated[bool, Parameter(negative=(), help="Also the newest 10 versions.")] = False,
    version: Annotated[str, Parameter(help="The text of this version: 7 or more digits of its commit id.")] = "",
    json: Json = False,
) -> int:
    """Print a memory whole, with where it comes from.

    Examples: `engram get 12` · `engram get 12 --history` · `engram get 12 --version 3f2a9c1`
    """
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


@parser.command(group=MEMORIES)
def update(
    id: Id,
    /,
    *,
    title: Annotated[str | None, Parameter(help="New title.")] = None,
    content: Annotated[str | None, Parameter(help="New text; - is standard input.")] = None,
    type: Annotated[str | None, Parameter(help="New type.")] = None,
    project: Annotated[str | None, Parameter(help="Move it to this project.")] = None,
    scope: Scope = None,
    topic_key: Annotated[str | None, Parameter(help="New key; an empty one clears it.")] = None,
    json: Json = False,
) -> int:
    """Correct a memory: give only what changes; the earlier text stays in its history.

    Examples: `engram update 12 --title "Pool size is 8"` · `engram update 12 --content - < notes.md`
    """
    if content is not None and unmarked(content) == STDIN:
        content = _text(STDIN)
    arguments = {
        "id": id, "title": title, "content": content, "type": type, "project": project, "scope": scope,
        "topic_key": topic_key,
    }  # fmt: skip
    return call_tool("mem_update", arguments, is_json=json)


@parser.command(group=MEMORIES)
def context(
    *,
    project: Annotated[str, Parameter(help="Only this project; default: all, the current one first.")] = "",
    scope: Scope = None,
    limit: Annotated[int, Parameter(help="Most memories, 1 to 100.")] = 20,
    json: Json = False,
) -> int:
    """Print what happened lately: sessions, prompts and memories.

    Example: `engram context --project shop --limit 5`
    """
    return call_tool("mem_context", {"project": project, "scope": scope, "limit": limit}, is_json=json)


@parser.command(group=MEMORIES)
def timeline(
    id: Id,
    /,
    *,
    before: Annotated[int, Parameter(help="Most memories before it, 0 to 50.")] = 5,
    after: Annotated[int, Parameter(help="Most memories after it, 0 to 50.")] = 5,
    json: Json = False,
) -> int:
    """Print what came just before and after a memory in its session.

    Example: `engram timeline 12 --before 2`
    """
    return call_tool("mem_timeline", {"observation_id": id, "before": before, "after": after}, is_json=json)


@parser.command(group=MEMORIES)
def stats(*, json: Json = False) -> int:
    """Print how much is remembered.

    Example: `engram stats --json`
    """
    return call_tool("mem_stats", {}, is_json=json)


@parser.command(group=MEMORIES)
def delete(
    id: Id,
    /,
    *,
    hard: Annotated[bool, Parameter(negative=(), help="Erase it for good, history included; does not ask.")] = False,
    json: Json = False,
) -> int:
    """Delete a memory; `engram restore` brings it back unless --hard was given.

    Example: `engram delete 12`
    """
    return call_tool("mem_delete", {"id": id, "hard_delete": hard}, is_json=json)


@parser.command(group=MEMORIES)
def erase(
    id: Id,
    /,
    *,
    version: Annotated[str, Parameter(help="Only the text of this version: 7 or more digits of its commit id.")] = "",
    yes: Annotated[bool, Parameter(negative=(), help="Do not ask; needed where nobody can be asked.")] = False,
    json: Json = False,
) -> int:
    """Erase a memory for good with its history, or the text of one version; `engram compact` then cleans the file.

    Examples: `engram erase 12` · `engram erase 12 --version 3f2a9c1 --yes`
    """
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


@parser.command(group=MEMORIES)
def restore(id: Id, /, *, json: Json = False) -> int:
    """Bring a deleted memory back.

    Example: `engram restore 12`
    """
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
