"""Search, warm, beside the sum of what no search can do without; and what a process holds after one."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.figures import Figure, percentiles, ratio, timed
from bench.filling import texts
from bench.wired import ENGRAM, Wired
from engram.app import App
from engram.engine import access
from engram.engine.candidates import affordable, ask, frequencies
from engram.store.base import Filter, Place
from engram.tools import registry

QUERIES = 80
WARM = 10
ASKED = 2_000_000  # texts that nothing was filled with
ALL, ONE = "*", "bench0"


def queries(count: int) -> list[str]:
    """Questions of three words of a text each."""
    found: list[str] = []
    for i, (_, body) in enumerate(texts(2 * count, start=ASKED)):
        words = sorted(set(re.findall(r"[a-z]{4,}", body)))
        if len(words) >= 3:
            found.append(f"how does {' '.join(random.Random(i).sample(words, 3))} work")
    return found[:count]


def search(app: App, size: int) -> list[Figure]:
    """mem_search of everything and of one project in ten, in turn with the sum of the parts of the first.

    The words of a query are met before they are timed, as are the pages that they lie on: warm.
    """
    tool = registry.TOOLS["mem_search"]
    asked = queries(WARM + QUERIES)
    matrix = np.random.default_rng(4).standard_normal((size, app.embedder.dim)).astype(np.float32)
    ours: dict[str, list[float]] = {ALL: [], ONE: []}
    sums: list[float] = []
    parts: dict[str, list[float]] = {"embedding": [], "product": [], "words": []}
    for i, query in enumerate(asked):
        for project, took in ours.items():
            sent = {"query": query, "project": project}
            app.call(tool, sent)
            took.append(timed(lambda sent=sent: _done(app.call(tool, sent))))
        found = bare(app, query, matrix)
        for part, value in found.items():
            parts[part].append(value)
        sums.append(sum(found.values()))
        if i == WARM - 1:
            for values in (*ours.values(), sums, *parts.values()):
                values.clear()
    baseline = statistics.median(sums)
    by_part = ", ".join(f"{name} {statistics.median(values):.2f}" for name, values in parts.items())
    p50, p95 = percentiles(ours[ONE])
    whole = statistics.median(ours[ALL])
    return [
        ratio("search, all", ours[ALL], baseline, size=size, most=1.3 if size >= 100_000 else None),
        Figure(what="its baseline, by part", size=size, measured="", baseline=f"{by_part} ms"),
        Figure(
            what="search, one project of ten",
            size=size,
            measured=f"{p50:.2f} ms (p95 {p95:.2f})",
            baseline=f"{whole:.2f} ms (all)",
            compared=f"{p50 / whole:.2f} times",
            target="less than all",
            is_met=p50 < whole,
        ),
    ]


def bare(app: App, query: str, matrix: np.ndarray) -> dict[str, float]:
    """Milliseconds of a query's embedding, of one float32 matrix product, and of the bare word query."""
    vector = app.embedder.embed_query(query)
    sql = "select rowid from words where words match :match order by rank limit 300"
    with app.store.reading() as tx:
        terms = ask(app.engine, query).terms
        who = access.reach(tx, app.context)
        dfs, _ = frequencies(tx, who, Filter(places=(Place(library_id=who.bound.id),)), terms)
        match = " OR ".join(f'"{variant}"' for i in affordable(dfs) for variant in terms[i].variants)
        acts: dict[str, Callable[[], object]] = {
            "words": lambda: tx.all(sql, match=match),
            "embedding": lambda: app.embedder.embed_query(query),
            "product": lambda: matrix @ vector,
        }
        found: dict[str, float] = {}
        for part, act in acts.items():
            act()  # as warm as ours
            found[part] = timed(act)
        return found


def _done(answer: registry.Answer) -> None:
    assert not answer.is_error, answer.text


def held_after_a_search(folder: Path, size: int) -> Figure:
    """What a fresh stdio process holds once it has searched the store."""
    _searched(folder)  # compiles the modules
    now, most = _searched(folder)
    is_large = size >= 100_000
    return Figure(
        what="fresh stdio process after its first search",
        size=size,
        measured=f"{now:.0f} MiB, peak {most:.0f}",
        target="at most 400 MiB" if is_large else "",
        is_met=max(now, most) <= 400 if is_large else None,
    )


def _searched(folder: Path) -> tuple[float, float]:
    with Wired(ENGRAM, folder) as server:
        server.call("mem_search", query=queries(1)[0], project=ALL)
        return server.memory_mib()
