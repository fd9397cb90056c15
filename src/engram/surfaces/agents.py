"""The commands for agents, scripts and shells: serve, call a tool, complete a word."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from engram.errors import Invalid
from engram.surfaces.console import AGENTS, Json, call_tool, parser


@parser.command(group=AGENTS)
def mcp() -> int:
    """Serve memory to an agent over stdio: what an agent's settings start. See `engram mcp --help`."""
    from engram.surfaces import cli  # noqa: PLC0415 - it comes here only where its fast path was passed by

    return cli.run(["mcp"])


@parser.command(group=AGENTS)
def call(
    tool: Annotated[str, Parameter(help="Name of the tool.")],
    /,
    *arguments: Annotated[str, Parameter(help="key=value, as often as needed; a value may be JSON.")],
    json: Json = False,
) -> int:
    """Call any tool as an agent would.

    Example: `engram call mem_search query="login bug" limit=5`
    """
    sent: dict[str, Any] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise Invalid(f"{argument[:80]!r} is no key=value", hint='Write for example query="login bug"')
        if sent.get(key, value) != value:
            raise Invalid(f"{key[:80]!r} has two values", hint="Give it once")
        sent[key] = value
    return call_tool(tool, sent, is_json=json)


@parser.command(group=AGENTS)
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Your shell.")], /) -> int:
    """Print a script that completes commands and options; it changes no file.

    Example: `engram completion bash > ~/.local/share/bash-completion/completions/engram`
    """
    print(parser.generate_completion(shell=shell))
    return 0
