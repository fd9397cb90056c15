"""A small real server that speaks /v1/embeddings, with vectors that follow from the words, and with faults on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

# What it does instead of answering, by name: (status, headers, body).
Fault = Callable[["Server", list[str]], "tuple[int, dict[str, str], bytes]"]


@dataclass
class Server:
    """A running server, and what it was asked."""

    url: str = ""
    dim: int = 32
    asked: list[list[str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)  # each for one request
    always: Fault | None = None

    def answer(self, sent: dict[str, Any], key: str) -> tuple[int, dict[str, str], bytes]:
        """The answer to a request."""
        texts: list[str] = sent["input"]
        self.asked.append(texts)
        self.keys.append(key)
        self.models.append(sent["model"])
        if self.faults:
            return self.faults.pop(0)(self, texts)
        if self.always:
            return self.always(self, texts)
        return self.good(texts)

    def good(self, texts: list[str]) -> tuple[int, dict[str, str], bytes]:
        """Vectors in reverse order, as an answer may be; their length is not 1."""
        data = [{"index": i, "embedding": vector(text, self.dim)} for i, text in enumerate(texts)]
        return body({"data": data[::-1]})


def vector(text: str, dim: int) -> list[float]:
    """The sum of a direction for each word; a word and its synonyms of the table have the same."""
    total = np.full(dim, 0.05)
    for word in text.lower().split():
        word = SYNONYMS.get(word.strip(".,?"), word.strip(".,?"))  # noqa: PLW2901 - the same word, tidied
        seed = int.from_bytes(blake2b(word.encode(), digest_size=4).digest(), "big")
        total += np.random.default_rng(seed).standard_normal(dim)
    return [float(x) for x in total]


SYNONYMS = {"automobile": "car", "vehicle": "car", "physician": "doctor"}


def body(value: object, status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """An answer of JSON."""
    return status, {name.replace("_", "-"): text for name, text in headers.items()}, json.dumps(value).encode()


def status(code: int, **headers: str) -> Fault:
    """An answer of nothing but a status."""
    return lambda _, __: body({"error": {"message": "secret-in-the-answer"}}, code, **headers)


def raw(text: bytes) -> Fault:
    """An answer of these bytes."""
    return lambda _, __: (200, {}, text)


def slow(seconds: float) -> Fault:
    """A good answer that comes late."""

    def act(server: Server, texts: list[str]) -> tuple[int, dict[str, str], bytes]:
        time.sleep(seconds)
        return server.good(texts)

    return act


@contextmanager
def serving(**given: Any) -> Generator[Server]:
    """Run the server on a free port."""
    server = Server(**given)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            code, headers, content = (
                server.answer(sent, self.headers.get("Authorization", ""))
                if self.path == "/v1/embeddings"
                else body({}, 404)
            )
            try:
                self.send_response(code)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # the client went

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    server.url = f"http://127.0.0.1:{running.server_port}/v1"
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        running.shutdown()
        running.server_close()
