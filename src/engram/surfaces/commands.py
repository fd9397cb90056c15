"""The commands of ``engram``: each calls the same tools and verbs as an agent does."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App as Parser
from cyclopts import CycloptsError, Parameter

from engram import __version__, app
from engram import settings as configuration
from engram.embed import tokenizer_path
from engram.engine import lifecycle, users
from engram.errors import EngramError, Invalid
from engram.store import health
from engram.surfaces.cli import EXIT_STATUS, working_folder
from engram.tools import mem, registry

FINISH_S = 2.0  # a command makes the vectors of its own rows before it ends, at most so long
CLIENT = "cli"
MARK = "\0"

parser = Parser(
    name="engram",
    help="Persistent memory for AI agents. `engram mcp` serves an agent; the other commands are for you.",
    version=f"engram {__version__}",
    version_flags=["--version"],
    help_on_error=False,
    result_action="return_value",
)
user_parser = Parser(name="user", help="People who may use a shared database.")
parser.command(user_parser)

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON.")]
Project = Annotated[str, Parameter(help="Project; default: found from the working folder.")]
Scope = Annotated[Literal["project", "personal"] | None, Parameter(help="Only this scope.")]


def run(arguments: Sequence[str]) -> int:
    """Parse and run one command.

    Raises:
        EngramError: what the command answered; ``cli`` turns it into an exit status.
    """
    try:
        status = parser(_marked(arguments), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        message = " ".join(_unmarked(str(error)).replace(", ...", " and more").split())
        raise Invalid(message, hint="See `engram --help`") from error
    return status if isinstance(status, int) else 0


def _marked(arguments: Sequence[str]) -> list[str]:
    """The arguments, with a mark before what begins with a hyphen but is text: ``-`` alone, or ``- a list's item``.

    No option has white space in its name, but a note often begins with a bullet. No argument can hold NUL by itself.
    """
    words: list[str] = []
    for index, word in enumerate(arguments):
        if word == "--":
            return [*words, *arguments[index:]]
        name = word.partition("=")[0]
        is_text = word == "-" or (word.startswith("-") and any(character.isspace() for character in name))
        words.append(f"{MARK}{word}" if is_text else word)
    return words


def _unmarked(word: str) -> str:
    return word.replace(MARK, "")


@contextmanager
def _open() -> Generator[app.App]:
    opened = app.App(configuration.read(os.environ), folder=working_folder())
    try:
        yield opened
        opened.worker.finish(FINISH_S)
    finally:
        opened.close()


def _call(tool: str, arguments: dict[str, Any], *, is_json: bool = False) -> int:
    """Run a tool and print its answer."""
    found = registry.TOOLS.get(tool)
    if found is None:
        raise Invalid(f"there is no tool {tool[:80]!r}", hint=f"Tools: {', '.join(sorted(registry.TOOLS))}")
    given = {key: _unmarked(value) if isinstance(value, str) else value for key, value in arguments.items()}
    with _open() as opened:
        answer = opened.call(found, {key: value for key, value in given.items() if value is not None}, client=CLIENT)
    if answer.is_error:
        print(f"engram: {answer.text}", file=sys.stderr)
        return EXIT_STATUS.get(answer.code, 1)
    if is_json:
        _print_json(answer.structured or {"text": answer.text})
    else:
        print(answer.text)
    return 0


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False))


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
    if _unmarked(file or content) == "-":
        content = _decoded(sys.stdin.buffer.read(), "standard input")
    elif file:
        content = _read(Path(_unmarked(file)))
    arguments = {
        "title": title, "content": content, "type": type, "project": project, "scope": scope, "topic_key": topic_key,
        "session_id": session,
    }  # fmt: skip
    return _call("mem_save", arguments, is_json=json)


def _read(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Invalid(f"{path} can't be read: {error.strerror}", hint="Name a file that can be read") from error
    return _decoded(raw, str(path))


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{where} is not UTF-8 text", hint="Convert it first; nothing was saved") from error


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
    return _call("mem_search", arguments, is_json=json)


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
        return _call("mem_get_observation", {"id": id, "history": history}, is_json=json)
    with _open() as opened:
        found = lifecycle.version(opened.context, _unmarked(id), version)
    if json:
        _print_json({"commit_sha": found.commit_sha, "title": found.title, "text": found.body})
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
    return _call("mem_update", arguments, is_json=json)


@parser.command
def context(*, project: Project = "", scope: Scope = None, limit: int = 20, json: Json = False) -> int:
    """Print what happened lately: sessions, prompts and memories."""
    return _call("mem_context", {"project": project, "scope": scope, "limit": limit}, is_json=json)


@parser.command
def timeline(id: str, /, *, before: int = 5, after: int = 5, json: Json = False) -> int:
    """Print what came just before and after a memory in its session."""
    return _call("mem_timeline", {"observation_id": id, "before": before, "after": after}, is_json=json)


@parser.command
def stats(*, json: Json = False) -> int:
    """Print how much is remembered."""
    return _call("mem_stats", {}, is_json=json)


@parser.command
def delete(
    id: str,
    /,
    *,
    hard: Annotated[bool, Parameter(negative=(), help="Erase it for good, history included.")] = False,
    json: Json = False,
) -> int:
    """Delete a memory; `engram restore` brings it back unless --hard was given."""
    return _call("mem_delete", {"id": id, "hard_delete": hard}, is_json=json)


@parser.command
def restore(id: str, /, *, json: Json = False) -> int:
    """Bring a deleted memory back."""
    with _open() as opened:
        memory, label, left_off = lifecycle.restore(opened.context, _unmarked(id))
    lines = [f'Memory restored: {label} "{memory.title}"']
    if left_off:
        lines.append(f"Note: topic {left_off} belongs to another memory by now and was left off")
    if json:
        _print_json({"id": memory.id, "number": memory.number, "left_off": left_off})
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
    return _call(tool, sent, is_json=json)


@parser.command
def mcp() -> int:
    """Serve memory to an agent over stdio: see `engram mcp --help`."""
    from engram.surfaces import cli  # noqa: PLC0415 - it comes here only where its fast path was passed by

    return cli.run(["mcp"])


@user_parser.command
def add(name: str, /, *, email: str = "", json: Json = False) -> int:
    """Make a user with a Personal library and print a token, once. The first user is operator."""
    store = app.open_store(configuration.read(os.environ))
    try:
        added = users.add(store, _unmarked(name), email=email)
    finally:
        store.close()
    if json:
        _print_json({"id": added.actor.id, "name": added.actor.name, "token": added.token})
    else:
        print(f"User {added.actor.name} made. Token, shown this once:\n{added.token}")
    return 0


@parser.command
def migrate(*, database_url: str = "") -> int:
    """Bring the database's schema up to date."""
    settings = configuration.read(os.environ)
    if database_url:
        settings = replace(settings, database_url=database_url)
    store, ran = app.open_and_migrate(settings)
    try:
        print(f"{store.describe()}: {ran} migrations ran, schema version {store.version()}")
    finally:
        store.close()
    return 0


@parser.command
def doctor(*, json: Json = False) -> int:
    """Look at database, key, model and disk; changes nothing."""
    settings = configuration.read(os.environ)
    checks = [*_file_checks(settings), *_database_checks(settings)]
    if json:
        _print_json({"checks": [{"name": name, "ok": ok, "detail": detail} for name, ok, detail in checks]})
    else:
        for name, ok, detail in checks:
            print(f"{'ok  ' if ok else 'FAIL'} {name}: {detail}")
    return 0 if all(ok for _, ok, _ in checks) else 1


Check = tuple[str, bool, str]


def _file_checks(settings: configuration.Settings) -> list[Check]:
    key = settings.key_path
    folder = settings.data_dir if settings.data_dir.exists() else settings.data_dir.parent
    checks: list[Check] = []
    if key.exists():
        mode = key.stat().st_mode & 0o777
        is_private = os.name == "nt" or mode == 0o600
        checks.append(("key", is_private, f"{key} (mode {mode:o}{'' if is_private else ', should be 600'})"))
    else:
        is_new = not settings.database_file.exists() and not settings.database_url
        checks.append(("key", is_new, f"{key} is not there{', it is made with the database' if is_new else ''}"))
    try:
        checks.append(("model", True, str(tokenizer_path().parent)))
    except EngramError as error:
        checks.append(("model", False, error.line()))
    if folder.exists():
        free = shutil.disk_usage(folder).free
        checks.append(("disk", free > 100 * 1_048_576, f"{free / 1_073_741_824:.1f} GiB free at {folder}"))
    return checks


def _database_checks(settings: configuration.Settings) -> list[Check]:
    if not settings.database_url and not settings.database_file.exists():
        return [("database", True, f"{settings.database_file} is not there yet; the first save makes it")]
    try:
        store = app.look_at_store(settings)
    except EngramError as error:
        return [("database", False, error.line())]
    try:
        with store.reading() as tx:
            integrity = health.integrity(tx)
            missing = health.missing_words(tx)
            waiting = health.waiting(tx)
        return [
            ("database", True, f"{store.describe()}, schema version {store.version()}"),
            ("integrity", integrity == "ok", integrity),
            ("words", missing == 0, f"{missing} chunks are not in the word index"),
            ("vectors", True, f"{waiting} chunks wait for a vector"),
        ]
    except EngramError as error:
        return [("database", False, error.line())]
    finally:
        store.close()


assert mem.mem_save  # noqa: S101 - the module registers its tools
