"""Old files open, foreign and newer ones are refused and left alone, processes that start at once agree."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import apsw
import psycopg
import pytest

from conftest import Server
from engram import app as composition
from engram.app import App
from engram.errors import Conflict, EngramError, Unavailable
from engram.settings import Settings
from engram.tools import mem, registry

FIXTURES = Path(__file__).parent / "fixtures"  # made by `python -m bench.fixture`
assert mem.mem_save  # the module registers its tools


def digest(path: Path) -> str:
    """What a file holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("database", sorted(FIXTURES.glob("schema_*.db")), ids=lambda path: path.stem)
def test_a_database_of_every_schema_version_opens(database: Path, tmp_path: Path) -> None:
    """It reads, searches by meaning and by words, restores and writes."""
    shutil.copyfile(database, tmp_path / "engram.db")
    shutil.copyfile(database.with_suffix(".key"), tmp_path / "key")
    app = App(Settings(data_dir=tmp_path, project="shop"), folder=tmp_path, has_worker=False)

    def call(tool: str, **arguments: object) -> str:
        answer = app.call(registry.TOOLS[tool], arguments)
        assert not answer.is_error, answer.text
        return answer.text

    assert "#1" in call("mem_search", query="why do logins break on Safari")
    assert "#2" in call("mem_search", query="缓存")
    assert "History: 2 versions" in call("mem_get_observation", id=1, history=True)
    assert "#5" in call("mem_save", title="New", content="written by this version")
    assert "Observations: 3 (archived: 1)" in call("mem_stats")
    app.close()


def test_there_is_a_fixture_of_the_present_schema(tmp_path: Path) -> None:
    """Whoever adds a migration adds the file that it will have to open for ever."""
    store = composition.open_store(Settings(data_dir=tmp_path))
    assert (FIXTURES / f"schema_{store.version():04d}.db").exists()
    store.close()


def test_a_newer_database_is_refused_and_not_written(tmp_path: Path) -> None:
    """Before anything is written; the error names the file."""
    composition.open_store(Settings(data_dir=tmp_path)).close()
    file = tmp_path / "engram.db"
    with apsw.Connection(str(file)) as connection:
        connection.execute("pragma user_version = 9999")
    before = digest(file)
    with pytest.raises(Conflict, match=r"engram\.db"):
        composition.open_store(Settings(data_dir=tmp_path))
    assert digest(file) == before


def test_a_newer_server_database_is_refused_and_not_written(server: Server, tmp_path: Path) -> None:
    """On PostgreSQL too."""
    settings = Settings(data_dir=tmp_path, database_url=server.fresh())
    composition.open_store(settings).close()
    with psycopg.connect(settings.database_url, autocommit=True) as connection:
        connection.execute("insert into schema_version (number) values (9999)")
        with pytest.raises(Conflict, match="schema version 9999"):
            composition.open_store(settings)
        assert connection.execute("select count(*) from library").fetchone() == (0,)
    server.drop(settings.database_url)


@pytest.mark.parametrize("content", [b"this is no database " * 100, b"SQLite format 3\x00" + b"\xff" * 5_000])
def test_a_file_that_is_no_database_is_refused_and_not_written(tmp_path: Path, content: bytes) -> None:
    """Loudly, naming the file."""
    file = tmp_path / "engram.db"
    file.write_bytes(content)
    with pytest.raises(EngramError, match=r"engram\.db"):
        composition.open_store(Settings(data_dir=tmp_path))
    assert file.read_bytes() == content


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    """Its tables are not ours to change."""
    connection = apsw.Connection(str(tmp_path / "engram.db"))
    connection.execute("create table theirs (x); insert into theirs values (1)")
    connection.close()
    with pytest.raises(Conflict, match=r"engram\.db"):
        composition.open_store(Settings(data_dir=tmp_path))


@pytest.mark.parametrize("change", ["missing", "another", "damaged"])
def test_a_database_without_its_key_is_refused(tmp_path: Path, change: str) -> None:
    """Rows are sealed with it, so another key would make them all look forged."""
    composition.open_store(Settings(data_dir=tmp_path)).close()
    key = tmp_path / "key"
    if os.name != "nt":
        assert key.stat().st_mode & 0o777 == 0o600
    if change == "missing":
        key.unlink()
    else:
        key.write_bytes(os.urandom(32) if change == "another" else b"short")
    with pytest.raises(Conflict, match="key"):
        composition.open_store(Settings(data_dir=tmp_path))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="drops from root to another user")
def test_a_folder_without_rights_is_a_clear_error(tmp_path: Path) -> None:
    """In a child that runs as nobody; nothing is left behind."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    code = (
        "import os, sys; from pathlib import Path; from engram import app; from engram.settings import Settings\n"
        "from engram.errors import Unavailable\n"
        "import engram.store.sqlite, engram.embed\n"
        "os.setgid(65534); os.setuid(65534)\n"
        f"try: app.open_store(Settings(data_dir=Path({str(closed / 'data')!r})))\n"
        "except Unavailable as e: print(e.line())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "unavailable: " in done.stdout
    assert "closed" in done.stdout
    assert list(closed.iterdir()) == []


def test_a_replaced_database_is_noticed(tmp_path: Path) -> None:
    """A moved file is an error, another in its place is opened: no save goes into a file that nobody sees."""
    data = tmp_path / "data"
    app = App(Settings(data_dir=data, project="shop"), folder=tmp_path, has_worker=False)
    save, read = registry.TOOLS["mem_save"], registry.TOOLS["mem_get_observation"]
    assert not app.call(save, {"title": "a", "content": "first"}).is_error
    app.store.drop()  # all of it is in the one file now
    shutil.copytree(data, tmp_path / "copy")
    assert not app.call(read, {"id": 1}).is_error  # connections to the first file are open again
    data.rename(tmp_path / "moved")
    assert app.call(save, {"title": "b", "content": "second"}).code == "unavailable"
    assert app.call(read, {"id": 1}).code == "unavailable"
    (tmp_path / "copy").rename(data)
    assert "#2 [new]" in app.call(save, {"title": "c", "content": "third"}).text
    app.close()
    again = App(Settings(data_dir=data, project="shop"), folder=tmp_path, has_worker=False)
    assert "third" in again.call(read, {"id": 2}).text
    again.close()


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_processes_that_start_at_once_on_no_database_all_work(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """One schema, one key, one local user."""
    settings = Settings(data_dir=tmp_path / "data")
    if backend == "postgres":
        server: Server = request.getfixturevalue("server")
        settings = replace(settings, database_url=server.fresh())
    env = {**os.environ, "ENGRAM_DATA_DIR": str(settings.data_dir), "ENGRAM_DATABASE_URL": settings.database_url}

    def start(_: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "engram", "migrate"]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(start, range(8)))
    assert [(process.returncode, process.stderr) for process in done] == [(0, "")] * 8
    store = composition.open_store(settings)
    with store.reading() as tx:
        assert tx.value("select count(*) from actor") == (1 if backend == "sqlite" else 0)
        assert tx.value("select count(*) from setting where name = 'key_id'") == 1
    store.close()
    assert sorted(path.name for path in settings.data_dir.iterdir() if "tmp" in path.name) == []


def test_unavailable_is_what_a_missing_server_is(tmp_path: Path) -> None:
    """With the address but without the password."""
    url = "postgresql://ada:hunter2@127.0.0.1:1/none?connect_timeout=1"
    with pytest.raises(Unavailable) as refused:
        composition.open_store(Settings(data_dir=tmp_path, database_url=url))
    assert "hunter2" not in refused.value.line()
