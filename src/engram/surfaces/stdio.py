"""The wire of `engram mcp`: one JSON-RPC message a line, over the standard streams that nothing else may touch.

``take_wire`` moves both streams away before anything can print; what is printed later lands on stderr. Lines are read
and parsed here, because the SDK gives no answer to a line that it cannot read and refuses a lone surrogate, which a
tool has to see. Only the standard library is imported until a wire is served.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import re
import signal
import sys
import threading
from collections import Counter
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

LINE_BYTES_MAX = 16 * 1024 * 1024
READ_BYTES = 64 * 1024
EDGE_BYTES = 64 * 1024  # of an unreadable line, kept at either end to find its id
INT_DIGITS_MAX = 4_000  # Python itself refuses to read longer numbers
FLUSH_S = 5.0  # how long the end of input waits for answers that are still being made
PARENT_POLL_S = 1.0
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
PR_SET_PDEATHSIG = 1
UTF8_BOM = b"\xef\xbb\xbf"
ID_AT_END = re.compile(rb'(?<!\\)"id"[ \t]{0,9}:[ \t]{0,9}(-?[0-9]{1,19}|"[^"\\]{0,200}")[ \t]{0,9}\}[ \t\r]{0,9}\Z')

RequestId = int | str


@dataclass(frozen=True, slots=True)
class Wire:
    """The two descriptors that carry messages, out of the reach of print and of child processes."""

    read_fd: int
    write_fd: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no message: what is answered to it."""

    code: int
    message: str
    id: RequestId | None


@dataclass(frozen=True, slots=True)
class TooLong:
    """What was kept of a line over the limit."""

    head: bytes
    tail: bytes


_wire: Wire | None = None  # there is one pair of standard streams in a process


def take_wire() -> Wire:
    """Move stdin and stdout to private descriptors; from then on stdout is stderr and stdin is empty.

    Called first thing, and again by whoever serves: the second call returns the same wire.
    """
    global _wire  # noqa: PLW0603 - the standard streams are global themselves
    if _wire is None:
        _wire = Wire(read_fd=_move(0, onto=_open_null), write_fd=_move(1, onto=_open_stderr))
        for stream in (sys.stdout, sys.stderr):
            # A stray print in an old code page must not fail a call.
            if stream is not None and hasattr(stream, "reconfigure"):  # pyright: ignore[reportUnnecessaryComparison] - None where the descriptor was closed
                cast("Any", stream).reconfigure(errors="backslashreplace")
    return _wire


def watch_parent() -> None:
    """End this process when the one that started it is gone, even while a call runs.

    Linux tells by a signal, which also comes when only the thread that started us ended; so the parent is looked at
    before anything is done. Elsewhere, and where the signal is lost, a thread looks once in PARENT_POLL_S.
    """
    parent = os.getppid()

    def end_if_orphaned() -> None:
        if os.getppid() != parent:
            # Exiting like this loses nothing: what an answer called saved is committed, the rest rolls back.
            os._exit(0)

    def poll() -> None:
        pause = threading.Event()
        while not pause.wait(PARENT_POLL_S):
            end_if_orphaned()

    if sys.platform == "linux" and threading.current_thread() is threading.main_thread():
        number = signal.SIGRTMIN + 1
        signal.signal(number, lambda _number, _frame: end_if_orphaned())
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    threading.Thread(target=poll, name="engram-parent", daemon=True).start()


@contextlib.asynccontextmanager
async def connect(
    wire: Wire,
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """The streams that the SDK's server runs on. They end with the input, or when nobody reads the output."""
    import asyncio  # noqa: PLC0415 - take_wire is called before anything slow is imported

    import anyio  # noqa: PLC0415 - the same
    from mcp.shared.message import SessionMessage  # noqa: PLC0415 - the same

    to_server, server_reads = anyio.create_memory_object_stream["SessionMessage | Exception"]()
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage]()
    link = _Link(loop=asyncio.get_running_loop(), wire=wire, to_server=to_server)
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
    from mcp_types import JSONRPCNotification, jsonrpc_message_adapter  # noqa: PLC0415 - see connect
    from pydantic import ValidationError  # noqa: PLC0415 - see connect

    if isinstance(line, TooLong):
        found = find_id(line.head, line.tail)
        return Unreadable(INVALID_REQUEST, f"Message over {LINE_BYTES_MAX} bytes", found)
    try:
        value = _loads(line.decode("utf-8"))
    except ValueError as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        found = find_id(line[:EDGE_BYTES], line[-EDGE_BYTES:])
        return Unreadable(PARSE_ERROR, "Not JSON" if is_text else "Not UTF-8", found)
    except RecursionError:
        return Unreadable(INVALID_REQUEST, "Nested too deeply", find_id(line[:EDGE_BYTES], line[-EDGE_BYTES:]))
    if not isinstance(value, dict):
        what = "A batch is not taken" if isinstance(value, list) else "Not a message"
        return Unreadable(INVALID_REQUEST, what, None)
    fields = cast("dict[str, object]", value)
    try:
        message = jsonrpc_message_adapter.validate_python(fields, by_name=False)
    except ValidationError:
        return Unreadable(INVALID_REQUEST, "Not a message", _as_id(fields.get("id")))
    if isinstance(message, JSONRPCNotification) and "id" in fields:
        # The SDK reads a request whose id is null or a fraction as a notification, and would never answer.
        return Unreadable(INVALID_REQUEST, "An id is text or a whole number", None)
    return message


def find_id(head: bytes, tail: bytes) -> RequestId | None:
    """The id of a message of which only the first and the last bytes are known, if it stands in either."""
    text = head.decode("utf-8", errors="replace")
    decoder = json.JSONDecoder()
    position = _skip(text, 0, "{")
    try:
        while position:
            key, position = decoder.raw_decode(text, position)
            position = _skip(text, position, ":")
            value, position = decoder.raw_decode(text, position) if position else (None, 0)
            # A number that ends with the known bytes may go on behind them.
            if key == "id" and position < len(text):
                return _as_id(value)
            position = _skip(text, position, ",")
    except (ValueError, RecursionError):
        pass  # cut, or broken, here
    # One brace after it, then the end: the id belongs to the message itself, not to something in it.
    found = ID_AT_END.search(tail)
    return _as_id(json.loads(found[1].decode("utf-8", errors="replace"))) if found else None


def render(message: JSONRPCMessage) -> bytes:
    """A message as its line."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:
        # A lone surrogate, e.g. in an id or a method that is echoed: escaped, it is sent back as it came.
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), separators=(",", ":"))
    return text.encode() + b"\n"


class LineSplitter:
    """Cuts a stream of bytes into lines; of a line over the limit only both ends are kept."""

    def __init__(self, bytes_max: int = LINE_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self._kept = bytearray()
        self._cut: TooLong | None = None

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that are complete with this data, without their ends."""
        *ended, rest = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        for piece in ended:
            self._add(piece)
            lines += self.finish()
        self._add(rest)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """The line so far, if there is any."""
        line: bytes | TooLong = self._cut if self._cut is not None else bytes(self._kept)
        self._cut = None
        self._kept = bytearray()
        return [line] if isinstance(line, TooLong) or line.strip() else []

    def _add(self, piece: bytes) -> None:
        if self._cut is None:
            self._kept += piece
            if len(self._kept) > self.bytes_max:
                self._cut = TooLong(bytes(self._kept[:EDGE_BYTES]), bytes(self._kept[-EDGE_BYTES:]))
                self._kept = bytearray()
        elif piece:
            self._cut = TooLong(self._cut.head, (self._cut.tail + piece)[-EDGE_BYTES:])


@dataclass(slots=True)
class _Link:
    """The state of one connection: threads read and write the descriptors, coroutines meet the server."""

    loop: asyncio.AbstractEventLoop
    wire: Wire
    to_server: MemoryObjectSendStream[SessionMessage | Exception]
    lines: queue.SimpleQueue[tuple[bytes, Future[None]] | None] = field(default_factory=queue.SimpleQueue)
    # Requests without an answer yet, so that the end of input can wait for them. Ids may repeat.
    open: Counter[str] = field(default_factory=Counter[str])

    def read_lines(self) -> None:
        """Thread: bytes to messages, one at a time, no faster than the server takes them."""
        splitter = LineSplitter()
        is_first = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process is ending
            while data := _read(self.wire.read_fd):
                if is_first:
                    data, is_first = data.removeprefix(UTF8_BOM), False
                for line in splitter.feed(data):
                    self._run(self.take(parse_line(line)))
            for line in splitter.finish():
                self._run(self.take(parse_line(line)))
            self._run(self.end())

    def write_lines(self) -> None:
        """Thread: lines to the descriptor. Blocked while the client does not read."""
        while item := self.lines.get():
            data, done = item
            error = _write(self.wire.write_fd, data)
            with contextlib.suppress(InvalidStateError):
                done.set_exception(error) if error else done.set_result(None)

    async def take(self, message: JSONRPCMessage | Unreadable) -> None:
        """Hand a message to the server, or answer a line that is none."""
        import anyio  # noqa: PLC0415 - see connect
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - see connect
        from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest  # noqa: PLC0415 - see connect

        if isinstance(message, Unreadable):
            error = ErrorData(code=message.code, message=message.message)
            await self.send(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
            return
        if isinstance(message, JSONRPCRequest):
            self.open[str(message.id)] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))  # a cancelled request gets no answer
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self.to_server.send(SessionMessage(message))

    async def end(self) -> None:
        """The input ended: wait a little for the answers under way, then let the server end."""
        import asyncio  # noqa: PLC0415 - see connect

        deadline = self.loop.time() + FLUSH_S
        while self.open and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        self.to_server.close()

    async def send_answers(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what the server says, until it says no more."""
        async for item in from_server:
            await self.send(item.message)
            self._settle(getattr(item.message, "id", None))

    async def send(self, message: JSONRPCMessage) -> None:
        """Write a message; where nobody reads any more, end."""
        import asyncio  # noqa: PLC0415 - see connect

        done: Future[None] = Future()
        self.lines.put((render(message), done))
        try:
            await asyncio.wrap_future(done)
        except OSError:
            self.open.clear()
            self.to_server.close()

    def _settle(self, request_id: object) -> None:
        key = str(request_id)
        if self.open[key] > 1:
            self.open[key] -= 1
        else:
            del self.open[key]

    def _run(self, work: Any) -> None:  # noqa: ANN401 - any coroutine
        import asyncio  # noqa: PLC0415 - see connect

        try:
            asyncio.run_coroutine_threadsafe(work, self.loop).result()
        except BaseException:
            work.close()
            raise


def _move(fd: int, *, onto: Callable[[], int]) -> int:
    """Duplicate a standard descriptor to a number that no standard stream has, and point it elsewhere."""
    try:
        private = _duplicate(fd)
    except OSError:
        private = _open_null()  # it was closed: an input that has ended, an output that nobody reads
    elsewhere = onto()
    os.dup2(elsewhere, fd)
    if elsewhere > 2:
        os.close(elsewhere)
    return private


def _duplicate(fd: int) -> int:
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl  # noqa: PLC0415 - there is none on Windows

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _open_null() -> int:
    return os.open(os.devnull, os.O_RDWR)


def _open_stderr() -> int:
    try:
        return _duplicate(2)
    except OSError:
        return _open_null()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""


def _write(fd: int, data: bytes) -> OSError | None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as error:
        return error
    return None


def _loads(text: str) -> object:
    return json.loads(text, parse_constant=_refuse_constant, parse_int=_read_int)


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _read_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= INT_DIGITS_MAX else float(digits)


def _as_id(value: object) -> RequestId | None:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _skip(text: str, position: int, mark: str) -> int:
    """The position of what follows a mark and the white space around it; 0 where the mark does not stand."""
    while position < len(text) and text[position] in " \t\r":
        position += 1
    if not text.startswith(mark, position):
        return 0
    position += 1
    while position < len(text) and text[position] in " \t\r":
        position += 1
    return position
