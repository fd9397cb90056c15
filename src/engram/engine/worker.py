"""The worker: one thread a process that makes the vectors of what was written here."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from engram.engine import index
from engram.errors import EngramError
from engram.store import chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.engine.context import Engine
    from engram.store.chunks import Unembedded

BATCH = 16
OLD_MS = 60_000  # what waits longer was left by a process that is gone
ROUND_S = 30.0

log = logging.getLogger(__name__)


def embed_waiting(engine: Engine, chunk_ids: Sequence[int] | None = None, *, most: int = BATCH) -> int:
    """Make and store vectors of chunks that wait; safe to run twice and in several processes.

    Args:
        chunk_ids: Only these; None: those that have waited for OLD_MS.
        most: How many at most.

    Returns:
        How many chunks were settled.
    """
    with engine.store.reading() as tx:
        since = None if chunk_ids is not None else tx.now - OLD_MS
        waiting = chunks.unembedded(tx, chunk_ids=chunk_ids, since_max=since, limit=most)
    made: list[tuple[Unembedded, np.ndarray | None]] = []
    for item in waiting:
        try:
            made.append((item, index.embed(engine.embedder, item)))
        except EngramError:
            raise
        except Exception:  # one bad text must not hold up the others
            log.exception("a chunk could not be embedded", extra={"chunk_id": item.chunk_id})
            made.append((item, None))
    if made:
        store(engine, [item.chunk_id for item, _ in made], made)
    return len(made)


def store(engine: Engine, settled: Sequence[int], made: Sequence[tuple[Unembedded, np.ndarray | None]]) -> None:
    """Store vectors in one short transaction."""
    with engine.store.writing() as tx:
        model = chunks.add_model(tx, engine.embedder.model_id, engine.embedder.dim)
        held = chunks.hold(tx, settled)
        # A chunk that was hidden since is there, but waits no more.
        waiting = {item.chunk_id: item for item in chunks.unembedded(tx, chunk_ids=settled, limit=len(settled))}
        held &= waiting.keys()
        for item, vector in sorted(made, key=lambda pair: pair[0].chunk_id):
            if vector is not None and item.chunk_id in held:  # with the facets of now: its project may have moved
                tx.put_vector(item.chunk_id, model=model, facets=waiting[item.chunk_id].facets, vector=vector)
        chunks.settle(tx, sorted(held))


class Worker:
    """A daemon thread. It sleeps until something was written, and looks for leftovers now and then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due: deque[int] = deque()
        self._made: dict[int, np.ndarray] = {}
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_paused = False

    def wake(self, chunk_ids: Sequence[int]) -> None:
        """These chunks wait for a vector."""
        if not chunk_ids:
            return
        with self._lock:
            self._is_paused = False
            self._due.extend(chunk_ids)
            self._idle.clear()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="engram-worker", daemon=True)
                self._thread.start()
        self._wake.set()

    def keep(self, vectors: Sequence[tuple[int, object]]) -> None:
        """Vectors that a read made: stored without making them again."""
        with self._lock:
            self._made.update(vectors)  # type: ignore[arg-type]
        self.wake([chunk_id for chunk_id, _ in vectors])

    def finish(self, timeout_s: float) -> bool:
        """Wait until everything written here has its vector, at most so long; whether it has."""
        return self._idle.wait(timeout_s)

    def pause(self) -> None:
        """Look for leftovers no more until something is written again."""
        self._is_paused = True

    def stop(self) -> None:
        """End the thread after the batch at hand."""
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)

    def _run(self) -> None:
        while not self._stop.is_set():
            batch = self._take()
            try:
                if batch:
                    self._settle(batch)
                elif not embed_waiting(self._engine):
                    self._rest()
            except EngramError as error:
                log.warning("vectors have to wait: %s", error.code)
                self._rest()
            except Exception:  # the thread must outlive a failed round; what is due stays noted in the database
                log.exception("the worker failed at a batch")
                self._rest()

    def _take(self) -> list[int]:
        with self._lock:
            return [self._due.popleft() for _ in range(min(BATCH, len(self._due)))]

    def _settle(self, batch: list[int]) -> None:
        with self._lock:
            ready = {chunk_id: self._made.pop(chunk_id) for chunk_id in batch if chunk_id in self._made}
        if ready:
            with self._engine.store.reading() as tx:
                items = chunks.unembedded(tx, chunk_ids=list(ready), limit=len(ready))
            store(self._engine, list(ready), [(item, ready[item.chunk_id]) for item in items])
        rest = [chunk_id for chunk_id in batch if chunk_id not in ready]
        if rest:
            embed_waiting(self._engine, rest)

    def _rest(self) -> None:
        with self._lock:
            if self._due:
                return
            self._idle.set()
            self._wake.clear()
        self._wake.wait(None if self._is_paused else ROUND_S)


def work_off(engine: Engine, chunk_ids: Sequence[int], *, seconds: float) -> int:
    """Do the work for these rows in this thread, for at most so long; returns how many are left."""
    until = time.monotonic() + seconds
    left = list(chunk_ids)
    while left and time.monotonic() < until:
        batch, left = left[:4], left[4:]
        embed_waiting(engine, batch)
    return len(left)
