"""The standard streams as a wire: moved away from print, cut into lines, ended with the parent.

Standard library only: `engram mcp` takes the wire before it imports anything that could print or is slow.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

LINE_BYTES_MAX = 16 * 1024 * 1024
READ_BYTES = 64 * 1024
EDGE_BYTES = 64 * 1024  # of an unreadable line, kept at either end to find its id
PARENT_POLL_S = 1.0
PR_SET_PDEATHSIG = 1
ID_AT_END = re.compile(rb'(?<!\\)"id"[ \t]{0,9}:[ \t]{0,9}(-?[0-9]{1,19}|"[^"\\]{0,200}")[ \t]{0,9}\}[ \t\r]{0,9}\Z')

RequestId = int | str


@dataclass(frozen=True, slots=True)
class Wire:
    """The two descriptors that carry messages, out of the reach of print and of child processes."""

    read_fd: int
    write_fd: int


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
                return as_id(value)
            position = _skip(text, position, ",")
    except (ValueError, RecursionError):
        pass  # cut, or broken, here
    # One brace after it, then the end: the id belongs to the message itself, not to something in it.
    found = ID_AT_END.search(tail)
    return as_id(json.loads(found[1].decode("utf-8", errors="replace"))) if found else None


def as_id(value: object) -> RequestId | None:
    """The value, if it can be the id of a request."""
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


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


def read_bytes(fd: int) -> bytes:
    """What has come, at most READ_BYTES; empty at the end, and where the descriptor fails."""
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""


def write_bytes(fd: int, data: bytes) -> OSError | None:
    """Write it all; the error if nobody reads."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as error:
        return error
    return None


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
