"""The composition root: idle and back, on both backends; who may open what."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import Server
from engram import app as composition
from engram.app import App
from engram.engine import users
from engram.settings import Settings
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools


@pytest.fixture
def shared(server: Server, tmp_path: Path) -> Settings:
    """A PostgreSQL with one user, whose token is in the settings."""
    settings = Settings(data_dir=tmp_path / "shared", database_url=server.fresh(), project="shop")
    store = composition.open_store(settings)
    token = users.add(store, "Ada", email="").token
    store.close()
    return replace(settings, token=token)


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_an_idle_process_lets_go_and_takes_up_again(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Model, vectors and connections are dropped; the next call finds everything as it was."""
    settings = Settings(data_dir=tmp_path / "data", project="shop")
    if backend == "postgres":
        settings = request.getfixturevalue("shared")
    app = App(settings, folder=tmp_path)
    save, search = registry.TOOLS["mem_save"], registry.TOOLS["mem_search"]
    app.call(save, {"title": "Cookies", "content": "Safari drops SameSite=None cookies"})
    assert "#1" in app.call(search, {"query": "why do logins break on Safari"}).text
    app.idle()
    assert not app.embedder.is_loaded
    assert "#1" in app.call(search, {"query": "why do logins break on Safari"}).text
    app.call(save, {"title": "Pool", "content": "six connections"})
    assert app.worker.finish(20.0)
    app.close()


def test_a_revoked_token_is_refused_from_the_next_call_on(shared: Settings, tmp_path: Path) -> None:
    """In every process."""
    app = App(shared, folder=tmp_path, has_worker=False)
    stats = registry.TOOLS["mem_stats"]
    assert not app.call(stats, {}).is_error
    with app.store.writing() as tx:
        tx.run("update token set revoked_at = 1")
    assert app.call(stats, {}).code == "access_denied"
    app.close()


@pytest.mark.parametrize("fault", ["no token", "wrong token", "no key", "another key"])
def test_a_server_process_without_token_or_key_ends_at_once(shared: Settings, tmp_path: Path, fault: str) -> None:
    """Status 2, the reason on stderr, nothing on the wire."""
    key = tmp_path / "other" / "key"
    key.parent.mkdir()
    if fault == "another key":
        key.write_bytes(os.urandom(32))
    env = {
        **os.environ,
        "ENGRAM_DATA_DIR": str(shared.data_dir),
        "ENGRAM_DATABASE_URL": shared.database_url,
        "ENGRAM_TOKEN": {"no token": "", "wrong token": "eng_x"}.get(fault, shared.token),
        "ENGRAM_KEY_FILE": str(key if "key" in fault else shared.data_dir / "key"),
    }
    done = subprocess.run([sys.executable, "-m", "engram", "mcp"], input=b"", capture_output=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert (b"key" if "key" in fault else b"ENGRAM_TOKEN") in done.stderr


def test_a_working_folder_that_is_gone_is_no_reason_to_fail(tmp_path: Path) -> None:
    """The project is `default` then."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})\n"
        "from engram.surfaces import cli; print(cli.run(['save', 'T', 'text']))"
    )
    env = {**os.environ, "ENGRAM_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert "#1 [new]" in done.stdout
