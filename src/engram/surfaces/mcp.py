"""`engram mcp`: the tools as an MCP server on the standard streams.

The handshake and the list of tools are answered from the registry alone. The application (database, model) is opened
behind them, in a thread, and calls wait for it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import queue
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, ListToolsResult, TextContent, ToolAnnotations
from mcp_types import Tool as ListedTool

from engram.errors import EngramError, Unavailable
from engram.surfaces import stdio, wire
from engram.tools import params, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from engram.tools.registry import Answer, Tool

logger = logging.getLogger(__name__)

SERVER_NAME = "engram"
WAITING_MAX = 64  # calls that may wait for a thread; the next is told to come back
OPEN_AFTER_LIST_S = 0.05  # the answer is on the wire before imports compete with it for the interpreter
OPEN_AFTER_START_S = 2.0  # for a client that never lists
CLOSE_S = 2.0  # how long the end waits for the application to close
BUSY_HINT = "Wait for running calls to end, then try again."

Result = TypeVar("Result")


class App(Protocol):
    """What the server serves. Its methods block; they are called from several threads at once."""

    calls_max: int  # calls that may run at the same time

    def call(self, tool: Tool, arguments: object, *, client: str) -> Answer:
        """Run a tool for the client of this name."""
        ...

    def idle(self) -> None:
        """Let go of model and connections; the next call takes them up again."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def serve(
    tools: list[Tool],
    open_app: Callable[[], App],
    *,
    instructions: str,
    version: str,
    idle_s: float = 900,
) -> int:
    """Serve the tools until the input ends or the parent process is gone.

    Args:
        tools: What is listed and may be called.
        open_app: Called in a thread once the handshake is over, and again by a call after it failed.
        instructions: For the model, in the answer to the handshake.
        version: Of this package.
        idle_s: Seconds without a call after which the application is told to let go.

    Returns:
        The exit status of the process.
    """
    line = wire.take_wire()
    wire.watch_parent()
    desk = Desk(open_app=open_app, idle_s=idle_s)
    server = build_server(tools, desk, instructions=instructions, version=version)
    try:
        asyncio.run(_run(server, desk, line))
    except KeyboardInterrupt:
        return 130
    finally:
        desk.close()
    if desk.running:
        # Its thread may be in native code, which the orderly exit of the interpreter would pull away from under it.
        sys.stderr.flush()
        os._exit(0)
    return 0


def build_server(tools: list[Tool], desk: Desk, *, instructions: str, version: str) -> Server[Any]:
    """The SDK's server over the registry."""
    by_name = {one.name: one for one in tools}
    listed = ListToolsResult(tools=[listed_tool(one) for one in tools])

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        asyncio.get_running_loop().call_later(OPEN_AFTER_LIST_S, desk.open)
        return listed

    async def call_tool(ctx: ServerRequestContext[Any], call: CallToolRequestParams) -> CallToolResult:
        tool = by_name.get(call.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.show_key(call.name)}")
        return call_result(await desk.call(tool, call.arguments, client=client_name(ctx)))

    server: Server[Any] = Server(
        SERVER_NAME, version=version, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )
    # Ours in place of the SDK's tracing, which would hand exceptions, and so remembered text, to an exporter.
    server.middleware[:] = [wrap_arguments]
    return server


async def wrap_arguments(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Let arguments that are no object reach the tool, which reads JSON text as one and explains what it refuses."""
    sent: Mapping[str, Any] = ctx.params or {}
    arguments = sent.get("arguments")
    if ctx.method == "tools/call" and arguments is not None and not isinstance(arguments, dict):
        ctx = replace(ctx, params={**sent, "arguments": {"arguments": arguments}})
    return await call_next(ctx)


def listed_tool(tool: Tool) -> ListedTool:
    """A tool as tools/list shows it."""
    return ListedTool.model_validate(
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": registry.schema(tool),
            "outputSchema": None if tool.output is None else dict(tool.output),
            "annotations": ToolAnnotations.model_validate(registry.hints(tool)),
        }
    )


def call_result(answer: Answer) -> CallToolResult:
    """An answer as tools/call returns it."""
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)],
        structured_content=answer.structured,
        is_error=answer.is_error,
    )


def client_name(ctx: ServerRequestContext[Any]) -> str:
    """The client's name: from its handshake, from 2026-07-28 on from the request itself; empty if it gave none."""
    given = ctx.session.client_params
    return given.client_info.name if given else ""


def run_call(app: App, tool: Tool, arguments: object, *, client: str) -> Answer:
    """Run a call; whatever goes wrong around the tool is an answer, and no reason to end."""
    try:
        return app.call(tool, arguments, client=client)
    except EngramError as error:
        return registry.failure(tool, error)
    except BaseException as error:  # noqa: BLE001 - a tool that exits must not end the server
        registry.log_failure(f"Tool {tool.name}", error)
        return registry.failure(tool, EngramError(hint=registry.INTERNAL_HINT))


@dataclass(slots=True)
class Desk:
    """Takes calls on the event loop and runs them in threads, as many at once as the application bears.

    Threads are daemons of our own: a call that hangs must not keep the process alive after its client is gone.
    """

    open_app: Callable[[], App]
    idle_s: float
    app: App | None = None
    opening: asyncio.Future[App] | None = None
    waiting: int = 0
    running: int = 0
    threads: int = 0
    is_idle: bool = True  # nothing was called since the application was opened or told to let go
    active_at: float = field(default_factory=time.monotonic)
    slots: asyncio.Semaphore | None = None
    work: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = field(default_factory=queue.SimpleQueue)

    def open(self) -> asyncio.Future[App]:
        """The application, opened or being opened. After a failure it is tried anew."""
        if self.opening is None or (self.opening.done() and self.opening.exception()):
            self.opening = asyncio.ensure_future(self._open())
            self.opening.add_done_callback(lambda done: done.cancelled() or done.exception())  # else: "never retrieved"
        return self.opening

    async def call(self, tool: Tool, arguments: object, *, client: str) -> Answer:
        """Run a tool and wait for it; an error is an answer too."""
        if self.waiting >= WAITING_MAX:
            return registry.failure(tool, Unavailable("the server is busy", hint=BUSY_HINT))
        self.waiting += 1
        try:
            app = await asyncio.shield(self.open())
            slots = self.slots = self.slots or asyncio.Semaphore(max(1, app.calls_max))
            await slots.acquire()
        except EngramError as error:
            return registry.failure(tool, error)
        finally:
            self.waiting -= 1
        self.is_idle = False
        done = self._submit(partial(run_call, app, tool, arguments, client=client))
        # A cancelled request leaves at once, its thread does not: the slot is free when the thread is.
        done.add_done_callback(lambda _: slots.release())
        return await asyncio.shield(done)

    async def watch_idle(self) -> None:
        """Tell the application to let go whenever nothing was called for idle_s."""
        while True:
            await asyncio.sleep(max(self.active_at + self.idle_s - time.monotonic(), self.idle_s / 100))
            is_due = time.monotonic() >= self.active_at + self.idle_s
            if is_due and self.app and not self.is_idle and not self.running:
                self.is_idle = True
                try:
                    await asyncio.shield(self._submit(self.app.idle))
                except Exception as error:  # noqa: BLE001 - the server goes on with what it could not let go
                    registry.log_failure("Letting go", error)

    def close(self) -> None:
        """Close the application, if it was opened and nothing runs in it. Waits at most CLOSE_S."""
        if self.app is not None and not self.running:
            closing = threading.Thread(target=self.app.close, name="engram-close", daemon=True)
            closing.start()
            closing.join(CLOSE_S)

    async def _open(self) -> App:
        try:
            app = await asyncio.shield(self._submit(self.open_app))
        except EngramError as error:
            logger.error("Engram could not be opened: %s", error.line())  # noqa: TRY400 - its line says it all
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is logged, and each call is told
            registry.log_failure("Opening Engram", error)
            raise EngramError(hint=registry.INTERNAL_HINT) from None
        self.app, self.is_idle = app, False
        gc.freeze()  # modules and tables stay: without them the collector's rounds cost a search a quarter less
        return app

    def _submit(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        """Run it in a thread. There are as many threads as were ever needed at once."""
        done: Future[Result] = Future()
        self.running += 1
        self.work.put((work, done))
        if self.threads < self.running:
            self.threads += 1
            threading.Thread(target=self._work, name=f"engram-call-{self.threads}", daemon=True).start()
        waiting = asyncio.wrap_future(done)
        waiting.add_done_callback(self._ended)
        return waiting

    def _ended(self, _: asyncio.Future[Any]) -> None:
        self.running -= 1
        self.active_at = time.monotonic()

    def _work(self) -> None:
        while True:
            work, done = self.work.get()
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the result
                done.set_exception(error)
            else:
                done.set_result(result)


async def _run(server: Server[Any], desk: Desk, line: wire.Wire) -> None:
    idle = asyncio.create_task(desk.watch_idle())
    asyncio.get_running_loop().call_later(OPEN_AFTER_START_S, desk.open)
    try:
        async with stdio.connect(line) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
    finally:
        idle.cancel()
