"""A stdio server as a client meets it: a real process, its handshake, its calls, its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.figures import memory_mib

ROOT = Path(__file__).parent.parent
BARE = [sys.executable, str(Path(__file__).with_name("bare.py"))]
ENGRAM = [str(Path(sys.executable).with_name("engram")), "mcp"]


def environment(folder: Path) -> dict[str, str]:
    """Where the server keeps its data; nothing of ours that the machine has set; modules compiled, as pip leaves them."""
    left_out = ("ENGRAM_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    ours = {"ENGRAM_DATA_DIR": str(folder), "ENGRAM_PROJECT": "bench0", "PYTHONPYCACHEPREFIX": _compiled().name}
    return {**kept, **ours}


@cache
def _compiled() -> tempfile.TemporaryDirectory[str]:
    """Where compiled modules are kept: of the SDK as of ours, whoever may write where they lie."""
    return tempfile.TemporaryDirectory()


class Wired:
    """A server, greeted; ``listed_ms`` is the time from its start to the answer of tools/list."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._last_id = 0
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(folder),
            cwd=folder,
        )  # fmt: skip
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})
        self.listed = self.ask("tools/list", {})
        self.listed_ms = (time.perf_counter() - began) * 1000

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        assert self.process.stdout
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._last_id:
                return answer["result"]

    def call(self, tool: str, **arguments: object) -> str:
        """The text of a tool's answer, which must be none of its errors."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = answer["content"][0]["text"]
        assert not answer.get("isError"), text
        return text

    def memory_mib(self) -> tuple[float, float]:
        """(resident now, most so far)."""
        return memory_mib(self.process.pid)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()
