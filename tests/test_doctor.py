"""``engram doctor`` sees what is wrong, changes nothing, and with --fix mends what can be mended; on both databases."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from engram import app as composition
from engram.app import App
from engram.engine import doctor, memories, models
from engram.engine.context import Context
from engram.engine.doctor import FAIL, OK, WARN
from engram.engine.memories import Where
from engram.engine.worker import embed_waiting
from engram.errors import Conflict, EngramError, Unavailable
from engram.model import Draft
from engram.settings import Settings
from engram.store import folders, health, mounts
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools


def fill(ctx: Context, count: int = 4) -> None:
    """Some memories with their vectors."""
    for i in range(count):
        memories.remember(ctx, Draft(title=f"Note {i}", body=f"the cache number {i} is warm"), Where())
    while embed_waiting(ctx.engine):
        pass


def states(ctx: Context) -> dict[str, str]:
    """Check -> state, of the open database."""
    found = doctor.check_database(ctx.engine.store, ctx.engine.settings, lambda _done, _total: None)
    return {check.name: check.state for check in found}


def mend(ctx: Context) -> list[str]:
    """What --fix does to the open database."""
    return doctor.mend_index(ctx.engine.store, ctx.engine.embedder, lambda _done, _total: None)


def run(ctx: Context, sql: str) -> None:
    """Write past Engram, as somebody with another program would."""
    with ctx.engine.store.writing() as tx:
        tx.run(sql)


def test_a_healthy_database_is_all_well(ctx: Context) -> None:
    """And there is nothing to mend."""
    fill(ctx)
    assert set(states(ctx).values()) == {OK}
    assert mend(ctx) == []


@pytest.mark.parametrize(
    ("harm", "check"),
    [
        ("update memory set title = 'forged' where number = 2", "seals"),
        ("delete from memory where number = 2", "totals"),
        ("update library set live = live + 1", "totals"),
    ],
)
def test_rows_that_somebody_else_wrote_are_seen(ctx: Context, harm: str, check: str) -> None:
    """By seals and totals; nothing can mend that, so nothing claims to."""
    fill(ctx)
    run(ctx, harm)
    assert states(ctx)[check] == FAIL
    mend(ctx)
    assert states(ctx)[check] == FAIL


def test_lost_index_entries_are_seen_and_made_anew(ctx: Context) -> None:
    """The memory is found again, and one without a memory is gone."""
    fill(ctx)
    with ctx.engine.store.writing() as tx:
        one, other, gone = (row[0] for row in tx.all("select id from chunk order by id limit 3"))
        tx.drop_words([one])
        tx.drop_vectors([other])
        tx.run("delete from pending")
        tx.run("delete from chunk where id = :gone", gone=gone)  # its words stay behind
    seen = states(ctx)
    has_orphan = ctx.engine.store.dialect == "sqlite"  # PostgreSQL lets no row stay without its parent
    assert (seen["words"], seen["orphans"]) == (FAIL, WARN if has_orphan else OK)
    done = mend(ctx)
    assert "2 memories were indexed anew" in done
    assert ("1 index entries without a memory were dropped" in done) is has_orphan
    while embed_waiting(ctx.engine):
        pass
    assert set(states(ctx).values()) == {OK}
    with ctx.engine.store.reading() as tx:
        assert health.without_vector(tx, models.current(tx).model_id) == 0
    for number in range(1, 5):
        assert (
            f"#{number} "
            in registry.call(registry.TOOLS["mem_search"], ctx, {"query": f"cache number {number - 1}"}).text
        )


def test_who_uses_the_database_is_named(settings: Settings, tmp_path: Path) -> None:
    """A process with an open transaction, by its number, and whether it writes."""
    app = App(settings, folder=tmp_path, has_worker=False)
    code = (
        "import os, sys, time; from engram import app, settings\n"
        "store = app.open_store(settings.read(os.environ))\n"
        "with store.writing() as tx:\n"
        "    tx.run(\"update setting set value = value where name = 'key_id'\")\n"
        "    tx.value('select 1'); print('open', flush=True); sys.stdin.read()\n"
    )
    env = {**os.environ, "ENGRAM_DATA_DIR": str(settings.data_dir), "ENGRAM_DATABASE_URL": settings.database_url}
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert child.stdout is not None
    assert child.stdout.readline() == b"open\n"
    found = health.holders(app.store)
    child.communicate(b"")
    app.close()
    if found is None:
        pytest.skip("this system does not tell who holds a lock")
    writing = [one for one in found if one.is_writing]
    assert len(writing) == 1
    if not settings.database_url:
        assert writing[0].pid == child.pid


def test_the_table_of_locks_is_read_as_the_kernel_writes_it() -> None:
    """A waiting process is no holder; the write lock is the byte 120."""
    table = (
        "1: POSIX  ADVISORY  READ  4242 fe:00:77 123 123\n"
        "2: POSIX  ADVISORY  WRITE 4243 fe:00:77 120 120\n"
        "2: -> POSIX  ADVISORY  WRITE 4244 fe:00:77 120 120\n"
        "3: FLOCK  ADVISORY  WRITE 4245 fe:00:78 0 EOF\n"
        "4: POSIX  ADVISORY  WRITE 4242 fe:00:77 124 124\n"
    )
    assert health.locks_on(77, table) == {4242: False, 4243: True}


def engram(data: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "engram", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=data.parent,
        env={**os.environ, "ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop", **env},
    )


def checks(data: Path, *arguments: str, **env: str) -> dict[str, dict[str, Any]]:
    """Check -> what doctor says of it."""
    found = json.loads(engram(data, "doctor", "--json", *arguments, **env).stdout)
    return {check["name"]: check for check in found["checks"]}


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    """File -> its bytes and mode."""
    return {path.name: (path.read_bytes(), path.stat().st_mode) for path in folder.iterdir()}


def test_doctor_changes_no_byte(tmp_path: Path) -> None:
    """Of a closed database, of one whose log a killed process left, of a folder with too many rights, of none at all."""
    data = tmp_path / "data"
    assert engram(data, "doctor").returncode == 0
    assert not data.exists()
    assert engram(data, "save", "T", "the text").returncode == 0
    (data / "engram.db").chmod(0o644)
    before = content(data)
    assert engram(data, "doctor").returncode == 0
    assert content(data) == before
    code = (
        "import os, signal; from pathlib import Path; from engram.app import App; from engram.settings import Settings\n"
        "from engram.tools import mem, registry\n"
        f"app = App(Settings(data_dir=Path({str(data)!r}), project='shop'), has_worker=False)\n"
        "assert not app.call(registry.TOOLS['mem_save'], {'title': 'U', 'content': 'in the log'}).is_error\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    before = content(data)
    assert len(before["engram.db-wal"][0]) > 0
    assert engram(data, "doctor").returncode == 0
    after = content(data)
    assert {name: after[name] for name in ("engram.db", "engram.db-wal", "key")} == {
        name: before[name] for name in ("engram.db", "engram.db-wal", "key")
    }
    assert "in the log" in engram(data, "get", "2").stdout


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_doctor_mends_modes_when_told_to(tmp_path: Path) -> None:
    """Folder, database and key are their owner's alone again."""
    data = tmp_path / "data"
    engram(data, "save", "T", "text")
    data.chmod(0o755)
    (data / "key").chmod(0o644)
    seen = checks(data)
    assert (seen["key"]["state"], seen["folder"]["state"]) == (FAIL, WARN)
    assert engram(data, "doctor").returncode == 1
    fixed = engram(data, "doctor", "--fix")
    assert (fixed.returncode, fixed.stdout.count("mended ")) == (0, 2)
    assert (data.stat().st_mode & 0o777, (data / "key").stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_name_that_nothing_reads_is_told_with_the_nearest(tmp_path: Path) -> None:
    """A typing error in a setting is otherwise without any effect."""
    seen = checks(tmp_path / "data", ENGRAM_DATABASE_UR="x")["settings"]
    assert (seen["state"], seen["hint"]) == (WARN, "Did you mean ENGRAM_DATABASE_URL?")


def damage(file: Path) -> None:
    """Overwrite a page in the middle of the memories' table."""
    connection = apsw.Connection(str(file))
    (page,) = connection.execute("select rootpage from sqlite_schema where name = 'memory'").fetchone() or (0,)
    (size,) = connection.execute("pragma page_size").fetchone() or (0,)
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    with file.open("r+b") as opened:
        opened.seek((page - 1) * size)
        opened.write(os.urandom(size))


def test_a_damaged_page_is_said_loudly_and_nothing_is_written_over(tmp_path: Path) -> None:
    """By doctor, by whoever reads it, and, once the daily look has met it, by every start."""
    data = tmp_path / "data"
    engram(data, "save", "T", "text")
    file = data / "engram.db"
    whole = file.read_bytes()
    damage(file)
    broken = file.read_bytes()
    assert checks(data)["integrity" if "integrity" in checks(data) else "database"]["state"] == FAIL
    assert engram(data, "doctor").returncode == 1
    read = engram(data, "get", "1")
    assert (read.returncode, "damaged" in read.stderr, "engram.db" in read.stderr) == (6, True, True)
    assert file.read_bytes() == broken
    store = composition.open_store(Settings(data_dir=data))
    with store.writing() as tx:
        tx.run("delete from setting where name = 'checked_at'")
    doctor.look_daily(store)
    store.close()
    with pytest.raises(Unavailable, match=r"engram\.db is damaged"):
        composition.open_store(Settings(data_dir=data))
    file.write_bytes(whole)  # the backup came back
    assert engram(data, "get", "1").returncode == 0


def test_the_whole_file_is_read_once_a_day(ctx: Context, clock: Any) -> None:
    """In the background; two processes do not both do it. A database found well is used on."""
    with ctx.engine.store.tracing() as first:
        doctor.look_daily(ctx.engine.store)
    with ctx.engine.store.tracing() as second:
        doctor.look_daily(ctx.engine.store)
    clock.forward(days=1)
    with ctx.engine.store.tracing() as third:
        doctor.look_daily(ctx.engine.store)
    is_read = [any("quick_check" in sql for sql in each) for each in (first, second, third)]
    assert is_read == ([True, False, True] if ctx.engine.store.dialect == "sqlite" else [False] * 3)
    doctor.require_whole(ctx.engine.store)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _dangling(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("gone.db"))


def _lone_log(file: Path) -> None:
    file.unlink()
    file.with_name("engram.db-wal").write_bytes(b"x" * 100)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
@pytest.mark.parametrize("harm", [_cut, _folder, _pipe, _loop, _dangling, _lone_log])
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """The error names the file, and the folder is as it was."""
    data = tmp_path / "data"
    engram(data, "save", "T", "text")
    harm(data / "engram.db")
    before = sorted((path.name, path.is_symlink(), path.is_file() and path.read_bytes()) for path in data.iterdir())
    done = engram(data, "save", "U", "more")
    assert done.returncode in (5, 6), done.stderr
    assert "engram.db" in done.stderr
    assert "Traceback" not in done.stderr
    after = sorted((path.name, path.is_symlink(), path.is_file() and path.read_bytes()) for path in data.iterdir())
    assert after == before


def test_a_network_file_system_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the type in the mount table, with a hint at the setting; doctor says the same."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {tmp_path / 'net'} rw - nfs4 filer:/x rw\n")
    monkeypatch.setattr(mounts, "TABLE", table)
    (tmp_path / "net").mkdir()
    with pytest.raises(Unavailable, match="nfs4") as refused:
        composition.open_store(Settings(data_dir=tmp_path / "net" / "data"))
    assert "ENGRAM_DATA_DIR" in (refused.value.hint or "")
    assert not (tmp_path / "net" / "data").exists()
    composition.open_store(Settings(data_dir=tmp_path / "local")).close()
    shutil.copytree(tmp_path / "local", tmp_path / "net" / "data")
    with pytest.raises(EngramError, match="nfs4"):
        composition.open_store(Settings(data_dir=tmp_path / "net" / "data"))
    found = doctor.check_files(Settings(data_dir=tmp_path / "net" / "data"), {})
    assert next(check for check in found if check.name == "file system").state == FAIL


def test_a_place_that_is_free_may_be_used(tmp_path: Path) -> None:
    """An empty folder, an empty file, a link to a folder."""
    folders.require_usable(tmp_path / "new" / "engram.db")
    (tmp_path / "engram.db").touch()
    folders.require_usable(tmp_path / "engram.db")
    with pytest.raises(Conflict):
        folders.require_usable(tmp_path)
