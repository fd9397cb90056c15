"""A crash between any two statements leaves the state before or after."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import Server
from engram import app as composition
from engram.app import App
from engram.engine import users
from engram.settings import Settings
from engram.store.base import Store
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools

TABLES = ("library", "namespace", "session", "memory", "version", "usage", "event", "chunk", "pending", "chunk_vector")
WRITES: dict[str, dict[str, Any]] = {
    "mem_save": {"title": "Fresh", "content": "new text", "project": "new"},
    "mem_session_summary": {"content": "## Goal\nx"},
    "mem_session_start": {"id": "s9", "project": "shop"},
    "mem_session_end": {"id": "s1", "summary": "over"},
    "mem_capture_passive": {"content": "## Learnings\n- the first thing learned here\n- the second thing learned here"},
    "mem_save_prompt": {"content": "ask"},
    "mem_update": {"id": 1, "content": "corrected", "project": "moved"},
    "mem_delete": {"id": 1, "hard_delete": True},
}


class Crash(Exception):
    """The process ends here."""


def state(store: Store) -> dict[str, list[Any]]:
    """Every row of every table, but ids that a retry makes anew."""
    with store.reading() as tx:
        found = {table: sorted(map(repr, tx.all(f"select * from {table}"))) for table in TABLES}
        return {**found, "words": tx.all("select count(*) from words")}


def seed(app: App) -> None:
    """Something to change."""
    for tool, arguments in (
        ("mem_session_start", {"id": "s1", "project": "shop"}),
        ("mem_save", {"title": "One", "content": "first", "topic_key": "k"}),
    ):
        assert not app.call(registry.TOOLS[tool], arguments).is_error


@pytest.mark.parametrize("tool", sorted(WRITES))
@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_a_failure_at_any_statement_leaves_the_state_before(
    tool: str, backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each statement in turn is the last; the retry then does the whole."""
    app = opened(backend, tmp_path, request)
    seed(app)
    before = state(app.store)
    reached = crashes = 0
    while True:
        reached += 1
        app.store.trace = failing(reached)
        try:
            answer = app.call(registry.TOOLS[tool], WRITES[tool])
        except Crash:  # while the token was looked at, before any tool
            continue
        finally:
            app.store.trace = None
        if not answer.is_error:
            break
        crashes += 1
        assert answer.code == "internal"
        assert state(app.store) == before, f"statement {reached} of {tool}"
    assert crashes >= 5
    assert state(app.store) != before
    app.close()


def failing(at: int) -> Callable[[str], None]:
    """A tracer that raises at the n-th statement."""
    seen = [0]

    def trace(_: str) -> None:
        seen[0] += 1
        if seen[0] == at:
            raise Crash

    return trace


def opened(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> App:
    """An application of its own database."""
    settings = Settings(data_dir=tmp_path / "data", project="shop")
    if backend == "postgres":
        server: Server = request.getfixturevalue("server")
        settings = replace(settings, database_url=server.fresh())
        store = composition.open_store(settings)
        settings = replace(settings, token=users.add(store, "Ada", email="").token)
        store.close()
    return App(settings, folder=tmp_path, has_worker=False)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_killed_process_leaves_the_state_before(tmp_path: Path) -> None:
    """The same with processes that really end, at every third statement of a save and of an update."""
    for tool in ("mem_save", "mem_update"):
        folder = tmp_path / tool
        app = App(Settings(data_dir=folder, project="shop"), folder=tmp_path, has_worker=False)
        seed(app)
        before = state(app.store)
        app.close()
        for at in range(1, 60, 3):
            child = os.fork()
            if child == 0:
                victim = App(Settings(data_dir=folder, project="shop"), folder=tmp_path, has_worker=False)
                victim.store.trace = exiting(at)
                victim.call(registry.TOOLS[tool], WRITES[tool])
                os._exit(0)
            _, status = os.waitpid(child, 0)
            store = composition.open_store(Settings(data_dir=folder))
            after = state(store)
            store.close()
            if os.waitstatus_to_exitcode(status) == 0:
                assert after != before
                break
            assert after == before, f"statement {at} of {tool}"
        else:
            pytest.fail(f"{tool} never ran to its end")


def exiting(at: int) -> Callable[[str], None]:
    """A tracer that ends the process at the n-th statement."""
    seen = [0]

    def trace(_: str) -> None:
        seen[0] += 1
        if seen[0] == at:
            os._exit(9)

    return trace
