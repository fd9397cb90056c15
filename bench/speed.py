"""``python -m bench.speed``: save and search at several sizes, each against a baseline measured in the same run.

Words are real text (docstrings and sources of the standard library), vectors random unit vectors, one chunk a
memory. A save is acknowledged and durable; its baseline is a bare insert of one row each into tables with the
same indexes in the same durability mode. A search is warm; its baseline is the sum of the query's own embedding,
one float32 matrix product of that size and the bare word query.
That sum is over all memories in the row of one project too, which reads a tenth of them: that row's ratio flatters.
Two rows of one size measure the same sum, so the difference between their baselines is the machine's noise.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import platform
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from engram.app import App
from engram.engine import access, index, memories, places
from engram.engine.candidates import ask
from engram.engine.ledger import Ledger
from engram.engine.prepare import prepare
from engram.model import Draft
from engram.settings import Settings
from engram.store import chunks
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools
CHARS = 600
BATCH = 1_000
SAVES = 200
QUERIES = 60
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One measurement beside its baseline, in milliseconds."""

    size: int
    what: str
    p50: float
    p95: float
    baseline: float

    @property
    def ratio(self) -> float:
        """How many times the baseline."""
        return self.p50 / self.baseline


def texts(count: int) -> Iterator[tuple[str, str]]:
    """(title, body) pairs cut from the standard library's sources, never the same twice."""
    folder = Path(os.__file__).parent
    names = sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if (folder / f"{m.name}.py").exists())
    pool = "\n".join((folder / f"{name}.py").read_text(encoding="utf-8", errors="ignore") for name in names)
    pool = re.sub(r"[ \t]+", " ", pool)
    dice = random.Random(1)
    for i in range(count):
        at = dice.randrange(len(pool) - CHARS)
        yield f"Note {i} on {names[i % len(names)]}", pool[at : at + CHARS]


def fill(app: App, count: int, already: int) -> None:
    """Bring the project ``bench`` and nine others to ``count`` memories in all, with vectors."""
    noise = np.random.default_rng(2)
    todo = [pair for i, pair in enumerate(texts(count)) if i >= already]
    for start in range(0, len(todo), BATCH):
        ready = [prepare(app.engine, Draft(title=t, body=b)) for t, b in todo[start : start + BATCH]]
        with app.store.writing() as tx:
            who = access.reach(tx, app.context)
            target = places.target(tx, app.context, who, project=f"bench{(start // BATCH) % 10}", scope="project")
            namespace, _ = places.open_namespace(tx, target)
            drawn = [(memories.draw(tx, app.context, item, namespace, None), item) for item in ready]
            ids = [
                index.replace_chunks(tx, m.id, was=None, now=index.facets_of(m), pieces=item.pieces)
                for m, item in drawn
            ]
            ledger = Ledger(tx, app.context, [namespace.library_id])
            stored = [ledger.insert(m) for m, _ in drawn]
            ledger.close("memory.stored", {namespace.library_id: stored[0].id})
        with app.store.writing() as tx:
            model = chunks.add_model(tx, app.embedder.model_id, app.embedder.dim)
            for m, chunk_ids in zip(stored, ids, strict=True):
                for chunk_id in chunk_ids:
                    vector = noise.standard_normal(app.embedder.dim).astype(np.float32)
                    vector /= np.linalg.norm(vector)
                    tx.put_vector(chunk_id, model=model, facets=index.facets_of(m), vector=vector)
            chunks.settle(tx, [chunk_id for chunk_ids in ids for chunk_id in chunk_ids])


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def percentiles(values: list[float]) -> tuple[float, float]:
    """(p50, p95)."""
    return statistics.median(values), sorted(values)[int(len(values) * 0.95)]


def measure_save(app: App, size: int, bare: Callable[[str, str], None]) -> Line:
    """mem_save against the bare insert, taken in turns so that a loaded machine hurts both alike."""
    tool = registry.TOOLS["mem_save"]
    pairs = list(texts(size + SAVES))[size:]
    ours: list[float] = []
    theirs: list[float] = []
    for i, (title, body) in enumerate(pairs):
        arguments = {
            "title": f"{title} {size} {i}",
            "content": f"{body} {i}",
            "project": "bench0",
            "topic_key": f"{size}/{i}",
        }
        ours.append(timed(lambda sent=arguments: app.call(tool, sent)))
        theirs.append(timed(lambda t=title, b=body: bare(t, b)))
    p50, p95 = percentiles(ours)
    return Line(size=size, what="save", p50=p50, p95=p95, baseline=percentiles(theirs)[0])


def bare_insert(app: App) -> Callable[[str, str], None]:
    """One row into each table that a save writes, with the same indexes, in the same durability mode, no more."""
    number = [10_000_000]

    def insert(title: str, body: str) -> None:
        number[0] += 1
        n = number[0]
        with app.store.writing() as tx:
            row = tx.one("select * from memory limit 1")
            names = [item[1] for item in tx.all("pragma table_info(memory)")]
            assert row is not None
            values = dict(zip(names, row, strict=True))
            values |= {"id": f"bare-{n}", "number": n, "title": title, "body": body, "topic_key": f"bare/{n}"}
            values |= {"same_hash": f"{n:064d}", "created_at": values["created_at"] + n}
            chunk_id = tx.value(
                "insert into chunk (library_id, memory_id, position, first_char, last_char, length, flags, terms)"
                " values (:l, :m, 0, 0, 600, 90, 0, :t) returning id",
                l=values["library_id"], m=values["id"], t=body,
            )  # fmt: skip
            tx.run("insert into words (rowid, title, body, keys, scope) values (:i, :t, :b, '', 'x')", i=chunk_id, t=title,
                   b=body)  # fmt: skip
            tx.run(
                "insert into pending (chunk_id, library_id, since) values (:i, :l, 0)",
                i=chunk_id,
                l=values["library_id"],
            )
            tx.run(f"insert into memory ({', '.join(names)}) values ({', '.join(f':{n}' for n in names)})", **values)
            tx.run(
                "insert into event (library_id, seq, leaf_index, at, actor_id, token_id, verb, target, detail, leaf_hash)"
                " values (:l, :n, null, 0, '', '', 'bare', '', :d, null)",
                l=values["library_id"], n=n, d=title,
            )  # fmt: skip

    return insert


def clean_bare(app: App) -> None:
    """Take the baseline's rows out again."""
    with app.store.writing() as tx:
        rows = tx.all("select id from chunk where memory_id like 'bare-%'")
        for (chunk_id,) in rows:
            tx.run("delete from words where rowid = :i", i=chunk_id)
            tx.run("delete from pending where chunk_id = :i", i=chunk_id)
        for sql in ("delete from chunk where memory_id like 'bare-%'", "delete from memory where id like 'bare-%'",
                    "delete from event where verb = 'bare'"):  # fmt: skip
            tx.run(sql)


def measure_search(app: App, size: int, *, project: str) -> Line:
    """mem_search against the sum of its unavoidable parts."""
    tool = registry.TOOLS["mem_search"]
    dice = random.Random(3)
    bodies = list(texts(300))
    queries = ["how does " + " ".join(dice.sample(re.findall(r"[a-z]{4,}", body) or ["text"], 3)) + " work"
               for _, body in bodies if len(re.findall(r"[a-z]{4,}", body)) >= 3][:QUERIES]  # fmt: skip
    for query in queries[:5]:
        app.call(tool, {"query": query, "project": project})
    ours = [timed(lambda q=query: app.call(tool, {"query": q, "project": project})) for query in queries]
    matrix = np.random.default_rng(4).standard_normal((size, app.embedder.dim)).astype(np.float32)
    parts: list[float] = []
    with app.store.reading() as tx:
        for query in queries:
            vector = app.embedder.embed_query(query)
            embed = timed(lambda q=query: app.embedder.embed_query(q))
            product = timed(lambda v=vector: matrix @ v)
            match = " OR ".join(f'"{variant}"' for term in ask(app.engine, query).terms for variant in term.variants)
            words = timed(
                lambda m=match: tx.all("select rowid from words where words match :m order by rank limit 300", m=m)
            )
            parts.append(embed + product + words)
    p50, p95 = percentiles(ours)
    what = "search, one project of ten" if project != "*" else "search, all"
    return Line(size=size, what=what, p50=p50, p95=p95, baseline=percentiles(parts)[0])


def rss_mib() -> float:
    """Resident memory of this process."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Measure, print, and write docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    given = parser.parse_args()
    rows = ["| memories | what | p50 ms | p95 ms | baseline p50 ms | ratio |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        app = App(Settings(data_dir=Path(name), project="bench0"), folder=Path(name), has_worker=False)
        filled = 0
        for size in map(int, given.sizes.split(",")):
            began = time.perf_counter()
            fill(app, size, filled)
            print(f"filled to {size} in {time.perf_counter() - began:.0f} s", file=sys.stderr)
            filled = size
            lines = [measure_save(app, size, bare_insert(app))]
            clean_bare(app)
            with app.store.writing() as tx:  # what the saves left without a vector would be embedded by each search
                tx.run("delete from pending")
            lines += [measure_search(app, size, project=project) for project in ("*", "bench0")]
            rows += [
                f"| {line.size} | {line.what} | {line.p50:.1f} | {line.p95:.1f} | {line.baseline:.1f} | {line.ratio:.2f} |"
                for line in lines
            ]
            print("\n".join(rows[-3:]))
        rows.append(
            f"\nResident memory of the process at the end: {rss_mib():.0f} MiB (the baseline's matrix is gone)."
        )
        app.close()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    page = f"# Benchmarks\n\nMade by `python -m bench.speed --sizes {given.sizes} --write` on {machine}. {(__doc__ or '').split(chr(10), 2)[2].strip()}\n\n"
    print(page + "\n".join(rows))
    if given.write:
        PAGE.write_text(page + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
