"""The composition root: settings become a store, a model and an engine, here and nowhere else."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from engram.engine import browse, capture, doctor, lifecycle, memories, models, search, sessions, users
from engram.engine.context import Context, Engine
from engram.engine.worker import Worker
from engram.errors import Conflict, EngramError, Unavailable
from engram.store import settings as facts
from engram.tools import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.embed import Embedder
    from engram.settings import Settings
    from engram.store.base import Store, Tx

KEY_BYTES = 32
CALLS_MAX = 4
_VERBS = (browse, capture, lifecycle, memories, search, sessions)  # imported here, so that no first call has to

Result = TypeVar("Result")


def open_store(settings: Settings, *, may_migrate: bool = True, may_be_damaged: bool = False) -> Store:
    """The database that the settings name, with its key and an up-to-date schema.

    Raises:
        Conflict: the schema is newer than this program, the key is another database's, the file another program's.
        Unavailable: it can't be opened, or was found damaged.
    """
    store = _new_store(settings)
    found = store.check()
    if found == len(store.migrations()):
        store.key = _known_key(store, settings.key_path)
        if not may_be_damaged:
            doctor.require_whole(store)
        return store
    if store.dialect == "postgres" and not may_migrate:
        raise Unavailable(
            f"{store.describe()} has schema version {found}, this program needs {len(store.migrations())}",
            hint="Run `engram migrate` as a user who may",
        )
    migrate(store, settings)
    return store


def look_at_store(settings: Settings) -> Store:
    """The database as it is, without bringing its schema up to date: for who only looks."""
    store = _new_store(settings, is_only_read=True)
    store.check()
    store.key = _known_key(store, settings.key_path)
    return store


def open_and_migrate(settings: Settings) -> tuple[Store, int]:
    """The database with an up-to-date schema, and how many migrations that took."""
    store = _new_store(settings)
    store.check()
    return store, migrate(store, settings)


def _new_store(settings: Settings, *, is_only_read: bool = False) -> Store:
    if settings.database_url:
        from engram.store.postgres import PostgresStore  # noqa: PLC0415 - the driver is loaded where it is used

        return PostgresStore(settings.database_url)
    from engram.store.sqlite import SqliteStore  # noqa: PLC0415 - as above

    return SqliteStore(settings.database_file, is_only_read=is_only_read)


def migrate(store: Store, settings: Settings) -> int:
    """Bring the schema up to date; a new database gets its key's id, its model and, on SQLite, its user."""

    models.wanted(settings)  # a wrong name is refused before anything is made

    def finish(tx: Tx) -> None:
        store.key = make_key(settings.key_path)
        facts.put(tx, "key_id", key_id(store.key))
        models.start(tx, settings)
        if store.dialect == "sqlite":
            users.add_local(tx)

    ran = store.migrate(finish)
    store.key = _known_key(store, settings.key_path)
    return ran


def make_key(path: Path) -> bytes:
    """The server key at the path, made (mode 0600) if there is none; the caller holds the migration lock."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists():
            return _read_key(path)
        key = os.urandom(KEY_BYTES)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)  # whole or not at all
    except OSError as error:
        raise Unavailable(
            f"the key file {path} can't be made: {os.strerror(error.errno or 0)}",
            hint="Set ENGRAM_KEY_FILE to a path that can be written",
        ) from error
    return key


def _read_key(path: Path) -> bytes:
    try:
        key = path.read_bytes()
    except OSError as error:
        raise Conflict(
            f"the key file {path} is missing or can't be read",
            hint="Put back the key that was made with this database, or name it with ENGRAM_KEY_FILE",
        ) from error
    if len(key) != KEY_BYTES:
        raise Conflict(
            f"the key file {path} is not an Engram key",
            hint="Put back the key that was made with this database, or name it with ENGRAM_KEY_FILE",
        )
    return key


def key_id(key: bytes) -> str:
    """What a database knows of its key."""
    return hashlib.blake2b(key, digest_size=16, person=b"engram-key-id").hexdigest()


def _known_key(store: Store, path: Path) -> bytes:
    key = _read_key(path)
    with store.reading() as tx:
        known = facts.get(tx, "key_id")
    if known != key_id(key):
        raise Conflict(
            f"the key file {path} belongs to another database than {store.describe()}",
            hint="Put back the key that was made with this database, or name it with ENGRAM_KEY_FILE",
        )
    return key


class App:
    """An open engine with one caller: what a stdio process or a command line runs its calls on."""

    calls_max = CALLS_MAX

    def __init__(self, settings: Settings, *, folder: Path | None = None, has_worker: bool = True) -> None:
        self.settings = settings
        self.store = open_store(settings)
        embedder = models.opened(self.store, settings)
        self.engine = Engine(store=self.store, embedder=embedder, settings=settings)
        self.worker = Worker(self.engine)
        if has_worker:
            self.engine.worker = self.worker
        self.context = Context(engine=self.engine, actor_id="", folder=folder)
        self._sign_in()

    @property
    def embedder(self) -> Embedder:
        """The model that this process uses now."""
        return self.engine.embedder

    def _sign_in(self) -> None:
        if self.store.dialect == "sqlite":
            with self.store.reading() as tx:
                self.context.actor_id = users.local_actor_id(tx)
            return
        self.settings.require_token()
        token = users.sign_in(self.store, self.settings.token)
        self.context.actor_id, self.context.token_id = token.actor_id, token.id

    def call(self, tool: registry.Tool, arguments: object, *, client: str = "") -> registry.Answer:
        """Run a tool; blocking, from any thread."""

        def run(context: Context) -> registry.Answer:
            return registry.call(tool, context, arguments, body_chars_max=self.settings.body_chars_max)

        try:
            return self.ask(run, client=client)
        except EngramError as error:
            return registry.failure(tool, error)

    def ask(self, read: Callable[[Context], Result], *, client: str = "") -> Result:
        """Run this as the caller; blocking, from any thread.

        Raises:
            EngramError: the token is revoked; and what the function raises.
        """
        if self.context.token_id:
            users.sign_in(self.store, self.settings.token)  # a revoked token is refused from the next call on
        context = replace(self.context, client=client)  # the sessions of the connection are shared
        result = read(context)
        self.context.found = context.found  # the folder is looked at once
        return result

    def idle(self) -> None:
        """Let go of the model, the vectors and the connections; the next call loads what it needs."""
        self.worker.finish(5.0)
        self.worker.pause()
        self.embedder.drop()
        self.store.drop()

    def close(self) -> None:
        """Finish the batch at hand and close."""
        self.worker.stop()
        self.embedder.drop()
        self.store.close()
