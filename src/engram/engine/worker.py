"""The worker: one thread a process. Of all processes on a database, the one that has the lease makes the vectors."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from engram.engine import comparing, doctor, index, models
from engram.engine.lease import LEASE_S, Lease
from engram.errors import EngramError
from engram.store import chunks, uncompared
from engram.store import settings as facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from engram.embed import Choice
    from engram.engine.context import Engine
    from engram.store.chunks import Unembedded

BATCH = 16
BATCH_S = 10.0  # a batch is cut short after so long, so that the lease is renewed in time
ROUND_S = 30.0  # how often a process looks whether the holder of the lease is gone
POLL_S = 2.0  # how often the holder looks for what other processes wrote

log = logging.getLogger(__name__)


def embed_waiting(engine: Engine, chunk_ids: Sequence[int] | None = None, *, most: int = BATCH) -> int:
    """Make and store vectors of chunks that wait; safe to run twice and in several processes.

    Args:
        chunk_ids: Only these; None: any, the newest first.
        most: How many at most.

    Returns:
        How many chunks were settled.

    Raises:
        Unavailable: the model is not there; all wait on.
    """
    with engine.store.reading() as tx:
        choice = models.current(tx)
        waiting = chunks.unembedded(tx, chunk_ids=chunk_ids, limit=most)
    embedder = models.follow(engine, choice)
    until = time.monotonic() + BATCH_S
    made: list[tuple[Unembedded, np.ndarray | None]] = []
    for item in waiting:
        if time.monotonic() > until:
            break
        try:
            made.append((item, index.embed(embedder, item)))
        except EngramError:
            if not made:
                raise
            break  # the model went; what it made is kept
        except Exception:  # one bad text must not hold up the others
            log.exception("a chunk could not be embedded", extra={"chunk_id": item.chunk_id})
            made.append((item, None))
    if made:
        store(engine, embedder.model_id, made)
    return len(made)


def store(engine: Engine, model_id: str, made: Sequence[tuple[Unembedded, np.ndarray | None]]) -> None:
    """Store vectors of a model in one short transaction; nothing, if the database has another model by now."""
    settled = sorted(item.chunk_id for item, _ in made)
    with engine.store.writing() as tx:
        tx.lock(models.LOCK)  # a switch comes before or after
        if models.current(tx).model_id != model_id:
            return
        held = chunks.hold(tx, settled)
        # A chunk that was hidden since is there, but waits no more.
        waiting = {item.chunk_id: item for item in chunks.unembedded(tx, chunk_ids=settled, limit=len(settled))}
        held &= waiting.keys()
        for item, vector in sorted(made, key=lambda pair: pair[0].chunk_id):
            if vector is not None and item.chunk_id in held:  # with the facets of now: its project may have moved
                model = chunks.add_model(tx, model_id, len(vector))
                tx.put_vector(item.chunk_id, model=model, facets=waiting[item.chunk_id].facets, vector=vector)
        chunks.settle(tx, sorted(held))
        for library_id, memory_id in chunks.owners(tx, sorted(held)):
            uncompared.wait(tx, library_id=library_id, memory_id=memory_id)


class Worker:
    """A daemon thread. It sleeps until something was written here, and looks now and then for what others wrote."""

    def __init__(self, engine: Engine, *, lease_s: float = LEASE_S, poll_s: float = POLL_S) -> None:
        self._engine = engine
        self._lease = Lease(engine.store, lease_s)
        self._poll_s = poll_s
        self._model_id = engine.embedder.model_id  # whose judgement of what is readable was last looked after
        self._due: deque[int] = deque()
        self._made: dict[int, tuple[str, np.ndarray]] = {}  # chunk -> model's id, vector
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_paused = False

    @property
    def has_lease(self) -> bool:
        """Whether this process embeds for its database."""
        return self._lease.is_held

    def wake(self, chunk_ids: Sequence[int]) -> None:
        """These chunks wait for a vector."""
        if chunk_ids:
            with self._lock:
                self._due.extend(chunk_ids)
            self.start()

    def keep(self, model_id: str, vectors: Sequence[tuple[int, object]]) -> None:
        """Vectors that a read made with this model: stored without making them again."""
        with self._lock:
            self._made.update((chunk_id, (model_id, vector)) for chunk_id, vector in vectors)  # type: ignore[misc]
        self.wake([chunk_id for chunk_id, _ in vectors])

    def start(self) -> None:
        """Look for work now, whoever wrote it."""
        with self._lock:
            self._is_paused = False
            self._idle.clear()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="engram-worker", daemon=True)
                self._thread.start()
        self._wake.set()

    def finish(self, timeout_s: float) -> bool:
        """Wait until what was written here has its vector or is left to another process; whether that came in time."""
        return self._idle.wait(timeout_s)

    def pause(self) -> None:
        """Look no more until something is written again, and let another process embed."""
        self._is_paused = True
        self._release()

    def stop(self) -> None:
        """End the thread after the batch at hand."""
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5.0)
            if thread.is_alive():
                return  # the lease ends by itself
        self._release()

    def _release(self) -> None:
        try:
            self._lease.release()
        except EngramError as error:
            log.warning("the lease was not given back, it ends by itself: %s", error.code)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                rest_s = self._round()
            except EngramError as error:
                log.warning("vectors have to wait: %s", error.line())
                rest_s = self._give_up()
            except Exception:  # the thread must outlive a failed round; what is due stays noted in the database
                log.exception("the worker failed at a batch")
                rest_s = self._give_up()
            if rest_s:
                self._rest(rest_s)

    def _round(self) -> float:
        """Do a batch, if it is this process's turn.

        Returns:
            Seconds to rest; 0 where there may be more to do.
        """
        self._store_made()
        with self._engine.store.reading() as tx:
            choice = models.current(tx)
            is_waiting = chunks.is_any_pending(tx)
            is_stale = facts.get(tx, models.STALE) is not None
            is_uncompared = uncompared.is_any(tx)
        if choice.model_id != self._model_id:
            self._look_after(choice)
            return 0
        batch = self._take()
        if not is_waiting and not is_stale and not is_uncompared:
            doctor.look_daily(self._engine.store)
            if self._lease.is_held and not self._is_paused:
                self._lease.hold()  # others leave the work to the one that has the model loaded
            return self._poll_s if self._lease.is_held else ROUND_S
        if not self._lease.hold():
            self._forget_due()
            return min(self._lease.free_in_s + 0.05, ROUND_S)
        if is_uncompared and not batch and comparing.compare_waiting(self._engine):
            return 0
        if not is_waiting:
            return 0 if models.drop_stale(self._engine, choice) else self._poll_s
        # With a batch of what was not waiting after all, there may be others.
        done = embed_waiting(self._engine, batch or None)
        return 0 if done or batch else self._poll_s

    def _look_after(self, choice: Choice) -> None:
        """The model was switched, by whomever: what was written here since was judged by the old one."""
        models.follow(self._engine, choice)
        models.enqueue_missing(self._engine, choice)
        self._model_id = choice.model_id

    def _take(self) -> list[int]:
        with self._lock:
            return [self._due.popleft() for _ in range(min(BATCH, len(self._due)))]

    def _forget_due(self) -> None:
        with self._lock:
            self._due.clear()  # noted in the database, where the holder of the lease finds it

    def _give_up(self) -> float:
        """After a failure: another process may have the model, or the luck, that this one lacks."""
        self._forget_due()
        self._release()
        return ROUND_S

    def _store_made(self) -> None:
        with self._lock:
            ready, self._made = self._made, {}
        for model_id in {name for name, _ in ready.values()}:
            ids = [chunk_id for chunk_id, (name, _) in ready.items() if name == model_id]
            with self._engine.store.reading() as tx:
                items = chunks.unembedded(tx, chunk_ids=ids, limit=len(ids))
            if items:
                store(self._engine, model_id, [(item, ready[item.chunk_id][1]) for item in items])

    def _rest(self, seconds: float) -> None:
        with self._lock:
            if self._due or self._made:
                return
            self._idle.set()
            self._wake.clear()
        self._wake.wait(None if self._is_paused else seconds)
        while self._is_paused and not self._stop.is_set():  # paused while it slept: nothing may be opened again
            self._wake.wait()
            self._wake.clear()
