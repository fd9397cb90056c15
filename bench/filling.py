"""A store of real words: cut from the standard library's docstrings and sources; random unit vectors."""

from __future__ import annotations

import os
import pkgutil
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from engram.app import App
from engram.engine import access, index, memories, places
from engram.engine.ledger import Ledger
from engram.engine.prepare import prepare
from engram.model import Draft
from engram.settings import Settings
from engram.store import chunks
from engram.tools import mem

assert mem.mem_save  # the module registers its tools
CHARS = 600  # one chunk
BATCH = 1_000
PROJECTS = 10
FRESH = 1_000_000  # texts that fill() never comes to


def opened(folder: Path) -> App:
    """An engine on this folder, without a worker: nothing competes with what is measured."""
    return App(Settings(data_dir=folder, project="bench0"), folder=folder, has_worker=False)


def texts(count: int, *, start: int = 0) -> Iterator[tuple[str, str]]:
    """(title, body) pairs cut from the standard library's docstrings and sources, never the same twice."""
    names, pool = _pool()
    for i in range(start, start + count):
        at = random.Random(i).randrange(len(pool) - CHARS)
        yield f"Note {i} on {names[i % len(names)]}", pool[at : at + CHARS]


@cache
def _pool() -> tuple[list[str], str]:
    folder = Path(os.__file__).parent
    names = sorted(m.name for m in pkgutil.iter_modules([str(folder)]) if (folder / f"{m.name}.py").exists())
    pool = "\n".join((folder / f"{name}.py").read_text(encoding="utf-8", errors="ignore") for name in names)
    return names, re.sub(r"[ \t]+", " ", pool)


def fill(app: App, count: int, already: int) -> None:
    """Bring ten projects to ``count`` memories in all, with vectors."""
    noise = np.random.default_rng(count)
    for start in range(already, count, BATCH):
        pairs = texts(min(BATCH, count - start), start=start)
        _put(app, [Draft(title=title, body=body) for title, body in pairs], noise, first=start)


def _put(app: App, drafts: list[Draft], noise: np.random.Generator, *, first: int) -> None:
    """One transaction: what a save writes for each draft, and a vector for each chunk."""
    ready = [prepare(app.engine, draft) for draft in drafts]
    with app.store.writing() as tx:
        who = access.reach(tx, app.context)
        spaces = [
            places.open_namespace(tx, places.target(tx, app.context, who, project=f"bench{i}", scope="project"))[0]
            for i in range(PROJECTS)
        ]
        drawn = [
            (memories.draw(tx, app.context, item, spaces[(first + i) % PROJECTS], None), item)
            for i, item in enumerate(ready)
        ]
        model = chunks.add_model(tx, app.embedder.model_id, app.embedder.dim)
        for memory, item in drawn:
            facets = index.facets_of(memory)
            ids = index.replace_chunks(tx, memory.id, was=None, now=facets, pieces=item.pieces)
            for chunk_id in ids:
                vector = noise.standard_normal(app.embedder.dim).astype(np.float32)
                tx.put_vector(chunk_id, model=model, facets=facets, vector=vector / np.linalg.norm(vector))
            chunks.settle(tx, ids)
        library_id = drawn[0][0].library_id
        ledger = Ledger(tx, app.context, [library_id])
        stored = [ledger.insert(memory) for memory, _ in drawn]
        ledger.close("memory.stored", {library_id: stored[0].id})
