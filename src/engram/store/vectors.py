"""The SQLite side of ``nearest``: vectors of a library and model, kept in memory and caught up by rev.

Rows live in the database as half floats; this is a copy that any process can rebuild. Up to
EXACT_VECTORS_MAX rows are held as float32 and compared exactly. Above that the copy is half
floats, and the sign bits of ``v - mean`` choose RESCORED_MAX rows that are then compared exactly.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from engram.store.base import EXACT_VECTORS_MAX, GONE_KEPT, Filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engram.store.base import Tx

RESCORED_MAX = 1_000
GATHERED_MAX = 4_000  # rows in scope that are compared exactly in a large library
GATHERING_COST = 4  # picking rows out costs about four times their product: with more in scope all are compared
BLOCK_ROWS = 10_000
CACHE_BYTES_MAX = 512 * 1024 * 1024


class Matrix:
    """The vectors of one library in one model. Not thread-safe: the cache locks around it."""

    def __init__(self, dim: int) -> None:
        self.rev = -1
        self.dim = dim
        self.count = 0
        self.dead = 0
        self.rows: dict[int, int] = {}  # chunk id -> row
        self._codes: dict[str, int] = {}
        self.ids: NDArray[np.int64] = np.empty(0, np.int64)
        self.facets: NDArray[np.int32] = np.empty((0, 4), np.int32)  # namespace, place, kind, memory type
        self.alive: NDArray[np.bool_] = np.empty(0, np.bool_)
        self.full: NDArray[Any] = np.empty((0, dim), np.float32)
        self.bits: NDArray[np.uint64] | None = None
        self.mean: NDArray[np.float32] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held, the id index estimated."""
        bits = self.bits.nbytes if self.bits is not None else 0
        return self.full.nbytes + self.ids.nbytes + self.facets.nbytes + bits + 100 * len(self.rows)

    def code(self, text: str) -> int:
        """A small number for a facet's value."""
        return self._codes.setdefault(text, len(self._codes))

    def add(self, found: Sequence[tuple[Any, ...]]) -> None:
        """Take in rows (chunk id, namespace, place, kind, memory type, half floats)."""
        if not found:
            return
        self.remove(row[0] for row in found)
        fresh = np.frombuffer(b"".join(row[5] for row in found), np.float16).reshape(len(found), self.dim)
        start, self.count = self.count, self.count + len(found)
        self._reserve(self.count)
        self.ids[start : self.count] = [row[0] for row in found]
        code = self.code
        self.facets[start : self.count] = [[code(value) for value in row[1:5]] for row in found]
        self.alive[start : self.count] = True
        self.full[start : self.count] = fresh
        self.rows.update({row[0]: start + i for i, row in enumerate(found)})
        if self.count > EXACT_VECTORS_MAX:
            self._shrink(start)

    def remove(self, chunk_ids: Iterable[int]) -> None:
        """Forget chunks; their rows stay, marked dead, until there are many."""
        for chunk_id in chunk_ids:
            row = self.rows.pop(chunk_id, None)
            if row is not None:
                self.alive[row] = False
                self.dead += 1
        if self.dead > 1_000 and self.dead * 4 > self.count:
            self._compact()

    def nearest(
        self, where: Filter, library_id: str, query: NDArray[np.float32], limit: int
    ) -> list[tuple[int, float]]:
        """(chunk id, cosine) of the nearest rows that the filter covers."""
        rows = np.flatnonzero(self._mask(where, library_id))
        if not rows.size:
            return []
        if self.full.dtype == np.float32 and rows.size * GATHERING_COST >= self.count:
            cosines = (self.full[: self.count] @ query)[rows]
        else:
            if self.bits is not None and rows.size > GATHERED_MAX:
                rows = self._prefilter(rows, query)
            cosines = self.full[rows].astype(np.float32) @ query
        best = np.argpartition(-cosines, min(limit, rows.size) - 1)[:limit]
        order = best[np.lexsort((self.ids[rows[best]], -cosines[best]))]
        return [(int(self.ids[rows[i]]), float(cosines[i])) for i in order]

    def cosines(self, chunk_ids: Sequence[int], query: NDArray[np.float32]) -> dict[int, float]:
        """The cosine of each of these chunks that has a row."""
        known = [chunk_id for chunk_id in chunk_ids if chunk_id in self.rows]
        if not known:
            return {}
        found = self.full[[self.rows[chunk_id] for chunk_id in known]].astype(np.float32) @ query
        return dict(zip(known, found.tolist(), strict=True))

    def _mask(self, where: Filter, library_id: str) -> NDArray[np.bool_]:
        live = self.alive[: self.count]
        facets = self.facets[: self.count]
        covered = np.zeros(self.count, np.bool_)
        for place in where.places:
            if place.library_id != library_id:
                continue
            part = facets[:, 1] == self._codes.get(place.place, -1)
            if place.namespace_id:
                part &= facets[:, 0] == self._codes.get(place.namespace_id, -1)
            covered |= part
        if where.types:
            codes = [self._codes.get(value, -1) for value in where.types]
            covered &= np.isin(facets[:, 2], codes) | np.isin(facets[:, 3], codes)
        if where.memory_types:
            covered &= np.isin(facets[:, 3], [self._codes.get(value, -1) for value in where.memory_types])
        return covered & live

    def _prefilter(self, rows: NDArray[np.intp], query: NDArray[np.float32]) -> NDArray[np.intp]:
        assert self.bits is not None  # noqa: S101 - the caller looked
        assert self.mean is not None  # noqa: S101 - set together with bits
        bits = self.bits[: self.count] if rows.size == self.count else self.bits[rows]
        wanted = _sign_bits((query - self.mean)[None, :])[0]
        distance = np.zeros(bits.shape[0], np.uint16)
        for word in range(bits.shape[1]):  # a word at a time keeps the temporaries in the cache
            distance += np.bitwise_count(bits[:, word] ^ wanted[word])
        if rows.size <= RESCORED_MAX:
            return rows
        return rows[np.sort(np.argpartition(distance, RESCORED_MAX)[:RESCORED_MAX])]

    def _shrink(self, start: int) -> None:
        """Go over to half floats and sign bits; ``start`` is the first row that has no bits yet."""
        if self.full.dtype != np.float16:
            self.full = self.full.astype(np.float16)
        mean = self.mean
        if self.bits is None or mean is None:
            mean = self.mean = self.full[: self.count].astype(np.float32).mean(axis=0, dtype=np.float32)
            self.bits = np.zeros((len(self.ids), (self.dim + 63) // 64), np.uint64)
            start = 0
        elif len(self.bits) < len(self.ids):
            self.bits = np.resize(self.bits, (len(self.ids), self.bits.shape[1]))
        for block in range(start, self.count, 10_000):  # float32 copies of all rows at once would double the memory
            end = min(block + 10_000, self.count)
            self.bits[block:end] = _sign_bits(self.full[block:end].astype(np.float32) - mean)

    def _reserve(self, count: int) -> None:
        capacity = len(self.ids)
        if count <= capacity:
            return
        size = max(count, 64, capacity + capacity // 4)
        for name in ("ids", "facets", "alive", "full"):
            old = getattr(self, name)
            new = np.zeros((size, *old.shape[1:]), old.dtype)
            new[:capacity] = old
            setattr(self, name, new)

    def _compact(self) -> None:
        keep = np.flatnonzero(self.alive[: self.count])
        self.ids, self.facets = self.ids[keep], self.facets[keep]
        self.full, self.alive = self.full[keep], self.alive[keep]
        if self.bits is not None:
            self.bits = self.bits[keep]
        self.count, self.dead = len(keep), 0
        self.rows = {int(chunk_id): row for row, chunk_id in enumerate(self.ids)}


class MatrixCache:
    """The matrices of a process, the least recently used dropped over CACHE_BYTES_MAX."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrices: OrderedDict[tuple[str, int], Matrix] = OrderedDict()
        self.added = 0  # vectors that came after the first load
        self.init_ms = 0  # how long loading took

    @property
    def is_loaded(self) -> bool:
        """Whether any vectors are held."""
        return bool(self._matrices)

    def drop(self) -> None:
        """Forget everything; the next query loads it again."""
        with self._lock:
            self._matrices.clear()

    def nearest(
        self, tx: Tx, where: Filter, *, model: int, query: NDArray[np.float32], limit: int
    ) -> list[tuple[int, float]]:
        """(chunk id, cosine) over all the filter's libraries, after catching up with the snapshot."""
        found: list[tuple[int, float]] = []
        with self._lock:
            for library_id in where.library_ids:
                matrix = self._caught_up(tx, library_id, model, len(query))
                found += matrix.nearest(where, library_id, query, limit)
        found.sort(key=lambda item: (-item[1], item[0]))
        return found[:limit]

    def cosines(
        self, tx: Tx, where: Filter, chunk_ids: Sequence[int], *, model: int, query: NDArray[np.float32]
    ) -> dict[int, float]:
        """The cosine of each of these chunks that has a vector in one of the filter's libraries."""
        found: dict[int, float] = {}
        with self._lock:
            for library_id in where.library_ids:
                found |= self._caught_up(tx, library_id, model, len(query)).cosines(chunk_ids, query)
        return found

    def _caught_up(self, tx: Tx, library_id: str, model: int, dim: int) -> Matrix:
        key = (library_id, model)
        matrix = self._matrices.pop(key, None) or Matrix(dim)
        rev: int = tx.value("select rev from clock")
        if matrix.rev < rev:
            if 0 <= matrix.rev < rev - GONE_KEPT:
                matrix = Matrix(dim)
            if matrix.rev >= 0:
                gone = tx.all("select chunk_id from gone where rev > :rev", rev=matrix.rev)
                matrix.remove(row[0] for row in gone)
            is_first, before, began = matrix.rev < 0, matrix.count, time.monotonic()
            _load(tx, matrix, library_id, model)
            matrix.rev = rev
            if is_first:
                self.init_ms += round((time.monotonic() - began) * 1000)
            else:
                self.added += matrix.count - before
        self._matrices[key] = matrix
        while len(self._matrices) > 1 and sum(m.nbytes for m in self._matrices.values()) > CACHE_BYTES_MAX:
            self._matrices.popitem(last=False)
        return matrix


def _load(tx: Tx, matrix: Matrix, library_id: str, model: int) -> None:
    """Take in what changed since the matrix's rev, in blocks: all rows at once would be in memory three times."""
    after = (matrix.rev, 2**63 - 1)
    while True:
        block = tx.all(
            """
            select chunk_id, namespace_id, place, kind, memory_type, v, rev, rowid from chunk_vector
            where library_id = :library_id and model = :model and (rev, rowid) > (:rev, :row) order by rev, rowid
            limit :block
            """,
            library_id=library_id,
            model=model,
            rev=after[0],
            row=after[1],
            block=BLOCK_ROWS,
        )
        matrix.add(block)
        if len(block) < BLOCK_ROWS:
            return
        after = block[-1][6:]


def _sign_bits(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    packed = np.packbits(vectors > 0, axis=1)
    padding = -packed.shape[1] % 8
    if padding:
        packed = np.pad(packed, ((0, 0), (0, padding)))
    return np.ascontiguousarray(packed).view(np.uint64)
