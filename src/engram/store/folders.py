"""Before a database file is opened: whether what lies at its place is one, and may be one."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from engram.errors import Conflict, Unavailable
from engram.store import mounts

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = b"SQLite format 3\0"
LOG_SUFFIXES = ("-wal", "-journal")
HEADER_BYTES = 100


def require_usable(path: Path) -> None:
    """Refuse a place where a database file can't be, before anything is written.

    Raises:
        Conflict: something else than a database lies there, or the log of a database that is gone.
        Unavailable: the folder can't be used, or is on a network file system.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        _require_free(path)
        return
    except (OSError, RuntimeError) as error:  # a loop of links, a folder that may not be entered
        raise unwritable(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise Conflict(
            f"{path} is no file", hint="Move it away, or set ENGRAM_DATA_DIR to another folder; nothing was written"
        )
    _require_local(path)
    if found.st_size:
        _require_header(path)


def _require_free(path: Path) -> None:
    if path.is_symlink():
        raise Conflict(
            f"{path} is a link to {path.readlink()}, which is not there",
            hint="Mount or put back what it points to, or remove the link; nothing was written",
        )
    for suffix in LOG_SUFFIXES:
        log = path.with_name(path.name + suffix)
        if log.exists() and log.stat().st_size:
            raise Conflict(
                f"{log} belongs to a database that is not beside it",
                hint=f"Put {path.name} back beside it, or move the log away; nothing was written",
            )
    _require_local(path)


def _require_local(path: Path) -> None:
    kind = mounts.network_type(path)
    if kind:
        raise Unavailable(
            f"{path} is on a network file system ({kind}), where SQLite's locks do not hold",
            hint="Set ENGRAM_DATA_DIR to a folder on a local disk, or ENGRAM_DATABASE_URL to share by PostgreSQL",
            retry_after=3600.0,
        )


def _require_header(path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise unwritable(path, error) from error
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        raise Conflict(
            f"{path} is not a database file",
            hint="Move it away or set ENGRAM_DATA_DIR to another folder; nothing was written over it",
        )
    page = int.from_bytes(header[16:18], "big")
    promised = int.from_bytes(header[28:32], "big") * (65_536 if page == 1 else page)
    # While a log is there, the file may be on its way to what the header says.
    if size < promised and not path.with_name(path.name + "-wal").exists():
        raise Unavailable(
            f"{path} is damaged: it has {size:,} bytes of {promised:,}",
            hint="Copy it again whole, or take the newest backup; nothing was written over it",
            retry_after=60.0,
        )


def unwritable(path: Path, error: Exception) -> Unavailable:
    """The error of a file or folder that the system refuses."""
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return Unavailable(
        f"{path} can't be read or written: {reason}",
        hint="Check free space and permissions, or set ENGRAM_DATA_DIR to another folder; nothing was saved",
        retry_after=10.0,
    )
