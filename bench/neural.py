"""``python -m bench neural``: recall, store and sweep of the neural family, each beside its baseline in the same run.

Words and vectors as in ``bench speed``; three links a memory; every memory decays.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, Section, memory_mib, percentiles, ratio, timed
from bench.filling import FRESH, fill, opened, texts
from engram.app import App
from engram.model import AUTO_SIMILAR, BY_AUTO_LINK, Link
from engram.store import links
from engram.tools import families, registry

QUERIES = 60
STORES = 60
LINKS = 3
RECALL_MAX = 2.0
STORE_MAX = 1.5
STORE_MORE_MS = 5.0
SWEEP_ROWS_MIN = 20_000
SWEEP_MIB_MAX = 100.0
SAYS = (
    "`recall_context` beside `search_memory` on the same queries; `store_memory`, with links and contradictions, beside "
    "the model's own time for that text; a dry `decay_sweep` without consolidation over every memory."
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in the store, with commas")
    given = parser.parse_args()
    families.load()
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        app = opened(Path(name))
        gc.freeze()
        filled = 0
        for size in sorted(map(int, given.sizes.split(","))):
            fill(app, size, filled)
            link(app, filled)
            filled = size
            for figure in (*recall(app, size), store(app, size), *sweep(app, size)):
                print(" | ".join(figure.row()), file=sys.stderr, flush=True)
                found.append(figure)
        app.close()
    print(Section(name="Neural", says=SAYS, figures=found).text())


def link(app: App, already: int) -> None:
    """Give every new memory LINKS links to others, and let it decay."""
    dice = random.Random(already)
    with app.store.writing() as tx:
        tx.run("update memory set decays = 1")
        rows = tx.all("select library_id, id from memory order by id")
        for library_id, memory_id in rows[already:]:
            for _, other in dice.sample(rows, LINKS):
                links.put(
                    tx,
                    Link(
                        library_id=library_id,
                        from_id=memory_id,
                        to_id=other,
                        to_library_id=library_id,
                        relation=AUTO_SIMILAR,
                        weight=0.8,
                        created_by=BY_AUTO_LINK,
                        created_at=tx.now,
                    ),
                )


def recall(app: App, size: int) -> list[Figure]:
    """recall_context and search_memory in turn."""
    dice = random.Random(5)
    words = [re.findall(r"[a-z]{4,}", body) for _, body in texts(QUERIES * 2)]
    queries = [f"how does {' '.join(dice.sample(each, 3))} work" for each in words if len(each) >= 3][:QUERIES]
    tools = [registry.TOOLS[name] for name in ("recall_context", "search_memory")]
    times: list[list[float]] = [[], []]
    for query in [*queries[:5], *queries]:
        for tool, into in zip(tools, times, strict=True):
            into.append(timed(lambda q=query, t=tool: app.call(t, {"query": q})))
    ours, theirs = times[0][5:], times[1][5:]
    p95 = percentiles(ours)[1], percentiles(theirs)[1]
    judged = size >= 100_000
    return [
        ratio("recall_context", ours, percentiles(theirs)[0], size=size),
        Figure(
            what="recall_context, p95",
            size=size,
            measured=f"{p95[0]:.2f} ms",
            baseline=f"{p95[1]:.2f} ms (search_memory)",
            compared=f"{p95[0] / p95[1]:.2f} times",
            target=f"at most {RECALL_MAX:g} times" if judged else "",
            is_met=p95[0] / p95[1] <= RECALL_MAX if judged else None,
        ),
    ]


def store(app: App, size: int) -> Figure:
    """store_memory beside the model's time for its text."""
    tool = registry.TOOLS["store_memory"]
    ours: list[float] = []
    model: list[float] = []
    for title, body in texts(STORES, start=FRESH + size):
        content = f"{title}. {body}"
        model.append(timed(lambda text=content: app.embedder.embed_passage(text)))
        ours.append(
            timed(lambda text=content: app.call(tool, {"content": text, "type": "semantic", "namespace": "bench0"}))
        )
    p50, p95 = percentiles(ours)
    most = STORE_MAX * percentiles(model)[0] + STORE_MORE_MS
    return Figure(
        what="store_memory",
        size=size,
        measured=f"{p50:.2f} ms (p95 {p95:.2f})",
        baseline=f"{percentiles(model)[0]:.2f} ms (the model)",
        compared=f"{p50 / percentiles(model)[0]:.2f} times",
        target=f"at most {STORE_MAX:g} times plus {STORE_MORE_MS:g} ms",
        is_met=p50 <= most,
    )


def sweep(app: App, size: int) -> list[Figure]:
    """A dry sweep: memories a second, and memory more than before."""
    app.call(registry.TOOLS["decay_policy"], {"action": "update", "consolidationEnabled": False})
    before = memory_mib(os.getpid())[0]
    began = time.perf_counter()
    answer = app.call(registry.TOOLS["decay_sweep"], {"dryRun": True})
    seconds = time.perf_counter() - began
    assert answer.structured is not None
    rate = answer.structured["scannedCount"] / seconds
    more = max(0.0, memory_mib(os.getpid())[0] - before)
    return [
        Figure(
            what="decay_sweep",
            size=size,
            measured=f"{rate:,.0f} memories/s",
            target=f"at least {SWEEP_ROWS_MIN:,}",
            is_met=rate >= SWEEP_ROWS_MIN,
        ),
        Figure(
            what="decay_sweep, memory",
            size=size,
            measured=f"+{more:.0f} MiB",
            target=f"at most +{SWEEP_MIB_MAX:g} MiB",
            is_met=more <= SWEEP_MIB_MAX,
        ),
    ]


if __name__ == "__main__":
    main()
