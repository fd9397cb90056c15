"""Save: acknowledged and durable, by part, beside a bare insert on the same connection in the same turn."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import apsw

from bench.figures import Figure, ratio, timed
from bench.filling import FRESH, texts
from engram.app import App
from engram.engine import memories
from engram.store.sqlite import SqliteStore
from engram.tools import registry

SAVES = 300
WARM = 50

PARTS = ("prepare", "statements", "commit")


class Watched:
    """A connection that notes where time goes."""

    def __init__(self, connection: apsw.Connection, spent: defaultdict[str, float]) -> None:
        self._connection = connection
        self._spent = spent

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the connection has
        return getattr(self._connection, name)

    def execute(self, sql: str, params: Any = None) -> Answered:  # noqa: ANN401 - apsw's
        """Run a statement to its end."""
        began = time.perf_counter()
        rows = self._connection.execute(sql, params).fetchall()
        self._spent["commit" if sql == "commit" else "statements"] += time.perf_counter() - began
        return Answered(rows)


class Answered(list[Any]):
    """The rows of a statement that has run."""

    def fetchall(self) -> list[Any]:
        """All of them."""
        return self


@contextmanager
def watching(app: App, spent: defaultdict[str, float]) -> Generator[None]:
    """Note what saves spend on preparing, on statements and on the commit, in seconds."""
    store = cast("SqliteStore", app.store)
    with store.writing():
        pass  # the writer is open
    plain, prepare = store._writer, memories.prepare
    assert plain

    def prepared(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - passed through
        began = time.perf_counter()
        try:
            return prepare(*args, **named)
        finally:
            spent["prepare"] += time.perf_counter() - began

    store._writer = cast("apsw.Connection", Watched(plain, spent))
    memories.prepare = prepared
    try:
        yield
    finally:
        store._writer, memories.prepare = plain, prepare


def save(app: App, size: int) -> list[Figure]:
    """mem_save against the bare insert, taken in turns so that a loaded machine hurts both alike."""
    tool = registry.TOOLS["mem_save"]
    ours: list[float] = []
    theirs: list[float] = []
    parts: dict[str, list[float]] = {part: [] for part in PARTS}
    bare_parts: dict[str, list[float]] = {part: [] for part in PARTS}
    spent: defaultdict[str, float] = defaultdict(float)
    with watching(app, spent):
        insert = bare_insert(app)
        for i, (title, body) in enumerate(texts(WARM + SAVES, start=FRESH + size)):
            arguments = {"title": title, "content": body, "project": "bench0", "topic_key": f"{size}/{i}"}
            acts: list[tuple[Callable[[], object], list[float], dict[str, list[float]]]] = [
                (lambda sent=arguments: _done(app.call(tool, sent)), ours, parts),
                (lambda t=title, b=body: insert(t, b), theirs, bare_parts),
            ]
            for act, whole, by_part in acts if i % 2 else acts[::-1]:
                spent.clear()
                took = timed(act)
                if i >= WARM:
                    whole.append(took)
                    for part in PARTS:
                        by_part[part].append(spent[part] * 1000)
    clean_bare(app)
    baseline = statistics.median(theirs)
    return [
        ratio("save", ours, baseline, size=size, most=2),
        Figure(what="save, by part", size=size, measured=_shares(ours, parts), baseline=_shares(theirs, bare_parts)),
    ]


def _done(answer: registry.Answer) -> None:
    assert not answer.is_error, answer.text


def _shares(whole: list[float], parts: dict[str, list[float]]) -> str:
    """The median of each part, and of what is left."""
    rest = [total - sum(values) for total, *values in zip(whole, *parts.values(), strict=True)]
    found = {**parts, "rest": rest}
    return ", ".join(f"{name} {statistics.median(values):.2f}" for name, values in found.items() if any(values)) + " ms"


def flat(medians: dict[int, float]) -> list[Figure]:
    """What a save costs in the largest store beside the smallest: it should not grow with the store."""
    (small, first), *_, (large, last) = sorted(medians.items())
    return [
        Figure(
            what="save, as the store grows",
            size=large,
            measured=f"{last:.2f} ms",
            baseline=f"{first:.2f} ms (at {small:,})",
            compared=f"{last / first:.2f} times",
            target="flat: at most 1.25 times",
            is_met=last <= 1.25 * first,
        )
    ]


def bare_insert(app: App) -> Callable[[str, str], None]:
    """One row into each table to which a save adds one, with the same indexes, in the same durability mode, no more."""
    writer = cast("SqliteStore", app.store)._writer
    assert writer
    names = [str(item[1]) for item in writer.execute("pragma table_info(memory)").fetchall()]
    row = writer.execute("select * from memory limit 1").fetchall()[0]
    like: dict[str, Any] = dict(zip(names, row, strict=True))
    into_memory = f"insert into memory ({', '.join(names)}) values ({', '.join(f':{n}' for n in names)})"
    numbers = iter(range(100_000_000, 200_000_000))

    def insert(title: str, body: str) -> None:
        n = next(numbers)
        values = {
            **like, "id": f"bare-{n}", "number": n, "title": title, "body": body, "topic_key": f"bare/{n}",
            "same_hash": f"{n:064d}", "created_at": like["created_at"] + n,
        }  # fmt: skip
        writer.execute("begin immediate")
        [(chunk_id,)] = writer.execute(
            "insert into chunk (library_id, memory_id, position, first_char, last_char, length, flags, terms)"
            " values (?, ?, 0, 0, 600, 90, 0, ?) returning id",
            (values["library_id"], values["id"], body),
        ).fetchall()
        writer.execute(
            "insert into words (rowid, title, body, keys, scope) values (?, ?, ?, '', 'x')", (chunk_id, title, body)
        )
        writer.execute(
            "insert into pending (chunk_id, library_id, since) values (?, ?, 0)", (chunk_id, values["library_id"])
        )
        writer.execute(into_memory, values)
        writer.execute(
            "insert into event (library_id, seq, leaf_index, at, actor_id, token_id, verb, target, detail, leaf_hash)"
            " values (?, ?, null, 0, '', '', 'bare', '', ?, null)",
            (values["library_id"], n, title),
        )
        writer.execute("commit")

    return insert


def clean_bare(app: App) -> None:
    """Take the baseline's rows out again, and what waits for a vector: a search would make it."""
    with app.store.writing() as tx:
        for (chunk_id,) in tx.all("select id from chunk where memory_id like 'bare-%'"):
            tx.run("delete from words where rowid = :i", i=chunk_id)
        tx.run("delete from pending")
        tx.run("delete from chunk where memory_id like 'bare-%'")
        tx.run("delete from memory where id like 'bare-%'")
        tx.run("delete from event where verb = 'bare'")
