"""A server with toy tools, started as `python toy.py [state file]`: what the tests of the wire talk to."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from engram.surfaces import wire

if __name__ == "__main__":
    wire.take_wire()
    print("printed at start \N{PARTY POPPER}")

from engram.errors import EngramError, Unavailable
from engram.surfaces import mcp, stdio
from engram.tools import registry
from engram.tools.params import Choice, Int, Text
from engram.tools.registry import Answer, Reply, Tool, tool

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
NOTES = Path(os.environ.get("TOY_NOTES", os.devnull))  # where the toy says what happened to it
GATE = threading.Event()


def note(text: str) -> None:
    with NOTES.open("a") as file:
        file.write(f"{text}\n")


@tool(title="Echo", profile="agent", role="any", is_read_only=True)
def echo(
    ctx: str,
    *,
    text: Annotated[str, Text("What to say.", chars_max="body")],
    times: Annotated[int, Int("How often.", minimum=1, maximum=3, is_capped=True)] = 1,
) -> Reply:
    """Say it again."""
    return Reply(f"{ctx} said: {text * times}", shown=times)


@tool(title="Noise", profile="agent", role="any", is_read_only=True)
def noise(ctx: str, *, way: Annotated[str, Choice("How.", ("print", "fd", "c", "child"))]) -> Reply:
    """Write to what other programs call standard output."""
    del ctx
    if way == "print":
        print("printed in a call \N{PARTY POPPER}")
    elif way == "fd":
        os.write(1, b"written to descriptor 1\n")
    elif way == "c":
        ctypes.CDLL(None).puts(b"from a C library")
        ctypes.CDLL(None).fflush(None)
    else:
        subprocess.run(["/bin/sh", "-c", "echo from a child; cat"], check=True)
    return Reply("made noise")


@tool(title="Hold", profile="agent", role="any", is_read_only=True)
def hold(ctx: str) -> Reply:
    """Run until release is called."""
    del ctx
    note("holding")
    GATE.wait(60)
    return Reply("held")


@tool(title="Release", profile="agent", role="any")
def release(ctx: str) -> Reply:
    """Let hold go on."""
    del ctx
    GATE.set()
    return Reply("released")


@tool(title="Fail", profile="admin", role="any")
def fail(ctx: str) -> Reply:
    """Fail in a way that nobody foresaw."""
    raise RuntimeError(f"{ctx}'s diary")


@tool(title="Leave", profile="admin", role="any")
def leave(ctx: str) -> Reply:
    """Try to end the server."""
    raise SystemExit(ctx)


@tool(
    title="Facts", profile="team", role="any", output={"type": "object", "properties": {"modules": {"type": "array"}}}
)
def facts(ctx: str) -> dict[str, Any]:
    """What was imported so far."""
    del ctx
    return {"modules": sorted({name.partition(".")[0] for name in sys.modules})}


class Toy:
    """The application behind the toy tools."""

    calls_max = int(os.environ.get("TOY_CALLS_MAX", "2"))

    def call(self, tool: Tool, arguments: object, *, client: str) -> Answer:
        return registry.call(tool, client, arguments)

    def ask(self, read: Callable[[Any], Result], *, client: str) -> Result:
        return read(client)

    def idle(self) -> None:
        note("idle")

    def close(self) -> None:
        note("closed")


OPENINGS = itertools.count(1)


def open_toy() -> Toy:
    note("opening")
    way = os.environ.get("TOY_OPEN", "")
    if way == "fails once" and next(OPENINGS) == 1:
        raise Unavailable("no database", hint="Start it.", retry_after=2)
    if way == "breaks":
        raise RuntimeError(way * 2)
    if way == "stays":
        GATE.wait(60)
    return Toy()


def main() -> int:
    stdio.FLUSH_S = float(os.environ.get("TOY_FLUSH_S", stdio.FLUSH_S))
    try:
        tools = registry.select(os.environ.get("TOY_TOOLS", "all"))
    except EngramError as error:
        sys.stderr.write(error.line())
        return 2
    return mcp.serve(
        tools, open_toy, instructions="Play.", version="1.2.3", idle_s=float(os.environ.get("TOY_IDLE_S", "900"))
    )


if __name__ == "__main__":
    sys.exit(main())
