"""What every command shares: the parser, an open engine, a tool's answer on the terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App as Parser
from cyclopts import CycloptsError, Group, Parameter

from engram import __version__, app
from engram import settings as configuration
from engram.errors import Invalid
from engram.surfaces.cli import working_folder
from engram.tools import families, registry

FINISH_S = 2.0  # a command makes the vectors of its own rows before it ends, at most so long
CLIENT = "cli"
MARK = "\0"

MEMORIES = Group("Memories", sort_key=1)
ASSISTANTS = Group("A memory that assistants share", sort_key=2)
PROJECTS = Group("Projects", sort_key=3)
AGENTS = Group("Agents and scripts", sort_key=4)
DATABASE = Group("Database", sort_key=5)
OPTIONS = Group("Options", sort_key=9)


def _shown(default: object) -> str | None:
    """A default that tells something: an empty text, a flag that is off and nothing at all do not."""
    return str(default) if default not in ("", None, False) else None


parser = Parser(
    name="engram",
    help=(
        "Persistent memory for AI agents: what one session learned, the next one knows. "
        'Try `engram save "We deploy on Tuesdays"`, then `engram search "when do we deploy"`. '
        "`engram mcp` is what an agent starts. `engram COMMAND --help` has examples."
    ),
    version=f"engram {__version__}",
    version_flags=["--version"],
    help_on_error=False,
    result_action="return_value",
    default_parameter=Parameter(show_default=_shown),
    group_commands=OPTIONS,
)

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print values as JSON, errors too.")]


def run(arguments: Sequence[str]) -> int:
    """Parse and run one command.

    Raises:
        EngramError: what the command answered; ``cli`` turns it into an exit status.
    """
    try:
        status = parser(_marked(arguments), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        message = " ".join(unmarked(str(error)).replace(", ...", " and more").split())
        raise Invalid(message, hint=f"See `{_place(arguments)} --help`") from error
    return status if isinstance(status, int) else 0


def _place(arguments: Sequence[str]) -> str:
    """The command that was meant, as far as it is one."""
    words, found = ["engram"], parser
    for word in arguments[:2]:
        if word not in found:
            break
        found = found[word]
        words.append(word)
    return " ".join(words)


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


def unmarked(word: str) -> str:
    """The word as it was given, without our mark."""
    return word.replace(MARK, "")


@contextmanager
def open_app() -> Generator[app.App]:
    """An engine for one command; what it wrote gets its vectors before it ends."""
    opened = app.App(configuration.read(os.environ), folder=working_folder())
    try:
        yield opened
        opened.worker.finish(FINISH_S)
    finally:
        opened.close()


def call_tool(tool: str, arguments: dict[str, Any], *, is_json: bool = False) -> int:
    """Run a tool and print its answer."""
    answer = _answer(tool, arguments)
    if is_json:
        print_json(answer.structured or answer.data or {"text": answer.text})
    else:
        print(answer.text)
    return 0


def ask_tool(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Run a tool whose answer is an object, and give that."""
    return _answer(tool, arguments).structured or {}


def _answer(tool: str, arguments: dict[str, Any]) -> registry.Answer:
    families.load(tool)
    found = registry.TOOLS.get(tool)
    if found is None:
        raise Invalid(f"there is no tool {tool[:80]!r}", hint=f"Tools: {', '.join(sorted(registry.TOOLS))}")
    given = {key: unmarked(value) if isinstance(value, str) else value for key, value in arguments.items()}
    sent = {key: value for key, value in given.items() if value is not None}
    with open_app() as opened:
        return opened.ask(
            lambda ctx: registry.answer(found, ctx, sent, body_chars_max=opened.settings.body_chars_max), client=CLIENT
        )


@contextmanager
def progress(title: str) -> Generator[Callable[[int, int], None]]:
    """A bar on standard error while the block runs, on a terminal alone; yields what is told (done, total)."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only where a bar is shown
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def confirm(question: str, *, is_agreed: bool) -> None:
    """Ask on a terminal before what can't be undone; elsewhere ``--yes`` has to be given.

    Raises:
        Invalid: nobody can be asked, or the answer is no.
    """
    if is_agreed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid(
            "this can't be undone and nobody can be asked here", hint="Add --yes to do it; nothing was changed"
        )
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Invalid("not confirmed", hint="Answer y to go on; nothing was changed")


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    print(json.dumps(value, ensure_ascii=False))


def read_file(path: Path) -> str:
    """The text of a file.

    Raises:
        Invalid: it can't be read, or is not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Invalid(f"{path} can't be read: {error.strerror}", hint="Name a file that can be read") from error
    return decoded(raw, str(path))


def decoded(raw: bytes, where: str) -> str:
    """Bytes from outside as text.

    Raises:
        Invalid: they are not UTF-8.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{where} is not UTF-8 text", hint="Convert it first; nothing was saved") from error
