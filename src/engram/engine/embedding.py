"""The state of the vectors of what a caller may read, and making them anew in place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.engine import access, index, models, places
from engram.engine import worker as work
from engram.errors import EngramError
from engram.model import Role
from engram.store import chunks, vector_counts
from engram.store.base import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from engram.engine.context import Context
    from engram.store.base import Tx
    from engram.store.chunks import Unembedded

FAILED_SHOWN_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Which model, and how much of what the caller may read it covers."""

    model: str
    dim: int
    is_installed: bool
    embedded: int  # memories with a vector of any model
    current: int
    stale: int  # only of another model
    pending: int
    unreadable: int


def status(ctx: Context) -> Status:
    """Counts by SQL, true across processes: they are the database's."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        where = places.readable(who)
        choice = models.current(tx)
        counts = vector_counts.by_model(tx, where)
        pending, unreadable = vector_counts.without(tx, where, choice.model_id)
    current = counts.get(choice.model_id, 0)
    stale = sum(count for name, count in counts.items() if name != choice.model_id)
    return Status(
        model=choice.shown(),
        dim=ctx.engine.embedder.dim,
        is_installed=choice.is_installed,
        embedded=max([current, *counts.values()], default=0),
        current=current,
        stale=stale,
        pending=pending,
        unreadable=unreadable,
    )


@dataclass(slots=True, kw_only=True)
class Redone:
    """What making vectors anew did."""

    total: int = 0
    processed: int = 0
    failed: tuple[str, ...] = ()
    duration_ms: int = 0
    model: str = ""


def embed_again(
    ctx: Context,
    *,
    is_only_stale: bool = True,
    batch: int = 32,
    namespace: str = "",
    tell: Callable[[int], None] = lambda _done: None,
) -> Redone:
    """Make the vectors of the database's model, batch by batch; what is done stays done if it is killed.

    Raises:
        Unavailable: the model does not come.
    """
    began = time.monotonic()
    with ctx.engine.store.reading() as tx:
        choice = models.current(tx)
        where = _writable(tx, ctx, namespace)
    embedder = models.follow(ctx.engine, choice)
    done = Redone(model=choice.shown())
    failed: list[str] = []
    after = 0
    while where.places:
        with ctx.engine.store.reading() as tx:
            ids = vector_counts.chunks_of(
                tx, where, choice.model_id, is_only_missing=is_only_stale, after=after, limit=batch
            )
            items = chunks.texts(tx, ids)
        if not ids:
            break
        after = ids[-1]
        made: list[tuple[Unembedded, np.ndarray | None]] = []
        for item in items:
            if not embedder.can_read(f"{item.title} {item.text}"):
                continue  # found by its words, as ever
            done.total += 1
            try:
                made.append((item, index.embed(embedder, item)))
            except EngramError:
                raise
            except Exception:  # noqa: BLE001 - one bad text must not hold up the others; it is named in the answer
                failed.append(str(item.chunk_id))
        done.processed += len(made)
        _store(ctx, choice.model_id, made, is_anew=not is_only_stale)
        tell(done.processed)
    done.failed = tuple(failed[:FAILED_SHOWN_MAX])
    done.duration_ms = round((time.monotonic() - began) * 1000)
    return done


def _store(ctx: Context, model_id: str, made: Sequence[tuple[Unembedded, np.ndarray | None]], *, is_anew: bool) -> None:
    """Store a batch as the worker does, under the same locks: first they wait, then they are settled."""
    with ctx.engine.store.writing() as tx:
        for item, _ in sorted(made, key=lambda each: each[0].chunk_id):
            if is_anew:
                tx.drop_vectors([item.chunk_id])
            chunks.wait_again(tx, item.chunk_id)
    work.store(ctx.engine, model_id, made)


def _writable(tx: Tx, ctx: Context, namespace: str) -> Filter:
    """What the caller may write of the own set, or of a namespace."""
    who = access.reach(tx, ctx)
    covered = places.recalled(tx, ctx, who, namespace=namespace)
    return Filter(places=tuple(place for place in covered.where.places if who.role(place.library_id) >= Role.WRITE))
