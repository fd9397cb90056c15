"""The SDK's server over the standard streams: one JSON-RPC message a line.

Lines are parsed here, because the SDK gives no answer to a line that it cannot read, and refuses a lone surrogate,
which a tool has to see.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import threading
from collections import Counter
from concurrent.futures import CancelledError, Future, InvalidStateError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from engram.surfaces.wire import (
    EDGE_BYTES,
    LINE_BYTES_MAX,
    LineSplitter,
    RequestId,
    TooLong,
    Wire,
    as_id,
    find_id,
    read_bytes,
    write_bytes,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp_types import JSONRPCMessage

INT_DIGITS_MAX = 4_000  # Python itself refuses to read longer numbers
FLUSH_S = 5.0  # how long the end of input waits for answers that are still being made
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UTF8_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no message: what is answered to it."""

    code: int
    message: str
    id: RequestId | None


@contextlib.asynccontextmanager
async def connect(
    wire: Wire,
) -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """The streams that the SDK's server runs on. They end with the input, or when nobody reads the output."""
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception]()
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage]()
    link = _Link(loop=asyncio.get_running_loop(), wire=wire, to_server=to_server)
    link.settled.set()
    threading.Thread(target=link.read_lines, name="engram-stdin", daemon=True).start()
    threading.Thread(target=link.write_lines, name="engram-stdout", daemon=True).start()
    sending = asyncio.create_task(link.send_answers(from_server))
    try:
        yield server_reads, server_writes
    finally:
        server_writes.close()  # the server closes its own clone when it ends; now the answers run dry
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(sending, FLUSH_S)
        link.lines.put(None)
        for stream in (to_server, server_reads, from_server):
            stream.close()


def parse_line(line: bytes | TooLong) -> JSONRPCMessage | Unreadable:
    """A line as a message of the SDK, or the error that its sender gets."""
    if isinstance(line, TooLong):
        return Unreadable(INVALID_REQUEST, f"Message over {LINE_BYTES_MAX} bytes", find_id(line.head, line.tail))
    try:
        value = _loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        code, what = PARSE_ERROR, "Not JSON"
        if isinstance(error, UnicodeDecodeError):
            what = "Not UTF-8"
        elif isinstance(error, RecursionError):
            code, what = INVALID_REQUEST, "Nested too deeply"
        return Unreadable(code, what, find_id(line[:EDGE_BYTES], line[-EDGE_BYTES:]))
    return _as_message(value)


def render(message: JSONRPCMessage) -> bytes:
    """A message as its line."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:
        # A lone surrogate, e.g. in an id or a method that is echoed: escaped, it is sent back as it came.
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), separators=(",", ":"))
    return text.encode() + b"\n"


@dataclass(slots=True)
class _Link:
    """The state of one connection: threads read and write the descriptors, coroutines meet the server."""

    loop: asyncio.AbstractEventLoop
    wire: Wire
    to_server: MemoryObjectSendStream[SessionMessage | Exception]
    lines: queue.SimpleQueue[tuple[bytes, Future[None]] | None] = field(default_factory=queue.SimpleQueue)
    # Requests without an answer yet, so that the end of input can wait for them. Ids may repeat.
    open: Counter[str] = field(default_factory=Counter[str])
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # set while there is none

    def read_lines(self) -> None:
        """Thread: bytes to messages, one at a time, no faster than the server takes them."""
        splitter = LineSplitter()
        data = read_bytes(self.wire.read_fd).removeprefix(UTF8_BOM)
        try:
            while data:
                for line in splitter.feed(data):
                    self._run(self.take(parse_line(line)))
                data = read_bytes(self.wire.read_fd)
            for line in splitter.finish():
                self._run(self.take(parse_line(line)))
        finally:
            self._run(self.end())

    def write_lines(self) -> None:
        """Thread: lines to the descriptor. Blocked while the client does not read."""
        while item := self.lines.get():
            data, done = item
            error = write_bytes(self.wire.write_fd, data)
            with contextlib.suppress(InvalidStateError):
                done.set_exception(error) if error else done.set_result(None)

    async def take(self, message: JSONRPCMessage | Unreadable) -> None:
        """Hand a message to the server, or answer a line that is none."""
        if isinstance(message, Unreadable):
            error = ErrorData(code=message.code, message=message.message)
            await self.send(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
            return
        if isinstance(message, JSONRPCRequest):
            self.open[str(message.id)] += 1
            self.settled.clear()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # a cancelled request gets no answer
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self.to_server.send(SessionMessage(message))

    async def end(self) -> None:
        """The input ended: wait a little for the answers under way, then let the server end."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.settled.wait(), FLUSH_S)
        self.to_server.close()

    async def send_answers(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what the server says, until it says no more."""
        async with from_server, self.to_server:
            async for item in from_server:
                await self.send(item.message)
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    self._settle(item.message.id)

    async def send(self, message: JSONRPCMessage) -> None:
        """Write a message; where nobody reads any more, end."""
        done: Future[None] = Future()
        self.lines.put((render(message), done))
        try:
            await asyncio.wrap_future(done)
        except OSError:
            self.settled.set()
            self.to_server.close()

    def _settle(self, request_id: object) -> None:
        key = str(request_id)
        if self.open[key] > 1:
            self.open[key] -= 1
        else:
            del self.open[key]
        if not self.open:
            self.settled.set()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it on the loop and wait for it; end this thread without a word where the loop is gone."""
        try:
            asyncio.run_coroutine_threadsafe(work, self.loop).result()
        except (RuntimeError, CancelledError):
            work.close()
            if not self.loop.is_closed() and self.loop.is_running():
                raise
            raise SystemExit from None


def _as_message(value: object) -> JSONRPCMessage | Unreadable:
    if not isinstance(value, dict):
        what = "A batch is not taken" if isinstance(value, list) else "Not a message"
        return Unreadable(INVALID_REQUEST, what, None)
    fields = cast("dict[str, object]", value)
    try:
        message = jsonrpc_message_adapter.validate_python(fields, by_name=False)
    except ValidationError:
        return Unreadable(INVALID_REQUEST, "Not a message", as_id(fields.get("id")))
    if isinstance(message, JSONRPCNotification) and "id" in fields:
        # The SDK reads a request whose id is null or a fraction as a notification, and would never answer.
        return Unreadable(INVALID_REQUEST, "An id is text or a whole number", None)
    return message


def _loads(text: str) -> object:
    return json.loads(text, parse_constant=_refuse_constant, parse_int=_read_int)


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _read_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= INT_DIGITS_MAX else float(digits)
