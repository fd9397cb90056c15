"""The fast paths of ``nearest`` agree with a plain loop, on both backends, through changes and other processes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engram.engine.context import Context
from engram.engine.memories import Where, remember
from engram.model import Draft
from engram.store import chunks, postgres, vectors
from engram.store.base import Facets, Filter, Place, Store
from engram.store.sqlite import SqliteStore

DIM = 64
COUNT = 240
MODEL = "test@1"


@pytest.fixture
def filled(ctx: Context) -> dict[int, NDArray[np.float32]]:
    """Chunk id -> clustered unit vector; every third chunk is in project `other`."""
    noise = np.random.default_rng(5)
    centres = noise.standard_normal((8, DIM))
    found: dict[int, NDArray[np.float32]] = {}
    for i in range(COUNT):
        remember(ctx, Draft(title=f"n{i}", body=f"text {i}"), Where(project="other" if i % 3 == 0 else "shop"))
    with ctx.engine.store.writing() as tx:
        model = chunks.add_model(tx, MODEL, DIM)
        for item in chunks.unembedded(tx, limit=COUNT):
            vector = (centres[item.chunk_id % 8] + 0.4 * noise.standard_normal(DIM)).astype(np.float32)
            vector /= np.linalg.norm(vector)
            tx.put_vector(item.chunk_id, model=model, facets=item.facets, vector=vector)
            tx.put_vector(item.chunk_id, model=model, facets=item.facets, vector=-vector)  # has one: changes nothing
            found[item.chunk_id] = vector
    return found


def places(store: Store, project: str = "") -> Filter:
    """All of the library, or one project."""
    with store.reading() as tx:
        rows = tx.all("select library_id, id, name from namespace order by name")
    chosen = [row for row in rows if not project or row[2] == project]
    if not project:
        return Filter(places=(Place(library_id=rows[0][0]),))
    return Filter(places=tuple(Place(library_id=row[0], namespace_id=row[1]) for row in chosen))


def nearest(store: Store, where: Filter, query: NDArray[np.float32], limit: int = 10) -> list[int]:
    """Ids of the nearest chunks."""
    with store.reading() as tx:
        model = chunks.model_id(tx, MODEL)
        assert model is not None
        return [chunk_id for chunk_id, _ in tx.nearest(where, model=model, query=query, limit=limit)]


def plainly(vectors_of: dict[int, NDArray[np.float32]], query: NDArray[np.float32], limit: int = 10) -> list[int]:
    """The same by a loop."""
    return sorted(vectors_of, key=lambda chunk_id: -float(vectors_of[chunk_id] @ query))[:limit]


def queries() -> list[NDArray[np.float32]]:
    """Some questions."""
    noise = np.random.default_rng(6)
    found = [noise.standard_normal(DIM).astype(np.float32) for _ in range(8)]
    return [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in found]


def share(found: list[int], wanted: list[int]) -> float:
    """Recall."""
    return len(set(found) & set(wanted)) / len(wanted)


def test_few_vectors_are_compared_exactly(ctx: Context, filled: dict[int, NDArray[np.float32]]) -> None:
    """In all of a library and in one project of it; cosines are the true ones."""
    store = ctx.engine.store
    with store.reading() as tx:
        project = {row[0] for row in tx.all(
            "select v.chunk_id from chunk_vector v join namespace n on n.id = v.namespace_id where n.name = 'other'")}  # fmt: skip
    for query in queries():
        assert share(nearest(store, places(store), query), plainly(filled, query)) >= 0.9  # half floats may swap two
        inside = {chunk_id: vector for chunk_id, vector in filled.items() if chunk_id in project}
        found = nearest(store, places(store, "other"), query)
        assert set(found) <= project
        assert share(found, plainly(inside, query)) >= 0.9
        with store.reading() as tx:
            model = chunks.model_id(tx, MODEL) or 0
            cosines = tx.cosines(places(store), list(filled)[:5], model=model, query=query)
        for chunk_id, cosine in cosines.items():
            assert cosine == pytest.approx(float(filled[chunk_id] @ query), abs=0.005)


def test_many_vectors_are_found_by_a_fast_path_nearly_as_well(
    ctx: Context, filled: dict[int, NDArray[np.float32]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sign bits on SQLite, HNSW on PostgreSQL, with the borders lowered; a filtered query never comes back short."""
    for module, name, value in (
        (vectors, "EXACT_VECTORS_MAX", 50), (vectors, "GATHERED_MAX", 20), (vectors, "RESCORED_MAX", 120),
        (postgres, "EXACT_VECTORS_MAX", 50),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    store = ctx.engine.store
    shares = [share(nearest(store, places(store), query), plainly(filled, query)) for query in queries()]
    assert sum(shares) / len(shares) >= 0.85
    for query in queries():
        assert len(nearest(store, places(store, "other"), query)) == 10


def test_deleted_and_moved_vectors_are_seen_by_every_process(
    ctx: Context, filled: dict[int, NDArray[np.float32]]
) -> None:
    """A second store object on the same database catches up with what the first one did."""
    assert len(filled) == COUNT
    first = ctx.engine.store
    second: Store = SqliteStore(first.path) if isinstance(first, SqliteStore) else postgres.PostgresStore(first._url)  # type: ignore[attr-defined]
    query = queries()[0]
    best = nearest(second, places(first), query)
    with first.writing() as tx:
        tx.drop_vectors(best[:2])
        row = tx.one("select library_id, id from namespace where name = 'other'")
        assert row
        facets = Facets(library_id=row[0], namespace_id=row[1], place="project", kind="manual", memory_type="episodic")
        tx.move_vectors([best[2]], facets)
    after = nearest(second, places(first), query)
    assert not set(best[:2]) & set(after)
    assert best[2] in after
    assert best[2] not in nearest(second, places(first, "shop"), query)
    assert best[2] in nearest(second, places(first, "other"), query, limit=COUNT)
    second.close()


def test_a_matrix_forgets_its_dead_rows() -> None:
    """Deletions are marked, and cleared away when there are many."""
    matrix = vectors.Matrix(8)
    noise = np.random.default_rng(7).standard_normal((4_000, 8)).astype(np.float16)
    matrix.add([(i, "n", "project", "k", "t", noise[i].tobytes()) for i in range(4_000)])
    matrix.remove(range(2_000))
    assert matrix.count == 2_000
    assert set(matrix.rows) == set(range(2_000, 4_000))
    query = noise[3_000].astype(np.float32)
    found = matrix.nearest(Filter(places=(Place(library_id="l"),)), "l", query, 5)
    assert all(chunk_id >= 2_000 for chunk_id, _ in found)
    assert matrix.nbytes > 0
