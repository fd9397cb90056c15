"""The right to embed for a database: one process at a time has it, so that one process loads the model for it."""

from __future__ import annotations

import os
import secrets
import time
from threading import Lock
from typing import TYPE_CHECKING

from engram.store import jobs

if TYPE_CHECKING:
    from engram.store.base import Store

KIND = "embed"
LEASE_S = 60.0


class Lease:
    """Held from the first work until the process closes or idles; renewed when a third of it is over.

    A holder that was killed loses it when its time is up. What two processes do twice in the meantime does no harm.
    """

    def __init__(self, store: Store, seconds: float = LEASE_S, *, kind: str = KIND) -> None:
        self._kind = kind
        self._store = store
        self._seconds = seconds
        self._holder = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock = Lock()
        self._claimed_at: float | None = None  # by this process's own clock; None: not held
        self.free_in_s = 0.0  # how long another holder has it yet, when ``hold`` said no

    @property
    def is_held(self) -> bool:
        """Whether this process has it, as far as it knows."""
        return self._claimed_at is not None

    def hold(self) -> bool:
        """Have it, if nobody else does: no statement while it is fresh, one short transaction to claim or renew it."""
        with self._lock:
            now = time.monotonic()
            if self._claimed_at is not None and now < self._claimed_at + self._seconds / 3:
                return True
            if self._claimed_at is None and not self._is_free():
                return False  # seen without a writing transaction, which would make other writers wait
            with self._store.writing() as tx:
                is_ours = jobs.claim(tx, self._kind, "", holder=self._holder, length_ms=int(self._seconds * 1_000))
            self._claimed_at = now if is_ours else None
            self.free_in_s = 0.0 if is_ours else self._seconds
            return is_ours

    def release(self) -> None:
        """Give it back, if this process has it."""
        with self._lock:
            if self._claimed_at is None:
                return
            self._claimed_at = None
            with self._store.writing() as tx:
                jobs.release(tx, self._kind, "", holder=self._holder)

    def _is_free(self) -> bool:
        with self._store.reading() as tx:
            self.free_in_s = jobs.held_ms(tx, self._kind, "", but=self._holder) / 1_000
        return self.free_in_s == 0.0
