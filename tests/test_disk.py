"""A disk that is full or may only be read, and a clock that goes back: nothing is lost, and the error names the file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import Clock
from engram import app as composition
from engram.engine import lifecycle, memories
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.model import Draft
from engram.settings import Settings
from engram.store import health

DISK_BYTES = 4 * 1024 * 1024
CAN_MOUNT = sys.platform == "linux" and os.geteuid() == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def engram(data: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "engram", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=data.parent,
        env={**os.environ, "ENGRAM_DATA_DIR": str(data), "ENGRAM_PROJECT": "shop"},
    )


def fill(filler: Path) -> None:
    """Leave no page free on a disk."""
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        for _ in range(2 * DISK_BYTES // 4096):
            file.write(b"x" * 4096)
    assert os.statvfs(filler.parent).f_bavail == 0


def assert_clear(done: subprocess.CompletedProcess[bytes], file: Path) -> None:
    """Exit status 6, one line that names the file, no stack trace, nothing on standard output."""
    line = done.stderr.decode()
    assert (done.returncode, done.stdout) == (6, b""), line
    assert line.startswith("engram: unavailable: ")
    assert str(file) in line
    assert "ENGRAM_DATA_DIR" in line
    assert "Traceback" not in line


@pytest.mark.skipif(not CAN_MOUNT, reason="mounts a small disk")
def test_a_full_disk_is_a_clear_error_and_nothing_acknowledged_is_lost(disk: Path) -> None:
    """In the middle of a life: what was saved is there, the failed save is not, and with space all goes on."""
    data = disk / "data"
    for i in range(3):
        assert engram(data, "save", f"Note {i}", f"the text of note {i}").returncode == 0
    filler = disk / "filler"
    fill(filler)
    failed = engram(data, "save", "Large", "-", stdin=b"many words " * 60_000)
    assert_clear(failed, data / "engram.db")
    filler.unlink()
    assert engram(data, "save", "Note 3", "the text of note 3").returncode == 0
    for i in range(4):
        assert f"the text of note {i}" in engram(data, "get", str(i + 1)).stdout.decode()
    store = composition.open_store(Settings(data_dir=data))
    with store.reading() as tx:
        assert health.integrity(tx) == "ok"
        assert tx.value("select count(*) from memory") == 4
    store.close()


@pytest.mark.skipif(not CAN_MOUNT, reason="mounts a small disk")
def test_a_full_disk_holds_no_half_made_database(disk: Path) -> None:
    """The first start fails clearly, and works once there is space."""
    data = disk / "data"
    filler = disk / "filler"
    fill(filler)
    done = engram(data, "save", "T", "text")
    assert done.returncode == 6, done.stderr
    assert str(data) in done.stderr.decode()
    filler.unlink()
    assert engram(data, "save", "T", "text").returncode == 0


@pytest.mark.skipif(not CAN_MOUNT, reason="mounts a small disk")
def test_a_read_only_disk_is_a_clear_error_and_nothing_is_written(disk: Path) -> None:
    """Every byte is as it was; once it may be written, all goes on."""
    data = disk / "data"
    assert engram(data, "save", "T", "the text of it").returncode == 0
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert_clear(engram(data, "save", "U", "another text"), data / "engram.db")
    assert {path.name: path.read_bytes() for path in data.iterdir()} == before
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert "the text of it" in engram(data, "get", "1").stdout.decode()
    assert engram(data, "save", "U", "another text").returncode == 0


@pytest.mark.skipif(not CAN_MOUNT, reason="mounts a small disk")
def test_a_read_only_disk_without_a_database_is_a_clear_error(disk: Path) -> None:
    """There is nothing to open and nothing can be made."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = engram(disk / "data", "save", "T", "text")
    assert done.returncode == 6, done.stderr
    assert str(disk / "data") in done.stderr.decode()


def test_a_clock_that_goes_back_reorders_nothing(ctx: Context, clock: Clock) -> None:
    """Versions and numbers follow each other; a change never looks older than what it changed."""
    memories.remember(ctx, Draft(title="T", body="first", topic_key="k"), Where())
    clock.forward(hours=-2)
    second = memories.remember(ctx, Draft(title="T", body="second", topic_key="k"), Where()).memory
    clock.forward(hours=-2)
    third = memories.update(ctx, "1", Change(body="third")).memory
    later = memories.remember(ctx, Draft(title="U", body="of an earlier hour"), Where()).memory
    assert third.updated_at >= second.updated_at >= third.created_at
    assert later.number == 2
    assert later.id > third.id  # UUIDv7 of one process still rise
    found, count = lifecycle.history(ctx, "1", limit=10)
    assert (count, [version.body for version in found]) == (3, ["third", "second", "first"])
    assert [version.n for version in found] == [3, 2, 1]
    assert [version.parent_sha for version in found] == [found[1].commit_sha, found[2].commit_sha, None]
