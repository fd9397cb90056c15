"""``python -m bench.cli`` writes docs/cli.md: every command's help, as the program prints it."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from engram.surfaces import agents, assistants, commands, console, doctor, projects, upkeep

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = "<!-- Made by `python -m bench.cli`; a test compares it with the program. -->\n\n# The command line\n"
WIDTH = 100
MODULES = (agents, assistants, commands, doctor, projects, upkeep)  # they register their commands


def every_command() -> Iterator[tuple[str, ...]]:
    """The name of each command, in the order of the alphabet."""
    for name in sorted(word for word in console.parser if not word.startswith("-")):
        inner = sorted(word for word in console.parser[name] if not word.startswith("-"))
        yield from ((name, word) for word in inner) if inner else [(name,)]


def help_of(command: tuple[str, ...]) -> str:
    """What ``engram COMMAND --help`` prints, without colours."""
    if command == ("mcp",):
        return _of_server()
    said = io.StringIO()
    shown = Console(file=said, width=WIDTH, force_terminal=False, color_system=None)
    console.parser.help_print(list(command), console=shown)
    return said.getvalue()


def _of_server() -> str:
    from engram.surfaces import cli  # noqa: PLC0415 - its help is argparse's

    said = io.StringIO()
    before, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), str(WIDTH)
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            cli.served(["--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return said.getvalue()


def page() -> str:
    """The page's text."""
    parts = [HEAD, _block(())]
    parts += [f"## engram {' '.join(command)}\n\n{_block(command)}" for command in every_command()]
    return "\n".join(parts)


def _block(command: tuple[str, ...]) -> str:
    text = "\n".join(line.rstrip() for line in help_of(command).strip("\n").splitlines())
    return f"```text\n{text}\n```\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
