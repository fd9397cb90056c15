"""SQLite: one file, any number of processes (apsw, WAL, FTS5)."""

from __future__ import annotations

import json
import random
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

import apsw

from engram.errors import Conflict, EngramError, Unavailable
from engram.store import folders, fts5
from engram.store.base import (
    GONE_KEPT,
    WORDS_DF_MAX,
    Compacted,
    Facets,
    Filter,
    IndexCopy,
    Row,
    Store,
    Tell,
    Tx,
    busy,
    expand,
    now_ms,
)

if TYPE_CHECKING:
    import numpy as np

    from engram.model import QueryTerm
    from engram.store.vectors import MatrixCache

BUSY_S_MAX = 10.0
READERS_MAX = 4
LISTED_MAX = 16  # a longer list goes as one JSON text, so that SQLite meets one statement and not one for each length
_RETRIED_S = 0.05


class SqliteStore(Store):
    """A database file. Readers have connections of their own; the one writer is taken in turn."""

    dialect: LiteralString = "sqlite"

    def __init__(self, path: Path, *, clock: Callable[[], int] = now_ms, is_only_read: bool = False) -> None:
        """A store at a path.

        Args:
            path: The file.
            clock: Milliseconds UTC.
            is_only_read: Change no byte of the file, not even by moving its log into it.
        """
        super().__init__(clock=clock)
        self.path = path
        self._is_only_read = is_only_read
        self._inode: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._readers: list[apsw.Connection] = []
        self._reader_slots = threading.BoundedSemaphore(READERS_MAX)
        self._writer: apsw.Connection | None = None
        self._writing = threading.Lock()
        self._matrices: MatrixCache | None = None

    @property
    def matrices(self) -> MatrixCache:
        """The vectors in memory; numpy is loaded when they are first asked for."""
        if self._matrices is None:
            from engram.store.vectors import MatrixCache  # noqa: PLC0415 - numpy costs the start 60 ms

            self._matrices = MatrixCache()
        return self._matrices

    def describe(self) -> str:
        return str(self.path)

    @contextmanager
    def reading(self) -> Generator[Tx]:
        with self._reader_slots, _translated(self.path):
            connection = self._take_reader()
            try:
                connection.execute("begin")
                try:
                    yield SqliteTx(self, self.clock(), connection)
                finally:
                    connection.execute("rollback")
            except BaseException:
                connection.close()
                raise
            with self._lock:
                self._readers.append(connection)

    @contextmanager
    def writing(self) -> Generator[Tx]:
        if not self._writing.acquire(timeout=BUSY_S_MAX):
            raise busy(self.describe())
        try:
            with _translated(self.path):
                yield from self._write()
        finally:
            self._writing.release()

    def _write(self) -> Generator[SqliteTx]:
        connection = self._writer
        if connection is None or self._is_replaced():
            self._forget_replaced()
            connection = self._writer = self._open(readonly=False)
        connection.execute("begin immediate")
        tx = SqliteTx(self, self.clock(), connection)
        try:
            yield tx
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise
        for act in tx.after:
            act()

    def version(self) -> int:
        folders.require_usable(self.path)
        if not self.path.exists() or self.path.stat().st_size == 0:
            return 0
        with self.reading() as tx:
            found: int = tx.value("pragma user_version")
            foreign = found == 0 and tx.value("select count(*) from sqlite_schema")
        if foreign:
            raise Conflict(
                f"{self.path} is a SQLite database of another program",
                hint="Choose another folder with ENGRAM_DATA_DIR; nothing was written",
            )
        return found

    @contextmanager
    def migrating(self) -> Generator[None]:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise folders.unwritable(self.path.parent, error) from error
        yield  # begin immediate in apply() keeps others out; each step looks at the version again

    def apply(self, number: int, script: str, finish: Callable[[Tx], None] | None = None) -> None:
        with self.writing() as tx:
            if tx.value("pragma user_version") >= number:
                return  # another process was first
            tx.run(script)
            if finish:
                finish(tx)
            tx.run(f"pragma user_version = {number}")

    @contextmanager
    def alone(self) -> Generator[apsw.Connection]:
        """A connection of its own, outside any transaction; writes of this process wait."""
        if not self._writing.acquire(timeout=BUSY_S_MAX):
            raise busy(self.describe())
        try:
            with _translated(self.path):
                self._forget_replaced()
                connection = self._open(readonly=False)
                try:
                    yield connection
                finally:
                    connection.close()
        finally:
            self._writing.release()

    def compact(self, tell: Tell, *, is_rewritten: bool) -> Compacted:
        from engram.store import compact_sqlite  # noqa: PLC0415 - only where it is asked for

        return compact_sqlite.compact(self, tell, is_rewritten=is_rewritten)

    def index_copy(self) -> IndexCopy:
        copy = self._matrices
        if copy is None or not copy.is_loaded:
            return IndexCopy(path=str(self.path))
        return IndexCopy(is_loaded=True, added=copy.added, init_ms=copy.init_ms, path=str(self.path))

    def drop(self) -> None:
        with self._writing, self._lock:
            connections, self._readers = [*self._readers], []
            if self._writer is not None:
                connections.append(self._writer)
                self._writer = None
        for connection in connections:
            connection.close()
        if self._matrices is not None:
            self._matrices.drop()
        self._matrices = None

    def close(self) -> None:
        self.drop()

    def _take_reader(self) -> apsw.Connection:
        if self._is_replaced():
            self._forget_replaced()
        with self._lock:
            if self._readers:
                return self._readers.pop()
        return self._open(readonly=True)

    def _is_replaced(self) -> bool:
        """Whether the file at the path is not the one that was opened."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return self._inode is not None
        return self._inode is not None and self._inode != (found.st_dev, found.st_ino)

    def _forget_replaced(self) -> None:
        if self._inode is None or not self._is_replaced():
            return
        if not self.path.exists():
            raise Unavailable(
                f"{self.path} was moved or deleted while this process used it",
                hint="Put it back, or start again to make a new one; nothing was saved",
            )
        with self._lock:
            connections, self._readers = [*self._readers], []
            if self._writer is not None:
                connections.append(self._writer)
                self._writer = None
            self._inode = None
        for connection in connections:
            connection.close()
        if self._matrices is not None:
            self._matrices.drop()

    def _open(self, *, readonly: bool) -> apsw.Connection:
        """A connection with every pragma set; they hold for one connection only."""
        flags = apsw.SQLITE_OPEN_READWRITE | (0 if readonly else apsw.SQLITE_OPEN_CREATE)
        is_new = not self.path.exists()
        try:
            if self._is_only_read and not self.path.with_name(self.path.name + "-wal").exists():
                # Nobody has it open: without a log no lock is needed, and none is left behind.
                place = f"{self.path.absolute().as_uri()}?immutable=1"
                return apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
            connection = apsw.Connection(str(self.path), flags=flags)
        except apsw.CantOpenError as error:
            raise folders.unwritable(self.path, error) from error
        connection.set_busy_handler(_Patience())
        if self._is_only_read:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        if is_new and not readonly:
            self.path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        try:
            _switch_to_wal(connection)
            # Else SQLite plans a statement anew whenever its values might suggest another plan: 20 to 50 us each time.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            connection.execute("pragma synchronous = full")
            connection.execute("pragma foreign_keys = on")
            connection.execute("pragma mmap_size = 0")
            connection.execute("pragma temp_store = memory")
            connection.execute("pragma secure_delete = on")
            if sys.platform == "darwin":
                connection.execute("pragma fullfsync = on")
            if readonly:
                connection.execute("pragma query_only = on")
        except BaseException:
            connection.close()
            raise
        found = self.path.stat()
        self._inode = (found.st_dev, found.st_ino)
        return connection


class SqliteTx(Tx):
    """A transaction on one connection."""

    def __init__(self, store: SqliteStore, now: int, connection: apsw.Connection) -> None:
        super().__init__(store, now)
        self._sqlite = store
        self._connection = connection
        self._rev = 0
        self._libraries: list[str] | None = None  # once asked for; no transaction makes one and then searches

    def all(self, sql: str, **params: Any) -> list[Row]:  # noqa: ANN401 - a bound value is any SQL value
        if self.store.trace:
            self.store.trace(sql)
        for name, value in params.items():
            if value.__class__ is list and len(value) > LISTED_MAX:
                sql, params[name] = _from_json(sql, name), json.dumps(value)
        sql, params = expand(sql, params)
        return self._connection.execute(sql, params).fetchall()

    def run(self, sql: str, **params: Any) -> None:  # noqa: ANN401 - as above
        self.all(sql, **params)

    def lock(self, *keys: str) -> None:
        """Nothing to do: a writing transaction is the only one."""

    def put_words(self, chunk_id: int, *, title: str, body: str, keys: str, facets: Facets, length: float) -> None:
        del length  # FTS5 keeps its own
        self.run(
            "insert into words (rowid, title, body, keys, scope) values (:chunk_id, :title, :body, :keys, :scope)",
            chunk_id=chunk_id,
            title=title,
            body=body,
            keys=keys,
            scope=" ".join(facets.tokens()),
        )

    def drop_words(self, chunk_ids: Sequence[int]) -> None:
        for chunk_id in chunk_ids:  # FTS5 deletes by rowid one at a time anyway
            self.run("delete from words where rowid = :chunk_id", chunk_id=chunk_id)

    def words(self, where: Filter, terms: Sequence[QueryTerm], idfs: Sequence[float], limit: int) -> list[int]:
        del idfs  # FTS5 knows its own
        match = fts5.matching(where, " OR ".join(map(fts5.term, terms)), self._library_ids())
        rows = self.all(
            """
            select rowid from words where words match :match and rank match 'bm25(3.0, 1.0, 2.0, 0.0)'
            order by rank limit :limit
            """,
            match=match,
            limit=limit,
        )
        return [row[0] for row in rows]

    def count_words(self, library_ids: Sequence[str], term: QueryTerm) -> int:
        match = fts5.in_libraries(library_ids, fts5.term(term), self._library_ids())
        count: int = self.value(
            "select count(*) from (select 1 from words where words match :match limit :most)",
            match=match,
            most=WORDS_DF_MAX + 1,
        )
        return count

    def phrase(self, where: Filter, terms: Sequence[QueryTerm], limit: int) -> list[int]:
        every = " AND ".join(f"({fts5.term(term)})" for term in terms)
        match = fts5.matching(where, every, self._library_ids())
        rows = self.all(
            "select rowid from words where words match :match order by rowid desc limit :limit",
            match=match,
            limit=limit,
        )
        return [row[0] for row in rows]

    def _library_ids(self) -> list[str]:
        """All of the database, archived ones too: what may stand in the word index."""
        if self._libraries is None:
            self._libraries = [row[0] for row in self.all("select id from library")]
        return self._libraries

    def rev(self) -> int:
        """The revision of this transaction's vector changes."""
        if not self._rev:
            rev: int = self.value("update clock set rev = rev + 1 returning rev")
            self.run("delete from gone where rev < :floor", floor=rev - GONE_KEPT)
            self._rev = rev
        return self._rev

    def index_model(self, model: int, dim: int) -> None:
        """Nothing to do: vectors are compared in memory."""

    def put_vector(self, chunk_id: int, *, model: int, facets: Facets, vector: np.ndarray) -> None:
        self.run(
            """
            insert into chunk_vector (chunk_id, model, library_id, namespace_id, place, kind, memory_type, rev, v)
            select id, :model, :library_id, :namespace_id, :place, :kind, :memory_type, :rev, :v from chunk
            where id = :chunk_id
            on conflict (chunk_id, model) do nothing
            """,
            chunk_id=chunk_id,
            model=model,
            library_id=facets.library_id,
            namespace_id=facets.namespace_id,
            place=facets.place,
            kind=facets.kind,
            memory_type=facets.memory_type,
            rev=self.rev(),
            v=vector.astype("<f2").tobytes(),
        )

    def move_vectors(self, chunk_ids: Sequence[int], facets: Facets) -> None:
        rev = self.rev()
        self._leave(chunk_ids, rev)
        self.run(
            """
            update chunk_vector set library_id = :library_id, namespace_id = :namespace_id, place = :place,
                kind = :kind, memory_type = :memory_type, rev = :rev
            where chunk_id in :chunk_ids
            """,
            chunk_ids=list(chunk_ids),
            library_id=facets.library_id,
            namespace_id=facets.namespace_id,
            place=facets.place,
            kind=facets.kind,
            memory_type=facets.memory_type,
            rev=rev,
        )

    def drop_vectors(self, chunk_ids: Sequence[int]) -> None:
        if not self.value("select count(*) from chunk_vector where chunk_id in :chunk_ids", chunk_ids=list(chunk_ids)):
            return
        self._leave(chunk_ids, self.rev())
        self.run("delete from chunk_vector where chunk_id in :chunk_ids", chunk_ids=list(chunk_ids))

    def _leave(self, chunk_ids: Sequence[int], rev: int) -> None:
        for chunk_id in chunk_ids:
            self.run("insert or ignore into gone (rev, chunk_id) values (:rev, :chunk_id)", rev=rev, chunk_id=chunk_id)

    def nearest(self, where: Filter, *, model: int, query: np.ndarray, limit: int) -> list[tuple[int, float]]:
        return self._sqlite.matrices.nearest(self, where, model=model, query=query, limit=limit)

    def cosines(self, where: Filter, chunk_ids: Sequence[int], *, model: int, query: np.ndarray) -> dict[int, float]:
        return self._sqlite.matrices.cosines(self, where, chunk_ids, model=model, query=query)

    def bytes_used(self) -> int:
        total = 0
        for suffix in ("", "-wal"):
            part = Path(f"{self._sqlite.path}{suffix}")
            total += part.stat().st_size if part.exists() else 0
        return total


class _Patience:
    """A busy handler that sleeps a random 0.2 to 2 ms: SQLite's own back-off starves writers."""

    def __init__(self) -> None:
        self._since = 0.0

    def __call__(self, calls: int) -> bool:
        if calls == 0:
            self._since = time.monotonic()
        if time.monotonic() - self._since > BUSY_S_MAX:
            return False
        time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - jitter, no secret
        return True


def _switch_to_wal(connection: apsw.Connection) -> None:
    """Set WAL if it is not set; the switch fails at once when another process does it too, so try again."""
    until = time.monotonic() + BUSY_S_MAX
    while True:
        try:
            if connection.pragma("journal_mode") == "wal":
                return
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
        time.sleep(random.uniform(0.001, _RETRIED_S))  # noqa: S311 - jitter, no secret


@contextmanager
def _translated(path: Path) -> Generator[None]:
    """Rename the driver's errors; ours pass through."""
    try:
        yield
    except EngramError:
        raise
    except (apsw.BusyError, apsw.LockedError) as error:
        raise busy(str(path)) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Unavailable(
            f"{path} is damaged or no database: {error}",
            hint="Nothing was written over it; keep a copy of the folder and run `engram doctor`",
            retry_after=60.0,
        ) from error
    except (apsw.ReadOnlyError, apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise folders.unwritable(path, error) from error


@lru_cache(maxsize=256)
def _from_json(sql: str, name: str) -> str:
    return re.sub(rf"(?<![:\w]):{name}\b", f"(select value from json_each(:{name}))", sql)
