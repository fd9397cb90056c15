"""The seam between the verbs and a database: Store, Tx and the hooks of a backend.

Statements are written once, with ``:name`` parameters. A list or tuple as a value stands for a
parenthesised list: ``where id in :ids``. A backend subclasses Store and Tx and answers the hooks.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, LiteralString

from engram.errors import Conflict, Unavailable
from engram.model import KIND_PROMPT, SCOPE_PERSONAL, SCOPE_PROJECT
from engram.rules import seal as seals

if TYPE_CHECKING:
    import numpy as np

    from engram.model import QueryTerm

Row = tuple[Any, ...]
Tell = Callable[[int, int], None]  # progress: (done, total)

EXACT_VECTORS_MAX = 20_000  # rows in scope up to which every vector is compared
GONE_KEPT = 20_000  # revisions for which SQLite remembers deletions; older copies in memory load anew
WORDS_DF_MAX = 20_000  # document frequencies that one word query may add up to
PLACES = (
    SCOPE_PROJECT,
    SCOPE_PERSONAL,
    KIND_PROMPT,
)  # how a memory can have come to live there; most did the first way
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z_0-9]*)")


def now_ms() -> int:
    """Milliseconds UTC by this machine's clock."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One part of what a query covers: a library, maybe one namespace of it, one kind of place."""

    library_id: str
    namespace_id: str = ""  # empty: every namespace
    place: str = PLACES[0]  # how a memory came to live there


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a query covers: any of the places; if given, any of the kinds or memory types, of the memory types alone,
    of the sources, of the tags. The indexes know all but sources and tags (``is_narrow``).
    """

    places: tuple[Place, ...]
    types: tuple[str, ...] = ()  # kinds or memory types
    memory_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # folded

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for what only the memories' rows tell."""
        return bool(self.sources or self.tags)

    @property
    def library_ids(self) -> tuple[str, ...]:
        """The libraries covered, each once, in order of id."""
        return tuple(sorted({place.library_id for place in self.places}))

    def covers(self, facets: Facets) -> bool:
        """Whether a chunk with these facets is covered, sources and tags aside: for what is not in the indexes yet."""
        is_inside = any(
            place.library_id == facets.library_id
            and place.place == facets.place
            and place.namespace_id in ("", facets.namespace_id)
            for place in self.places
        )
        if self.memory_types and facets.memory_type not in self.memory_types:
            return False
        return is_inside and (not self.types or facets.kind in self.types or facets.memory_type in self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """What the word index and the vectors know of a chunk's memory, to filter inside the query."""

    library_id: str
    namespace_id: str
    place: str
    kind: str
    memory_type: str

    def tokens(self) -> tuple[str, ...]:
        """The scope terms under which a chunk is indexed."""
        return (
            f"l:{self.library_id}",
            f"n:{self.namespace_id}",
            f"s:{self.place}",
            f"k:{self.kind}",
            f"t:{self.memory_type}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What compacting a database did."""

    before: int  # bytes
    after: int
    is_rewritten: bool
    notes: tuple[str, ...] = ()  # what it may not do here


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCopy:
    """The vectors that a process holds in memory."""

    is_loaded: bool = False
    added: int = 0  # vectors that came since they were loaded
    init_ms: int = 0  # how long loading took
    path: str = ""  # the file that they are copied from


def scope_terms(where: Filter) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """The filter as scope terms: (any of these conjunctions, and of each of these groups any term)."""
    places = tuple(
        (f"n:{p.namespace_id}" if p.namespace_id else f"l:{p.library_id}", f"s:{p.place}") for p in where.places
    )
    types = tuple(term for value in where.types for term in (f"k:{value}", f"t:{value}"))
    memory_types = tuple(f"t:{value}" for value in where.memory_types)
    return places, tuple(group for group in (types, memory_types) if group)


def expand(sql: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The statement with every list parameter written out as ``(:name_0, :name_1, ...)``."""
    lists = [name for name, value in params.items() if value.__class__ in (list, tuple)]
    if not lists:
        return sql, params
    sizes = tuple((name, len(params[name])) for name in lists)
    for name in lists:
        params.update((f"{name}_{i}", value) for i, value in enumerate(params.pop(name)))
    return _expanded(sql, sizes), params


@lru_cache(maxsize=1024)
def _expanded(sql: str, sizes: tuple[tuple[str, int], ...]) -> str:
    for name, size in sizes:
        keys = ", ".join(f":{name}_{i}" for i in range(size))
        text = f"({keys})" if keys else "(select null where 1 = 0)"
        sql = re.sub(rf"(?<![:\w]):{name}\b", lambda _, text=text: text, sql)
    return sql


class Tx(ABC):
    """An open transaction. ``now`` is fixed once, so that a transaction's times agree."""

    # Row locks: empty on SQLite, whose writing transaction is the only one.
    for_key_share: LiteralString = ""
    for_key_share_free: LiteralString = ""
    for_update: LiteralString = ""
    for_no_key_update: LiteralString = ""

    def __init__(self, store: Store, now: int) -> None:
        self.store = store
        self.now = now
        self.after: list[Callable[[], None]] = []

    @abstractmethod
    def all(self, sql: str, **params: Any) -> list[Row]:  # noqa: ANN401 - a bound value is any SQL value
        """Every row of a statement."""

    @abstractmethod
    def run(self, sql: str, **params: Any) -> None:  # noqa: ANN401 - as above
        """Run a statement whose answer nobody needs; PostgreSQL does not wait for it."""

    def one(self, sql: str, **params: Any) -> Row | None:  # noqa: ANN401 - as above
        """The first row, if any."""
        rows = self.all(sql, **params)
        return rows[0] if rows else None

    def value(self, sql: str, **params: Any) -> Any:  # noqa: ANN401 - as above
        """The first column of the first row."""
        rows = self.all(sql, **params)
        return rows[0][0] if rows else None

    @abstractmethod
    def lock(self, *keys: str) -> None:
        """Serialise check-then-act on these keys until the end of the transaction."""

    def seal(self, table: str, values: Sequence[Any]) -> bytes:
        """The seal of a row: keyed BLAKE2b-128 over its canonical columns."""
        return seals.seal(self.store.key, table, values)

    def after_commit(self, act: Callable[[], None]) -> None:
        """Do this once the transaction stands."""
        self.after.append(act)

    # The hooks of a backend, as far as they need a transaction.

    @abstractmethod
    def put_words(self, chunk_id: int, *, title: str, body: str, keys: str, facets: Facets, length: float) -> None:
        """Index a chunk's terms (space-joined, from the analyser)."""

    @abstractmethod
    def drop_words(self, chunk_ids: Sequence[int]) -> None:
        """Take chunks out of the word index."""

    @abstractmethod
    def words(self, where: Filter, terms: Sequence[QueryTerm], idfs: Sequence[float], limit: int) -> list[int]:
        """Candidate chunks that hold any of the terms, roughly best first."""

    @abstractmethod
    def count_words(self, library_ids: Sequence[str], term: QueryTerm) -> int:
        """Document frequency: chunks of these libraries that hold any variant of the term."""

    @abstractmethod
    def phrase(self, where: Filter, terms: Sequence[QueryTerm], limit: int) -> list[int]:
        """Chunks that hold every term, newest first; the caller checks the text."""

    @abstractmethod
    def index_model(self, model: int, dim: int) -> None:
        """Make the vector index of a new model, where the backend has one."""

    @abstractmethod
    def put_vector(self, chunk_id: int, *, model: int, facets: Facets, vector: np.ndarray) -> None:
        """Store a chunk's vector, unless the chunk is gone or has one."""

    @abstractmethod
    def move_vectors(self, chunk_ids: Sequence[int], facets: Facets) -> None:
        """Give the vectors of these chunks new facets."""

    @abstractmethod
    def drop_vectors(self, chunk_ids: Sequence[int]) -> None:
        """Delete the vectors of these chunks, in every model."""

    @abstractmethod
    def nearest(self, where: Filter, *, model: int, query: np.ndarray, limit: int) -> list[tuple[int, float]]:
        """(chunk id, cosine), nearest first."""

    @abstractmethod
    def cosines(self, where: Filter, chunk_ids: Sequence[int], *, model: int, query: np.ndarray) -> dict[int, float]:
        """The cosine of each of these chunks that has a vector."""

    @abstractmethod
    def bytes_used(self) -> int:
        """Size of the database in bytes."""


class Store(ABC):
    """An open database. One a process; its parts are safe to use from several threads."""

    dialect: LiteralString
    dim_max: int | None = None  # numbers in a vector that its index takes; None: any

    def __init__(self, *, clock: Callable[[], int] = now_ms) -> None:
        self.key = b""  # the server key, set by whoever opened the store
        self.clock = clock
        self.trace: Callable[[str], None] | None = None  # sees each statement; for tests and benchmarks
        self.frequencies = FrequencyCache(clock)

    @abstractmethod
    def reading(self) -> AbstractContextManager[Tx]:
        """A read-only transaction on one snapshot."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Tx]:
        """A writing transaction: committed and flushed when the block ends, else undone."""

    @abstractmethod
    def version(self) -> int:
        """The schema's version; 0 for an empty database. Only looks."""

    @abstractmethod
    def apply(self, number: int, script: str, finish: Callable[[Tx], None] | None = None) -> None:
        """Run one migration and note its number, in one transaction."""

    @abstractmethod
    def migrating(self) -> AbstractContextManager[None]:
        """Hold the right to migrate, against other processes."""

    @abstractmethod
    def compact(self, tell: Tell, *, is_rewritten: bool) -> Compacted:
        """Take the last bytes of erased texts out of the database, while others use it."""

    def index_copy(self) -> IndexCopy:
        """What this process holds of the vector index; nothing where the database searches by itself."""
        return IndexCopy()

    @abstractmethod
    def drop(self) -> None:
        """Let go of connections and caches; the next use opens them again."""

    @abstractmethod
    def close(self) -> None:
        """Close for good."""

    @abstractmethod
    def describe(self) -> str:
        """Where the data lives, without any password."""

    def check(self) -> int:
        """The schema's version, refused if it is newer than this program knows."""
        found, known = self.version(), len(self.migrations())
        if found > known:
            raise Conflict(
                f"{self.describe()} has schema version {found}, this program knows up to {known}",
                hint="Use a newer engram-one, or another ENGRAM_DATA_DIR; nothing was changed",
            )
        return found

    def migrations(self) -> list[str]:
        """The scripts of this backend, in order."""
        folder = resources.files("engram.store") / "schema" / self.dialect
        files = {f.name: f for f in folder.iterdir() if f.name.endswith(".sql")}
        return [files[name].read_text(encoding="utf-8") for name in sorted(files)]

    def migrate(self, finish: Callable[[Tx], None] | None = None) -> int:
        """Bring the schema up to date. ``finish`` runs in the first migration's transaction.

        Returns:
            How many migrations ran.
        """
        scripts = self.migrations()
        if self.check() == len(scripts):
            return 0
        with self.migrating():
            found = self.check()
            for number in range(found + 1, len(scripts) + 1):
                self.apply(number, scripts[number - 1], finish if number == 1 else None)
        return len(scripts) - found

    @contextmanager
    def tracing(self) -> Generator[list[str]]:
        """Collect the statements that run inside the block."""
        seen: list[str] = []
        before, self.trace = self.trace, seen.append
        try:
            yield seen
        finally:
            self.trace = before


class FrequencyCache:
    """Document frequencies, kept ten minutes; they only weigh words against each other."""

    AGE_MS_MAX = 600_000
    ENTRIES_MAX = 20_000

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._known: dict[tuple[tuple[str, ...], str], tuple[int, int]] = {}

    def get(self, library_ids: tuple[str, ...], term: str) -> int | None:
        """The frequency if it is known and fresh."""
        found = self._known.get((library_ids, term))
        return found[1] if found and self._clock() - found[0] < self.AGE_MS_MAX else None

    def put(self, library_ids: tuple[str, ...], term: str, frequency: int) -> None:
        """Keep a frequency."""
        if len(self._known) >= self.ENTRIES_MAX:
            self._known.clear()
        self._known[library_ids, term] = (self._clock(), frequency)


def busy(who: str) -> Unavailable:
    """The error of a database that stayed busy."""
    return Unavailable(
        f"{who} is busy and did not answer in time",
        hint="Nothing was saved; try again, and see with `engram doctor` who holds it",
        retry_after=2.0,
    )
