"""Cures that no other file tests: one test a pain (see pains.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engram import settings as configuration
from engram.engine import browse, candidates, capture, lifecycle, memories, search, sessions
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.errors import Invalid
from engram.model import Draft
from engram.store.base import Filter, Place
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools
TOKEN = "ghp_" + "aB3dE6gH9" * 4


def test_an_answer_is_said_once(ctx: Context) -> None:
    """A text tool answers text alone: no structured copy doubles its cost."""
    answer = registry.call(registry.TOOLS["mem_stats"], ctx, {})
    assert answer.structured is None
    assert registry.TOOLS["mem_stats"].output is None


def test_a_search_reads_the_bodies_of_the_hits_it_shows_and_no_others(ctx: Context) -> None:
    """Bodies are asked for once, by the ids of the hits; candidates bring none."""
    for i in range(12):
        memories.remember(ctx, Draft(title=f"Note {i}", body=f"the cache of server {i} is warm " * 50), Where())
    search.search(ctx, "warm the vectors")
    with ctx.engine.store.tracing() as statements:
        found = search.search(ctx, "which cache is warm", limit=3)
    assert len(found.hits) == 3
    with_bodies = [sql for sql in statements if "m.body" in sql and "pending" not in sql]
    assert len(with_bodies) == 1


def test_the_word_index_ranks_the_better_match_first(ctx: Context) -> None:
    """The sign of FTS5's rank is turned the right way round, on both backends."""
    weak = memories.remember(ctx, Draft(title="Weak", body="alpha " + "filler words go here " * 30), Where()).memory
    strong = memories.remember(ctx, Draft(title="Strong alpha beta", body="alpha beta gamma"), Where()).memory
    terms = candidates.ask(ctx.engine, "alpha beta gamma").terms
    where = Filter(places=(Place(library_id=weak.library_id),))
    with ctx.engine.store.reading() as tx:
        first = tx.words(where, terms, [1.0] * len(terms), 1)
        assert tx.value("select memory_id from chunk where id = :id", id=first[0]) == strong.id


def test_a_folder_above_several_repositories_saves(ctx: Context, tmp_path: Path) -> None:
    """The folder's own name is the project; nothing is ambiguous."""
    above = Path("/srv") / "engram-test-above"
    ctx.engine.settings = configuration.read({"ENGRAM_DATA_DIR": str(tmp_path)})
    ctx.folder = above  # need not exist: a project is never a reason to refuse a save
    assert memories.remember(ctx, Draft(title="T", body="text"), Where()).project == "engram-test-above"


@pytest.mark.parametrize("blank", ["", " \n\t", "\u200b\u2060", "\u00a0\u3000", "\x07\x1f"])
def test_blank_titles_are_refused_at_every_door(ctx: Context, blank: str) -> None:
    """By save and by update; blank contents too."""
    save, update = registry.TOOLS["mem_save"], registry.TOOLS["mem_update"]
    assert registry.call(save, ctx, {"title": blank, "content": "x"}).code == "invalid"
    assert registry.call(save, ctx, {"title": "x", "content": blank}).code == "invalid"
    assert registry.call(save, ctx, {"title": "T", "content": "x"}).code == ""
    assert registry.call(update, ctx, {"id": 1, "title": blank}).code == "invalid"
    assert registry.call(update, ctx, {"id": 1, "content": blank}).code == "invalid"


def test_every_text_field_is_redacted(ctx: Context) -> None:
    """Title, content, topic key, source, session summary, prompt, captured items, updates: no row holds the token."""
    sessions.start(ctx, "s", project="shop", directory="")
    memories.remember(ctx, Draft(title=f"T {TOKEN}", body=TOKEN, topic_key=TOKEN, source=TOKEN), Where())
    memories.update(ctx, "1", Change(title=f"again {TOKEN}"))
    capture.capture(ctx, f"## Learnings\n- the deploy token is {TOKEN}", source=f"hook {TOKEN}", where=Where())
    capture.save_prompt(ctx, f"use {TOKEN}", Where())
    capture.save_summary(ctx, f"## Goal\n{TOKEN}", Where())
    sessions.end(ctx, "s", summary=f"done with {TOKEN}")
    with ctx.engine.store.reading() as tx:
        for table in ("memory", "version", "chunk", "session", "event", "namespace"):
            for row in tx.all(f"select * from {table}"):
                assert TOKEN.casefold() not in repr(row).casefold(), table
    with pytest.raises(Invalid):
        capture.save_prompt(ctx, "<private>all</private>", Where())
    assert lifecycle.read(ctx, "1")[0].title == "again [REDACTED:github-token]"


def test_the_default_folder_is_the_persons_own() -> None:
    """Not the package's, not a temporary one, so that an update takes nothing away."""
    assert configuration.read({}).data_dir == Path.home() / ".engram"


def run(code: str, **env: str) -> str:
    """Run Python in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return done.stdout


def test_the_tools_are_listed_before_model_and_database_are_loaded(tmp_path: Path) -> None:
    """What `engram mcp` imports before the first call: neither model nor drivers."""
    code = (
        "import sys; from engram.surfaces import mcp; from engram.tools import mem, registry; registry.select('mem')\n"
        "print([m for m in ('numpy', 'onnxruntime', 'tokenizers', 'apsw', 'psycopg', 'cyclopts', 'rich') if m in sys.modules])"
    )
    assert run(code, ENGRAM_DATA_DIR=str(tmp_path)) == "[]\n"


def test_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    """A save and a search by meaning, with every socket forbidden."""
    code = (
        "import socket, sys\n"
        "def no(*a, **k): raise SystemExit('a socket was opened')\n"
        "socket.socket.connect = no; socket.create_connection = no; socket.getaddrinfo = no\n"
        "from engram.surfaces import cli\n"
        "assert cli.run(['save', 'Cookies', 'Safari drops SameSite=None cookies']) == 0\n"
        "assert cli.run(['search', 'why do logins break on Safari']) == 0\n"
    )
    assert "[1] #1" in run(code, ENGRAM_DATA_DIR=str(tmp_path), ENGRAM_PROJECT="shop", HF_HUB_OFFLINE="")


def test_texts_that_look_alike_are_all_kept(ctx: Context) -> None:
    """Only the same text is a repeat: numbers and templates are different notes."""
    for i in range(20):
        memories.remember(ctx, Draft(title="Build", body=f"Build {i} of service web-{i} took {i * 7} seconds"), Where())
    assert browse.stats(ctx).observations == 20


def test_times_are_utc_whatever_the_machines_zone(tmp_path: Path) -> None:
    """The same moment reads the same at +14 and at -11 hours."""
    code = (
        "import json; from pathlib import Path; from engram.app import App; from engram.settings import Settings\n"
        "from engram.tools import mem, registry\n"
        f"app = App(Settings(data_dir=Path({str(tmp_path)!r})), folder=None, has_worker=False)\n"
        "app.store.clock = lambda: 1_790_000_000_000\n"
        "app.call(registry.TOOLS['mem_save'], {'title': 'T', 'content': 'x'})\n"
        "print(json.dumps(app.call(registry.TOOLS['mem_get_observation'], {'id': 1}).text)); app.close()"
    )
    east = json.loads(run(code, TZ="Pacific/Kiritimati"))
    west = json.loads(run(code, TZ="Pacific/Pago_Pago"))
    line = next(line for line in east.splitlines() if line.startswith("Created: "))
    assert "2026-09-21T14:13:20.000Z" in line
    assert line in west
