"""`engram mcp`: the tools, prompts and resources as an MCP server on the standard streams.

The handshake and the lists of tools, prompts and templates are answered from what is declared. The application
(database, model) is opened behind them, in a thread, and whatever reads or writes memories waits for it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import queue
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Annotations,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Prompt as ListedPrompt
from mcp_types import Tool as ListedTool
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from engram.errors import EngramError, Unavailable
from engram.surfaces import stdio, wire
from engram.tools import params, prompts, registry, resources

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp_types import CallToolRequestParams

    from engram.tools.prompts import Prompt
    from engram.tools.registry import Answer, Tool
    from engram.tools.resources import Entry

logger = logging.getLogger(__name__)

SERVER_NAME = "engram"
WAITING_MAX = 64  # calls that may wait for a thread; the next is told to come back
OPEN_AFTER_LIST_S = 0.05  # the answer is on the wire before imports compete with it for the interpreter
OPEN_AFTER_START_S = 2.0  # for a client that never lists
CLOSE_S = 2.0  # how long the end waits for the application to close
BUSY_HINT = "Wait for running calls to end, then try again."
RESOURCE_NOT_FOUND = -32002  # up to 2025-11-25; the next revision retired it for INVALID_PARAMS
CALLERS_FAULTS = frozenset({"invalid", "not_found", "conflict"})  # what other parameters would put right

Result = TypeVar("Result")


class App(Protocol):
    """What the server serves. Its methods block; they are called from several threads at once."""

    calls_max: int  # calls that may run at the same time

    def call(self, tool: Tool, arguments: object, *, client: str) -> Answer:
        """Run a tool for the client of this name."""
        ...

    def ask(self, read: Callable[[Any], Result], *, client: str) -> Result:
        """Run this with the context of the caller; raises EngramError."""
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
    offer_prompts(server, desk, loaded=by_name)
    offer_resources(server, desk)
    # Ours in place of the SDK's tracing, which would hand exceptions, and so remembered text, to an exporter.
    server.middleware[:] = [wrap_arguments]
    return server


def offer_prompts(server: Server[Any], desk: Desk, *, loaded: Collection[str]) -> None:
    """Serve the prompts for which these tools suffice."""
    offered = {one.name: one for one in prompts.offered(loaded)}
    listed = ListPromptsResult(prompts=[listed_prompt(one) for one in offered.values()])

    async def list_prompts(_: ServerRequestContext[Any], __: PaginatedRequestParams) -> ListPromptsResult:
        return listed

    async def get_prompt(ctx: ServerRequestContext[Any], asked: GetPromptRequestParams) -> GetPromptResult:
        def read(caller: Any) -> str:  # noqa: ANN401 - the engine's context passes through unread
            return prompts.get(caller, asked.name, asked.arguments, loaded=loaded)

        text = await ask(desk, ctx, read, again="get the prompt again")
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=offered[asked.name].description, messages=[message])

    server.add_request_handler("prompts/list", PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", GetPromptRequestParams, get_prompt)


def offer_resources(server: Server[Any], desk: Desk) -> None:
    """Serve memories and contexts as resources. No subscriptions: what a memory becomes is found by reading it."""
    templates = ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                uri_template=one.uri,
                name=one.name,
                title=one.title,
                description=one.description,
                mime_type=resources.MIME_TYPE,
            )
            for one in resources.TEMPLATES
        ]
    )

    async def list_templates(_: ServerRequestContext[Any], __: PaginatedRequestParams) -> ListResourceTemplatesResult:
        return templates

    async def list_resources(ctx: ServerRequestContext[Any], asked: PaginatedRequestParams) -> ListResourcesResult:
        cursor = asked.cursor or ""
        page = await ask(desk, ctx, partial(resources.page, cursor=cursor), again="list the resources again")
        return ListResourcesResult(
            resources=[listed_resource(one) for one in page.entries], next_cursor=page.cursor or None
        )

    async def read_resource(ctx: ServerRequestContext[Any], asked: ReadResourceRequestParams) -> ReadResourceResult:
        text = await ask(desk, ctx, partial(resources.read, uri=asked.uri), again="read the resource again")
        contents = TextResourceContents(uri=asked.uri, mime_type=resources.MIME_TYPE, text=text)
        return ReadResourceResult(contents=[contents])

    server.add_request_handler("resources/templates/list", PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/list", PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/read", ReadResourceRequestParams, read_resource)


async def ask(desk: Desk, ctx: ServerRequestContext[Any], read: Callable[[Any], Result], *, again: str) -> Result:
    """Run this with the caller's context, in a thread.

    Raises:
        MCPError: what it refused, as the protocol says it.
    """
    try:
        return await desk.run(partial(run_ask, read=read, client=client_name(ctx)))
    except EngramError as error:
        raise protocol_error(error, version=ctx.protocol_version, again=again) from None


def run_ask(app: App, *, read: Callable[[Any], Result], client: str) -> Result:
    """Run a reading; an error that nobody foresaw is logged, and its text is not shown.

    Raises:
        EngramError: what was refused, or ``internal``.
    """
    try:
        return app.ask(read, client=client)
    except EngramError:
        raise
    except BaseException as error:  # noqa: BLE001 - nothing that a reading does may end the server
        registry.log_failure("A prompt or resource", error)
        raise EngramError(hint=registry.INTERNAL_HINT) from None


def protocol_error(error: EngramError, *, version: str, again: str) -> MCPError:
    """An error where the protocol has no result for it: ``code: message. hint``, our code in the data as well."""
    code = INVALID_PARAMS if error.code in CALLERS_FAULTS else INTERNAL_ERROR
    if error.code == "not_found" and version not in MODERN_PROTOCOL_VERSIONS:
        code = RESOURCE_NOT_FOUND
    data: dict[str, Any] = {"code": error.code}
    if isinstance(error, Unavailable):
        data["retry_after"] = error.retry_after
    return MCPError(code, registry.error_line(error, again=again), data)


async def wrap_arguments(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Let arguments of another type reach the tool or prompt, which reads them kindly and explains what it refuses."""
    sent: Mapping[str, Any] = ctx.params or {}
    arguments = sent.get("arguments")
    if ctx.method == "tools/call" and arguments is not None and not isinstance(arguments, dict):
        ctx = replace(ctx, params={**sent, "arguments": {"arguments": arguments}})
    if ctx.method == "prompts/get" and arguments is not None and not is_text_object(arguments):
        as_text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        ctx = replace(ctx, params={**sent, "arguments": {"arguments": as_text}})
    return await call_next(ctx)


def is_text_object(value: object) -> bool:
    """Whether this is an object of texts, the only arguments that the protocol gives to prompts."""
    return isinstance(value, dict) and all(isinstance(one, str) for one in cast("dict[str, Any]", value).values())


def listed_prompt(prompt: Prompt) -> ListedPrompt:
    """A prompt as prompts/list shows it."""
    return ListedPrompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            PromptArgument(name=one.name, description=one.marker.description, required=one.is_required)
            for one in prompt.parameters
        ],
    )


def listed_resource(entry: Entry) -> Resource:
    """A resource as resources/list shows it."""
    return Resource(
        uri=entry.uri,
        name=entry.name,
        title=entry.title,
        description=entry.description,
        mime_type=resources.MIME_TYPE,
        annotations=Annotations(last_modified=entry.updated) if entry.updated else None,
    )


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


def run_call(app: App, *, tool: Tool, arguments: object, client: str) -> Answer:
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
        try:
            return await self.run(partial(run_call, tool=tool, arguments=arguments, client=client))
        except EngramError as error:
            return registry.failure(tool, error)

    async def run(self, work: Callable[[App], Result]) -> Result:
        """Run this with the application in a thread, and wait for it.

        Raises:
            EngramError: too many wait, or the application can't be opened; and what the work raises.
        """
        if self.waiting >= WAITING_MAX:
            raise Unavailable("the server is busy", hint=BUSY_HINT)
        self.waiting += 1
        try:
            app = await asyncio.shield(self.open())
            slots = self.slots = self.slots or asyncio.Semaphore(max(1, app.calls_max))
            await slots.acquire()
        finally:
            self.waiting -= 1
        self.is_idle = False
        done = self._submit(partial(work, app))
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
