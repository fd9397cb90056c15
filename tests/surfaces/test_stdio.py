"""A real server process on real pipes: what the wire carries, and when the process ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

from engram.surfaces import stdio, wire
from engram.surfaces.wire import LineSplitter, TooLong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.timeout(90)

TOY = Path(__file__).parent / "programs" / "toy.py"
SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, str(TOY)]
HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def environment(**toy: str) -> dict[str, str]:
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **toy}


class Wired:
    """A toy server and the pipes to it."""

    def __init__(self, command: list[str], **toy: str) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**toy)
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.input, self.output, self.errors = self.process.stdin, self.process.stdout, self.process.stderr

    def send(self, message: object) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.input.write(line + b"\n")
        self.input.flush()

    def receive(self) -> dict[str, Any]:
        return json.loads(self.output.readline().decode("utf-8"))

    def ask(self, message: object) -> dict[str, Any]:
        self.send(message)
        return self.receive()

    def greet(self, version: str = HANDSHAKES[-1]) -> dict[str, Any]:
        client = {"name": "raw", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        answer = self.ask(request("initialize", params, id=0))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def text(self, name: str, arguments: object, id: int = 1) -> str:  # noqa: A002 - the wire's name
        return self.ask(call(name, arguments, id=id))["result"]["content"][0]["text"]

    def end(self) -> tuple[list[dict[str, Any]], str]:
        """Close the input; the messages that still come, and all that was written to stderr."""
        output, errors = self.process.communicate(timeout=60)
        return [json.loads(line) for line in output.decode("utf-8").splitlines()], errors.decode("utf-8")


def request(method: str, params: object = None, id: object = 1) -> dict[str, Any]:  # noqa: A002 - the wire's name
    return {"jsonrpc": "2.0", "id": id, "method": method} | ({} if params is None else {"params": params})


def call(name: str, arguments: object, id: object = 1) -> dict[str, Any]:  # noqa: A002 - the wire's name
    return request("tools/call", {"name": name, "arguments": arguments}, id)


Start = "Callable[..., Wired]"


@pytest.fixture
def start() -> Iterator[Callable[..., Wired]]:
    """Starts toy servers, and leaves none behind."""
    started: list[Wired] = []

    def start_one(command: list[str] | None = None, **toy: str) -> Wired:
        started.append(Wired(command or COMMAND, **toy))
        return started[-1]

    yield start_one
    for one in started:
        one.process.kill()
        one.process.wait()
        for pipe in (one.input, one.output, one.errors):
            with contextlib.suppress(BrokenPipeError):  # what was not sent yet has no reader any more
                pipe.close()


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Where a toy notes what happens to it: the next line, waited for."""
    path = tmp_path / "notes"
    os.mkfifo(path)
    # Open for both, so that neither side waits for the other to open it.
    with os.fdopen(os.open(path, os.O_RDWR), "rb", buffering=0) as pipe:
        yield lambda: pipe.readline().decode().strip()


@pytest.fixture
def notes_path(tmp_path: Path, notes: Callable[[], str]) -> str:
    del notes  # it makes the pipe
    return str(tmp_path / "notes")


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_sdks_own_client_is_served(mode: str) -> None:
    """Handshake and stateless revisions list the tools, call them, and carry the client's name."""

    async def talk() -> None:
        server = StdioServerParameters(command=sys.executable, args=[str(TOY)], env=environment())
        me = Implementation(name="tester", version="9")
        async with Client(server, mode=mode, client_info=me, read_timeout_seconds=30) as client:
            listed = {one.name: one for one in (await client.list_tools()).tools}
            assert listed["echo"].title == "Echo"
            assert listed["echo"].input_schema["required"] == ["text"]
            assert listed["echo"].annotations is not None
            assert listed["echo"].annotations.destructive_hint is False
            assert listed["echo"].output_schema is None
            said = await client.call_tool("echo", {"text": "hi"})
            assert [block.model_dump()["text"] for block in said.content] == ["tester said: hi"]
            assert said.structured_content is None
            facts = await client.call_tool("facts", {})
            assert "engram" in facts.structured_content["modules"]
            failed = await client.call_tool("fail", {})
            assert failed.is_error
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("no_such_tool", {})
            assert unknown.value.code == -32602

    asyncio.run(talk())


@pytest.mark.parametrize("version", HANDSHAKES)
def test_each_handshake_revision_is_spoken(start: Callable[..., Wired], version: str) -> None:
    """The revision that the client asks for is the one it gets, with name, version and instructions."""
    server = start()
    result = server.greet(version)["result"]
    assert result["protocolVersion"] == version
    assert result["serverInfo"] == {"name": "engram", "version": "1.2.3"}
    assert result["instructions"] == "Play."
    assert server.text("echo", {"text": "hi"}) == "raw said: hi"


def test_every_byte_on_stdout_is_a_message(start: Callable[..., Wired]) -> None:
    """Prints at and after start, C libraries and child processes all land on stderr."""
    server = start(PYTHONIOENCODING="cp1252")
    server.greet()
    for way in ("print", "fd", "c", "child"):
        assert server.text("noise", {"way": way}) == "made noise"
    rest, errors = server.end()
    assert rest == []
    for noise in ("at start", "in a call", "to descriptor 1", "a C library", "from a child"):
        assert noise in errors


def test_the_wire_is_utf8_whatever_the_locale(start: Callable[..., Wired]) -> None:
    """An old code page changes nothing on the wire."""
    server = start(PYTHONIOENCODING="cp1252", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    server.greet()
    server.send(json.dumps(call("echo", {"text": "é🎉漢"}), ensure_ascii=False).encode())
    line = server.output.readline()
    assert "é🎉漢".encode() in line


def test_unreadable_lines_are_answered(start: Callable[..., Wired]) -> None:
    """Each kind of line that is no message gets its error, and the next message is served."""
    server = start()
    server.greet()
    long = "x" * stdio.LINE_BYTES_MAX
    cases: list[tuple[object, int, object]] = [
        (b"hello", -32700, None),
        (b'{"jsonrpc":"2.0","id":5,"method":"ping"', -32700, 5),
        (b'{"jsonrpc":"2.0","id":5,"method":"\xff"}', -32700, 5),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700, None),
        ([request("ping")], -32600, None),
        ("ping", -32600, None),
        ({"jsonrpc": "2.0", "id": 6}, -32600, 6),
        ({"jsonrpc": "2.0", "id": 6, "method": "ping", "params": [1]}, -32600, 6),
        ({"id": "six", "method": "ping"}, -32600, "six"),
        (request("ping", id=None), -32600, None),
        (request("ping", id=1.5), -32600, None),
        (request("ping", {"x": long}, id=7), -32600, 7),
        ({"params": {"id": 1, "x": long}, "method": "ping", "jsonrpc": "2.0", "id": "8"}, -32600, "8"),
        ({"params": {"x": long, "id": 1}, "method": "ping"}, -32600, None),
        (b"[" * 100_000, -32600, None),
    ]
    for line, code, identity in cases:
        answer = server.ask(line)
        assert (answer["error"]["code"], answer["id"]) == (code, identity), repr(line)[:60]
    assert server.ask(request("ping", id=9)) == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_a_line_of_just_the_limit_is_a_message(start: Callable[..., Wired]) -> None:
    """16 MiB are taken, and the tool says that its own limit is lower."""
    server = start()
    server.greet()
    empty = len(json.dumps(call("echo", {"text": ""})))
    message = call("echo", {"text": "x" * (stdio.LINE_BYTES_MAX - empty)})
    assert server.ask(message)["result"]["isError"] is True


def test_a_lone_surrogate_reaches_the_tool(start: Callable[..., Wired]) -> None:
    """It is refused with its position, and an id or method that has one comes back as it was."""
    server = start()
    server.greet()
    assert "surrogate at position 2" in server.text("echo", {"text": "ab\ud800"})
    assert server.ask(request("ping", id="\ud800")) == {"jsonrpc": "2.0", "id": "\ud800", "result": {}}
    assert server.ask(request("\udfff"))["error"]["code"] == -32601
    assert server.ask(call("\udfff", {}))["error"]["code"] == -32602


@pytest.mark.parametrize("arguments", ['{"text": "hi"}', {"arguments": {"text": "hi"}}, {"Text": "hi"}])
def test_arguments_are_read_kindly(start: Callable[..., Wired], arguments: object) -> None:
    """Arguments as JSON text or in a wrapper pass the SDK and reach the tool."""
    server = start()
    server.greet()
    assert server.text("echo", arguments) == "raw said: hi"


def test_arguments_that_are_no_object_are_explained(start: Callable[..., Wired]) -> None:
    """The answer is the tool's, not a bare protocol error."""
    server = start()
    server.greet()
    assert server.text("echo", [1]).startswith("invalid: arguments are [1]")


def test_a_byte_order_mark_and_carriage_returns_are_no_harm(start: Callable[..., Wired]) -> None:
    """Shells of other systems put them there."""
    server = start()
    server.send(b"\xef\xbb\xbf" + json.dumps(request("ping", id=1)).encode() + b"\r")
    assert server.receive()["id"] == 1
    assert server.ask(b"\r\n" + json.dumps(request("ping", id=2)).encode())["id"] == 2


def test_a_tool_that_breaks_or_exits_ends_nothing(start: Callable[..., Wired]) -> None:
    """The caller is told of an internal error, the log of its place; its text is in neither."""
    server = start()
    server.greet()
    for name in ("fail", "leave"):
        assert server.text(name, {}).startswith("internal: ")
    _, errors = server.end()
    assert "RuntimeError" in errors
    assert "raw's diary" not in errors


def test_the_handshake_does_not_wait_for_the_application(
    start: Callable[..., Wired], notes: Callable[[], str], notes_path: str
) -> None:
    """Initialize and tools/list are answered while the application is still being opened."""
    server = start(TOY_OPEN="stays", TOY_NOTES=notes_path)
    server.greet()
    assert server.ask(request("tools/list", id=1))["result"]["tools"]
    assert notes() == "opening"
    assert server.ask(request("tools/list", id=2))["id"] == 2


def test_nothing_slow_is_imported_for_the_handshake(start: Callable[..., Wired]) -> None:
    """Neither database drivers nor the model's runtime come with the server."""
    server = start()
    server.greet()
    modules = server.ask(call("facts", {}))["result"]["structuredContent"]["modules"]
    assert not {"numpy", "onnxruntime", "apsw", "psycopg", "tokenizers"} & set(modules)


def test_an_application_that_does_not_open_is_an_answer(start: Callable[..., Wired]) -> None:
    """The call is told why, with the time to wait, and the next one opens it anew."""
    server = start(TOY_OPEN="fails once")
    server.greet()
    text = server.text("echo", {"text": "hi"})
    assert text.startswith("unavailable: no database. Start it.")
    assert "2" in text
    assert server.text("echo", {"text": "hi"}) == "raw said: hi"
    _, errors = server.end()
    assert "unavailable: no database" in errors


def test_an_application_that_breaks_is_internal(start: Callable[..., Wired]) -> None:
    """An error that nobody foresaw is no crash, and its text is not shown."""
    server = start(TOY_OPEN="breaks")
    server.greet()
    for _ in range(2):
        assert server.text("echo", {"text": "hi"}).startswith("internal: ")
    _, errors = server.end()
    assert "RuntimeError" in errors
    assert "breaksbreaks" not in errors


def test_a_prompt_or_resource_that_breaks_is_internal(start: Callable[..., Wired]) -> None:
    """Its cause is in the log, its text nowhere; the server goes on."""
    server = start()  # the toy's context is a name, on which no prompt can recall anything
    server.greet()
    asked = [request("prompts/get", {"name": "recall", "arguments": {"topic": "a diary"}}), request("resources/list")]
    for message in [*asked, request("resources/read", {"uri": "engram://memory/1"})]:
        error = server.ask(message)["error"]
        assert (error["code"], error["data"]) == (-32603, {"code": "internal"})
        assert "attribute" not in error["message"]
    assert server.text("echo", {"text": "hi"}) == "raw said: hi"
    _, errors = server.end()
    assert "AttributeError" in errors
    assert "has no attribute" not in errors


def test_a_prompt_waits_for_an_application_that_can_be_opened(start: Callable[..., Wired]) -> None:
    """Why it can't, and when to come back, is told as the protocol's error; the next one opens it anew."""
    server = start(TOY_OPEN="fails once")
    server.greet()
    error = server.ask(request("resources/list"))["error"]
    assert (error["code"], error["data"]) == (-32603, {"code": "unavailable", "retry_after": 2})
    assert error["message"] == "unavailable: no database. Start it. Retry after 2 s."
    assert server.text("echo", {"text": "hi"}) == "raw said: hi"


def test_the_lists_of_prompts_and_templates_open_nothing(
    start: Callable[..., Wired], notes: Callable[[], str], notes_path: str
) -> None:
    """A client asks for them at each start."""
    server = start(TOY_NOTES=notes_path)
    server.greet()
    assert server.ask(request("prompts/list"))["result"]["prompts"]
    assert server.ask(request("resources/templates/list"))["result"]["resourceTemplates"]
    server.send(call("hold", {}, id="held"))
    assert [notes(), notes()] == ["opening", "holding"]  # not before the first call
    server.send(call("release", {}))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"topic": None}, "topic is missing; keys received: topic"),
        ('{"topic": " "}', "topic is blank"),
        ({"topic": {"a": 1}}, 'topic is {"a": 1}, which is no text'),
        ({"Topic": "x", "topic": "y"}, "topic is given twice with different values"),
        ({"topic": "\ud800"}, "topic has a lone surrogate at position 0"),
        ([1], "arguments are"),
    ],
)
def test_arguments_of_a_prompt_are_read_as_kindly_as_a_tools(
    start: Callable[..., Wired], arguments: object, fault: str
) -> None:
    """And refused with what would fit, where the SDK would say nothing of the fault."""
    server = start()
    server.greet()
    error = server.ask(request("prompts/get", {"name": "recall", "arguments": arguments}))["error"]
    assert error["code"] == -32602
    assert fault in error["message"]


def test_one_call_more_than_may_wait_is_refused(start: Callable[..., Wired]) -> None:
    """Two run, 64 wait, the next is told to come back; all the others are answered in the end."""
    server = start(TOY_CALLS_MAX="2")
    server.greet()
    assert server.text("echo", {"text": "open"})
    server.send(call("hold", {}, id="held"))
    server.send(call("hold", {}, id="held too"))
    server.send(call("release", {}, id=0))
    for i in range(1, 65):
        server.send(call("echo", {"text": "x"}, id=i))
    answer = server.receive()
    assert answer["id"] == 64
    assert answer["result"]["content"][0]["text"].startswith("unavailable: ")


def test_a_cancelled_call_is_not_answered_and_keeps_its_thread(
    start: Callable[..., Wired], notes: Callable[[], str], notes_path: str
) -> None:
    """The client is free at once; the place of the call is taken until it really ends."""
    server = start(TOY_CALLS_MAX="2", TOY_NOTES=notes_path)
    server.greet()
    server.send(call("hold", {}, id=1))
    assert [notes(), notes()] == ["opening", "holding"]
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert server.text("echo", {"text": "hi"}, id=2) == "raw said: hi"
    rest, _ = server.end()  # the end does not wait for a call that was cancelled
    assert rest == []
    assert server.process.returncode == 0


def test_answers_under_way_are_sent_after_the_end_of_input(start: Callable[..., Wired]) -> None:
    """A client that closes its side first still gets what it asked for; the last line needs no line end."""
    server = start()
    server.greet()
    server.send(call("hold", {}, id=1))
    server.input.write(json.dumps(call("release", {}, id=2)).encode())
    rest, _ = server.end()
    assert {one["id"] for one in rest} == {1, 2}
    assert server.process.returncode == 0


def test_a_call_that_never_ends_does_not_keep_the_process(start: Callable[..., Wired]) -> None:
    """After the end of input the process waits a little, not for ever; the caller is told."""
    server = start(TOY_FLUSH_S="0.1")
    server.greet()
    server.send(call("hold", {}, id=1))
    rest, _ = server.end()
    assert [one["id"] for one in rest] == [1]
    assert "error" in rest[0]
    assert server.process.returncode == 0


def test_the_application_is_closed_at_the_end(
    start: Callable[..., Wired], notes: Callable[[], str], notes_path: str
) -> None:
    """What was opened is closed when the input ends."""
    server = start(TOY_NOTES=notes_path)
    server.greet()
    server.text("echo", {"text": "hi"})
    server.end()
    assert [notes(), notes()] == ["opening", "closed"]


def test_the_application_lets_go_when_nothing_is_called(
    start: Callable[..., Wired], notes: Callable[[], str], notes_path: str
) -> None:
    """Once after each stretch of calls, and calls go on afterwards."""
    server = start(TOY_IDLE_S="0.05", TOY_NOTES=notes_path)
    server.greet()
    server.text("echo", {"text": "hi"})
    assert [notes(), notes()] == ["opening", "idle"]
    server.text("echo", {"text": "hi"})
    assert notes() == "idle"
    server.end()
    assert notes() == "closed"


def test_a_client_that_stops_reading_ends_the_server(start: Callable[..., Wired]) -> None:
    """Nobody is left to answer, though the input is open."""
    server = start()
    server.greet()
    server.output.close()
    server.send(request("ping", id=2))
    assert server.process.wait(timeout=60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a process there does not learn that its parent is gone")
def test_the_parents_death_ends_the_server_during_a_call(
    start: Callable[..., Wired], notes: Callable[[], str], notes_path: str
) -> None:
    """A client that is killed leaves no server, though the pipes stay open."""
    parent = "import subprocess, sys; subprocess.run(sys.argv[1:], check=False)"
    server = start([sys.executable, "-c", parent, *COMMAND], TOY_NOTES=notes_path)
    server.greet()
    server.send(call("hold", {}, id=1))
    assert [notes(), notes()] == ["opening", "holding"]
    server.process.send_signal(signal.SIGKILL)
    assert server.output.read() == b""  # the end of the pipe: nobody holds it any more


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is Linux's")
def test_the_end_of_the_thread_that_started_it_is_no_death(start: Callable[..., Wired]) -> None:
    """Linux signals a thread's end like a parent's; clients start servers from threads."""
    servers: list[Wired] = []
    starter = threading.Thread(target=lambda: (servers.append(start()), servers[0].greet()))
    starter.start()
    starter.join()
    for i in range(20):
        assert servers[0].ask(request("ping", id=i))["id"] == i


def test_lines_are_cut_wherever_the_pieces_end() -> None:
    """The pieces in which bytes come say nothing about lines."""
    splitter = LineSplitter(bytes_max=10)
    assert splitter.feed(b"ab") == []
    assert splitter.feed(b"c\n\n \r\nde\nf") == [b"abc", b"de"]
    assert splitter.feed(b"x" * 9) == []
    assert splitter.feed(b"\n") == [b"f" + b"x" * 9]
    assert splitter.finish() == []


def test_a_long_line_is_kept_by_its_ends_alone() -> None:
    """However long it is, memory holds the two edges; the next line is whole."""
    splitter = LineSplitter(bytes_max=100)
    assert splitter.feed(b"head" + b"x" * 200) == []
    for _ in range(50):
        splitter.feed(b"y" * wire.EDGE_BYTES)
    (long, after) = splitter.feed(b"tail\nnext\n")
    assert isinstance(long, TooLong)
    assert long.head.startswith(b"head")
    assert len(long.tail) == wire.EDGE_BYTES
    assert long.tail.endswith(b"tail")
    assert after == b"next"


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":12,"params":{"x":"yy', b"yy", 12),
        (b' { "id" : "a" , "par', b"", "a"),
        (b'{"params":{"id":1,"x":"yy', b'y"},"id":34}', 34),
        (b'{"params":{"id":1,"x":"yy', b'y","id":34}}', None),
        (b'{"params":{"x":"yy', b'y\\"id\\":34}', None),
        (b'{"id":12', b"345", None),
        (b'{"id":true,"x', b"", None),
        (b"[1", b'"id":3}', 3),
        (b"", b"", None),
    ],
)
def test_the_id_of_a_cut_message_is_found_at_its_own_level(head: bytes, tail: bytes, expected: object) -> None:
    """An id inside the parameters, or inside a text, is not the message's."""
    assert wire.find_id(head, tail) == expected
