"""``engram``: the command line. What must start fast is answered here; the rest is in ``commands``."""

from __future__ import annotations

import io
import os
import sys

from engram import __version__
from engram.errors import EngramError, Invalid, Unavailable

TYPE_CHECKING = False  # the one of `typing`, and `pathlib`, would double the time of --version
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXIT_STATUS = {"invalid": 2, "access_denied": 3, "not_found": 4, "conflict": 5, "unavailable": 6}


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Returns:
        The exit status: 0, or that of the error's code in EXIT_STATUS, 1 for any other failure.
    """
    if list(arguments) in (["--version"], ["version"]):
        print(f"engram {__version__}")
        return 0
    try:
        return _serve(list(arguments[1:])) if arguments and arguments[0] == "mcp" else _command(arguments)
    except EngramError as error:
        return _refused(error, is_json="--json" in arguments)
    except BrokenPipeError:  # the reader of our output went away
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - nothing may be flushed at exit
        return 141
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - whatever it is: its place to the log, never its text
        return _internal(error)


def _command(arguments: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    from engram.surfaces import agents, assistants, commands, console, doctor, projects, upkeep  # noqa: PLC0415 - more than --version may take

    assert agents.call and assistants.recall and commands.save and projects.merge and upkeep.compact and doctor.doctor  # noqa: S101, PT018 - the modules register their commands
    status = console.run(arguments)
    sys.stdout.flush()  # here a reader that went away is met, at the interpreter's end nobody could answer it
    return status


def _refused(error: EngramError, *, is_json: bool) -> int:
    """Say what went wrong, on standard error: a line, or with --json an object."""
    if is_json:
        import json  # noqa: PLC0415 - for who asked for it

        said = {"code": error.code, "message": str(error), "hint": error.hint}
        print(json.dumps({"error": said}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"engram: {error.line()}", file=sys.stderr)
    return EXIT_STATUS.get(error.code, 1)


def _internal(error: Exception) -> int:
    from engram.tools import registry  # noqa: PLC0415 - not needed where all goes well

    registry.log_failure("The command", error)
    print(f"engram: {EngramError(hint=registry.INTERNAL_HINT).line()}", file=sys.stderr)
    return 1


def working_folder() -> Path | None:
    """Where the caller works; None where that folder is gone."""
    from pathlib import Path  # noqa: PLC0415 - not for --version

    try:
        return Path.cwd()
    except OSError:
        return None


def served(arguments: list[str]) -> tuple[str, str]:
    """The options of ``engram mcp``: its tools and its project."""
    import argparse  # noqa: PLC0415 - 2 ms that --version need not pay

    parser = argparse.ArgumentParser(
        prog="engram mcp",
        description="Serve memory to an agent over stdio. You put this into the agent's settings; it starts it.",
        epilog="Examples:  claude mcp add engram -- engram mcp      engram mcp --tools=mem,neural --project=shop",
        allow_abbrev=False,  # a shortened option would change its meaning with the next one that we add
        exit_on_error=False,
    )
    parser.add_argument(
        "--tools",
        default="",
        help="profiles (agent, admin, mem, all) and tool names, with commas; default: ENGRAM_TOOLS, else mem",
    )
    parser.add_argument(
        "--project", default="", help="project of every call that names none; default: found from the working folder"
    )
    try:
        given, unknown = parser.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        raise Invalid(str(error), hint="See `engram mcp --help`") from error
    if unknown:
        raise Invalid(f"unknown option {unknown[0][:80]!r}", hint="See `engram mcp --help`")
    return given.tools, given.project


def _serve(arguments: list[str]) -> int:
    """``engram mcp``: serve the tools on the standard streams."""
    wanted, project = served(arguments)

    from engram.surfaces import wire  # noqa: PLC0415 - before anything can print

    wire.take_wire()
    from dataclasses import replace  # noqa: PLC0415

    from engram import settings as configuration  # noqa: PLC0415
    from engram.surfaces import mcp  # noqa: PLC0415 - as above
    from engram.tools import families, registry  # noqa: PLC0415
    from engram.tools.instructions import instructions  # noqa: PLC0415

    settings = configuration.read(os.environ)
    if project:
        settings = replace(settings, project=project)
    settings.require_token()  # told even where the server is down and nobody else would
    families.load(wanted or settings.tools)
    tools = registry.select(wanted or settings.tools)
    folder = working_folder()

    def open_app() -> mcp.App:
        from engram.app import App  # noqa: PLC0415 - database and model come after the handshake

        return App(settings, folder=folder)

    ready: list[mcp.App] = []
    if settings.database_url:
        try:
            ready.append(open_app())  # who calls, and the key, are known before anything is answered
        except Unavailable:
            pass  # a server that is down now may be up for the first call
        except EngramError as error:
            print(f"engram: {error.line()}", file=sys.stderr)
            return EXIT_STATUS["invalid"]
    return mcp.serve(
        tools,
        lambda: ready.pop() if ready else open_app(),
        instructions=instructions(tool.name for tool in tools),
        version=__version__,
    )


if __name__ == "__main__":
    main()
