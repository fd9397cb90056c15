"""Two lifetimes: the Engine lives with the process, a Context with one caller's connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.embed import Embedder
    from engram.engine.projects import Found
    from engram.settings import Settings
    from engram.store.base import Store


class Wake(Protocol):
    """Where a verb tells that background work is due."""

    def wake(self, chunk_ids: Sequence[int]) -> None:
        """These chunks wait for a vector."""
        ...

    def keep(self, model_id: str, vectors: Sequence[tuple[int, object]]) -> None:
        """Vectors that a read made with this model, to be stored by the worker."""
        ...


class Asleep:
    """No worker: what is due stays noted in the database."""

    def wake(self, chunk_ids: Sequence[int]) -> None:
        """Leave it to whoever looks next."""

    def keep(self, model_id: str, vectors: Sequence[tuple[int, object]]) -> None:
        """Leave it to whoever looks next."""


@dataclass(slots=True)
class Engine:
    """What a process holds: the store, the model, its settings, the worker."""

    store: Store
    embedder: Embedder  # of the database's model; another one comes when the model was switched
    settings: Settings
    worker: Wake = field(default_factory=Asleep)
    switching: Lock = field(default_factory=Lock)  # around a change of the embedder


@dataclass(slots=True)
class Context:
    """Who calls, from where. On stdio one lives as long as the connection."""

    engine: Engine
    actor_id: str
    token_id: str = ""
    client: str = ""  # the client's name, the source of what it saves
    folder: Path | None = None  # the caller's working folder; None: not looked at
    found: Found | None = None  # the project of that folder, once looked up
    sessions: dict[str, str] = field(default_factory=dict)  # folded project -> session started here
