"""Real processes on one database: one of them embeds for all, and another takes over when it is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.kill import environment

from engram import app as composition
from engram.embed import PackagedEmbedder
from engram.engine import users
from engram.engine.context import Engine
from engram.engine.lease import Lease
from engram.engine.worker import Worker
from engram.settings import Settings
from engram.store import chunks, health
from engram.store.base import Store

LEASE_S = 2.0
PROGRAM = """
import os, sys
from engram import settings
from engram.app import App
from engram.engine.worker import Worker
from engram.tools import mem, registry
app = App(settings.read(os.environ))
app.worker = app.engine.worker = Worker(app.engine, lease_s=float(sys.argv[1]), poll_s=0.05)
count = 0
print("ready", flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "save":
        for i in range(int(rest)):
            count += 1
            note = {"title": f"Note {os.getpid()} {count}", "content": f"text {count}"}
            answer = app.call(registry.TOOLS["mem_save"], note)
            assert not answer.is_error, answer.text
    elif word == "search":
        app.call(registry.TOOLS["mem_search"], {"query": rest})
    is_loaded = "onnxruntime" in sys.modules
    if sys.platform == "linux":
        assert ("onnxruntime" in open("/proc/self/maps").read()) == is_loaded
    print(int(is_loaded), int(app.worker.has_lease), flush=True)
app.close()
"""


@dataclass
class Child:
    """A process with an engine and a worker."""

    process: subprocess.Popen[str]

    def say(self, line: str = "") -> tuple[bool, bool]:
        """Let it do something; (the model is loaded, it has the lease)."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        loaded, holds = self.process.stdout.readline().split()
        return loaded == "1", holds == "1"

    def end(self) -> None:
        """Close it in good order."""
        if self.process.poll() is None:
            assert self.process.stdin
            self.process.stdin.close()
            assert self.process.wait(timeout=30) == 0


@pytest.fixture
def pair(settings: Settings) -> Iterator[tuple[Child, Child]]:
    """Two processes, ready."""
    env = {**os.environ, **environment(settings), "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        Child(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(LEASE_S)],
                env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
        )
        for _ in range(2)
    ]  # fmt: skip
    for child in children:
        assert child.process.stdout
        assert child.process.stdout.readline() == "ready\n"
    yield children[0], children[1]
    for child in children:
        child.process.kill()
        child.process.wait()
        for pipe in (child.process.stdin, child.process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # it was killed with something unread
                    pipe.close()


def state(settings: Settings) -> tuple[int, int]:
    """(chunks that wait, chunks that have a vector)."""
    store = composition.look_at_store(settings)
    try:
        with store.reading() as tx:
            return health.waiting(tx), sum(count for _, _, count in chunks.counts(tx))
    finally:
        store.close()


def until_all_embedded(settings: Settings, count: int) -> float:
    """Wait for the vectors of all notes; seconds that it took."""
    began = time.monotonic()
    while state(settings) != (0, count):
        assert time.monotonic() - began < 60, state(settings)
        time.sleep(0.02)
    return time.monotonic() - began


def test_of_two_processes_one_embeds_for_both(settings: Settings, pair: tuple[Child, Child]) -> None:
    """Both save at once; in the end one has the model loaded, and every note its vector."""
    for child in pair:
        assert child.process.stdin
        child.process.stdin.write("save 20\n")
        child.process.stdin.flush()
    for child in pair:
        assert child.process.stdout
        child.process.stdout.readline()
    until_all_embedded(settings, 40)
    time.sleep(LEASE_S)  # the lease is renewed, and nobody else loads the model after its first length
    pair[0].say("save 1")
    pair[1].say("save 1")
    until_all_embedded(settings, 42)
    assert sorted([pair[0].say(), pair[1].say()]) == [(False, False), (True, True)]
    for child in pair:
        child.end()


def test_another_process_takes_over_when_the_holder_was_killed(settings: Settings, pair: tuple[Child, Child]) -> None:
    """Not before the lease ends, soon after."""
    pair[0].say("save 1")
    until_all_embedded(settings, 1)
    assert pair[0].say() == (True, True)
    pair[0].process.send_signal(signal.SIGKILL)
    pair[0].process.wait()
    assert pair[1].say("save 3") == (False, False)
    assert until_all_embedded(settings, 4) < LEASE_S + 10
    assert pair[1].say() == (True, True)
    pair[1].end()


def test_a_process_that_closes_gives_the_lease_back(settings: Settings, pair: tuple[Child, Child]) -> None:
    """The other need not wait for its end."""
    pair[0].say("save 1")
    until_all_embedded(settings, 1)
    pair[0].end()
    pair[1].say("save 1")
    until_all_embedded(settings, 2)
    assert pair[1].say() == (True, True)
    pair[1].end()


def test_a_search_loads_the_model_for_its_query_only(settings: Settings, pair: tuple[Child, Child]) -> None:
    """The lease stays where it is."""
    pair[0].say("save 1")
    until_all_embedded(settings, 1)
    assert pair[1].say("search a question about something") == (True, False)
    pair[1].say("save 1")
    until_all_embedded(settings, 2)
    assert (pair[0].say()[1], pair[1].say()[1]) == (True, False)
    for child in pair:
        child.end()


def test_a_lease_has_one_holder_until_it_is_given_back(store: Store) -> None:
    """On both clocks; who has it asks the database nothing while it is fresh."""
    one, other = Lease(store, 60.0), Lease(store, 60.0)
    assert one.hold()
    assert not other.hold()
    assert 50 < other.free_in_s <= 60
    with store.tracing() as statements:
        assert one.hold()
    assert statements == []
    other.release()
    assert not other.hold()
    one.release()
    assert other.hold()
    assert not one.hold()
    other.release()


def test_a_process_without_the_model_leaves_the_lease_to_another(store: Store, tmp_path: Path) -> None:
    """What it can't do another may."""

    class Missing(PackagedEmbedder):
        """The vocabulary is there, the model is not."""

        def model_path(self) -> Path:
            return tmp_path / "nothing"

    settings = Settings(data_dir=tmp_path)
    added = users.add(store, "ada", email="")
    poor = Engine(store=store, embedder=Missing(), settings=settings)
    poor.worker = worker = Worker(poor)
    from engram.engine import memories
    from engram.engine.context import Context
    from engram.engine.memories import Where
    from engram.model import Draft

    memories.remember(Context(engine=poor, actor_id=added.actor.id), Draft(title="A", body="text"), Where())
    assert worker.finish(20.0)
    assert not worker.has_lease
    rich = Engine(store=store, embedder=PackagedEmbedder(), settings=settings)
    other = Worker(rich)
    other.start()
    assert other.finish(20.0)
    assert other.has_lease
    with store.reading() as tx:
        assert health.waiting(tx) == 0
    worker.stop()
    other.stop()
