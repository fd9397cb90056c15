"""What ``engram doctor`` asks the database, and the derived rows that it can mend."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engram.model import Memory
from engram.store import libraries
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.model import Library
    from engram.store.base import Store, Tx

SHOWN = "(m.archived_at is null or m.archived_why = 'superseded')"
PAGE = 500
WAL_LOCKS_AT = 120  # SQLite's locks in the shared memory of a write-ahead log begin at this byte
PROBLEMS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that uses the database."""

    pid: int
    name: str
    is_writing: bool
    seconds: float | None = None  # how long its transaction has been open


def integrity(tx: Tx) -> str:
    """``ok``, or what a quick check of the file found; PostgreSQL checks its pages itself."""
    if tx.store.dialect != "sqlite":
        return "ok"
    return "; ".join(str(row[0]) for row in tx.all(f"pragma quick_check({PROBLEMS_MAX})"))


def broken_references(tx: Tx) -> list[str]:
    """Tables with rows whose parent is gone; PostgreSQL lets none be."""
    if tx.store.dialect != "sqlite":
        return []
    return sorted({str(row[0]) for row in tx.all("pragma foreign_key_check")})


def _words_key(tx: Tx) -> str:
    return "rowid" if tx.store.dialect == "sqlite" else "chunk_id"


def missing_words(tx: Tx) -> int:
    """Chunks of memories in use that the word index does not hold."""
    count: int = tx.value(
        f"""
        select count(*) from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where {SHOWN} and c.id not in (select {_words_key(tx)} from words)
        """
    )
    return count


def unindexed(tx: Tx) -> list[tuple[str, str]]:
    """(library, id) of memories in use that have no chunk, or one without words."""
    found = tx.all(
        f"""
        select m.library_id, m.id from memory m
        where {SHOWN} and (
            not exists (select 1 from chunk c where c.library_id = m.library_id and c.memory_id = m.id)
            or exists (
                select 1 from chunk c where c.library_id = m.library_id and c.memory_id = m.id
                    and c.id not in (select {_words_key(tx)} from words)
            )
        ) order by m.library_id, m.id
        """
    )
    return [(row[0], row[1]) for row in found]


def orphans(tx: Tx) -> list[int]:
    """Entries of the word index whose chunk is gone."""
    key = _words_key(tx)
    return [row[0] for row in tx.all(f"select {key} from words where {key} not in (select id from chunk)")]


def without_vector(tx: Tx, model: str) -> int:
    """Chunks of memories in use that have no vector of a model and do not wait for one."""
    count: int = tx.value(
        f"""
        select count(*) from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where {SHOWN} and c.id not in (select chunk_id from pending) and c.id not in (
            select v.chunk_id from chunk_vector v join model o on o.id = v.model where o.name = :model
        )
        """,
        model=model,
    )
    return count


def waiting(tx: Tx) -> int:
    """Chunks that wait for a vector."""
    count: int = tx.value("select count(*) from pending")
    return count


def every_memory(tx: Tx) -> Iterator[Memory]:
    """Every memory, a page at a time."""
    after = ("", "")
    while True:
        found = tx.all(
            f"""
            select {rows.MEMORY_COLUMNS} from memory m where (m.library_id, m.id) > (:library_id, :id)
            order by m.library_id, m.id limit {PAGE}
            """,
            library_id=after[0],
            id=after[1],
        )
        if not found:
            return
        for row in found:
            yield rows.memory_from(row)
        after = (found[-1][0], found[-1][1])


def every_library(tx: Tx) -> list[Library]:
    """Every library."""
    found = tx.all(f"select {libraries.LIBRARY_COLUMNS} from library order by id")
    return [libraries.library_from(row) for row in found]


def log_bytes(path: Path) -> int:
    """Size of a SQLite file's write-ahead log."""
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def holders(store: Store) -> list[Holder] | None:
    """The processes that use the database now; None where this system does not tell."""
    if store.dialect == "sqlite":
        return _of_file(Path(store.describe()))
    with store.reading() as tx:
        found = tx.all(
            """
            select pid, coalesce(nullif(application_name, ''), usename::text),
                state is distinct from 'idle' and backend_xid is not null,
                extract(epoch from clock_timestamp() - xact_start)::double precision
            from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
            order by pid
            """
        )
    return [Holder(pid=row[0], name=row[1], is_writing=bool(row[2]), seconds=row[3]) for row in found]


def _of_file(path: Path, table: Path = Path("/proc/locks")) -> list[Holder] | None:
    """By the kernel's table of locks: whoever has a SQLite database open locks its shared memory."""
    try:
        text = table.read_text(encoding="ascii")
    except OSError:
        return None
    memory = path.with_name(path.name + "-shm")
    if not memory.exists():
        return []
    inode = memory.stat().st_ino
    return [
        Holder(pid=pid, name=_program(pid), is_writing=is_writing)
        for pid, is_writing in sorted(locks_on(inode, text).items())
    ]


def locks_on(inode: int, table: str) -> dict[int, bool]:
    """Process -> whether it holds the write lock of a log, from the text of ``/proc/locks`` (see proc(5))."""
    found: dict[int, bool] = {}
    for line in table.splitlines():
        words = line.split()
        if "->" in words or len(words) < 8 or words[5].rpartition(":")[2] != str(inode):
            continue
        pid, start, end = int(words[4]), int(words[6]), words[7]
        is_writing = words[3] == "WRITE" and start <= WAL_LOCKS_AT and (end == "EOF" or int(end) >= WAL_LOCKS_AT)
        found[pid] = found.get(pid, False) or is_writing
    return found


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "?"
