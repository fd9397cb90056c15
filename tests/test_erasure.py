"""What was erased is gone: from every row, and after ``engram compact`` from every byte of every file."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import psycopg
import pytest

from engram import app as composition
from engram.app import App
from engram.engine import lifecycle, merging
from engram.engine.context import Context
from engram.errors import AccessDenied, Conflict, Invalid, NotFound
from engram.rules import seal
from engram.settings import Settings
from engram.store import events, libraries
from engram.store import memories as rows
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools

WORD = "Zanzibarquux"  # its analysed forms begin with the lower-cased stem
STEM = "zanzibarquu"
KEPT = "Kilimanjaro"


def engram(settings: Settings, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    env = {
        **os.environ,
        "ENGRAM_DATA_DIR": str(settings.data_dir),
        "ENGRAM_DATABASE_URL": settings.database_url,
        "ENGRAM_TOKEN": settings.token,
        "ENGRAM_PROJECT": "shop",
    }
    return subprocess.run(
        [sys.executable, "-m", "engram", *arguments], env=env, capture_output=True, text=True, check=False, input=stdin
    )


def ok(settings: Settings, *arguments: str) -> str:
    """The output of a command that succeeds."""
    done = engram(settings, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def places(settings: Settings, word: str) -> list[str]:
    """Where the word, or its lower-cased stem, still stands: files byte for byte, on a server every row as text."""
    wanted = re.compile(re.escape(word[:-1]), re.IGNORECASE)
    found = [
        path.name
        for path in settings.data_dir.rglob("*")
        if path.is_file() and wanted.search(path.read_bytes().decode("latin-1"))
    ]
    if settings.database_url:
        with psycopg.connect(settings.database_url) as connection:
            tables = connection.execute(
                "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
                " and c.relnamespace = 'public'::regnamespace order by 1"
            ).fetchall()
            for (table,) in [*tables, ("pg_stats",)]:
                texts = connection.execute(f"select t::text from {table} t".encode())
                found += [table for (text,) in texts if wanted.search(text)][:1]
    return found


def call(app: App, tool: str, **arguments: object) -> str:
    """The answer of a tool."""
    answer = app.call(registry.TOOLS[tool], arguments)
    assert not answer.is_error, answer.text
    return answer.text


def fill(settings: Settings) -> list[int]:
    """Texts with the word by every way in, and others between them; returns the numbers of those with the word."""
    app = App(settings, folder=settings.data_dir)
    text = f"The cluster {WORD} is in the cellar, beside the boiler. "
    numbers: list[int] = []

    def note(answer: str) -> None:
        found = re.search(r"#(\d+)", answer)
        assert found
        numbers.append(int(found[1]))

    for i in range(30):
        call(app, "mem_save", title=f"Filler {i}", content=f"{KEPT} {i} " + "words of every day " * (i * 7))
    note(call(app, "mem_save", title=f"On {WORD}", content=text * 90, topic_key=f"bug/{WORD}"))
    call(app, "mem_save", title=f"On {WORD} again", content=text * 80, topic_key=f"bug/{WORD}")
    call(app, "mem_update", id=numbers[0], title="Plain", content="plain text", topic_key="")
    note(call(app, "mem_save", title="Second", content=text, topic_key=f"other/{WORD}", project="api"))
    note(call(app, "mem_save", title="Own", content=text, scope="personal"))
    note(call(app, "mem_save_prompt", content=f"where is {WORD}?"))
    call(app, "mem_capture_passive", content=f"## Learnings\n- The host {WORD} needs a restart every week")
    numbers.append(numbers[-1] + 1)
    note(call(app, "mem_session_summary", content=f"## Goal\nfind {WORD}", project="shop"))
    app.worker.finish(60)
    assert "Found" in call(app, "mem_search", query=f"where is {WORD}")
    call(app, "mem_delete", id=numbers[1])
    merging.merge(replace(app.context), "api", "shop")
    app.close()
    return numbers


def test_no_byte_is_left_of_what_was_erased(settings: Settings) -> None:
    """Saved, revised, embedded, searched, merged, archived; then hard deleted by an agent's tool, and compacted."""
    numbers = fill(settings)
    assert places(settings, WORD)
    other = App(settings, folder=settings.data_dir)  # an idle process uses the database all the while
    assert "Found" in call(other, "mem_search", query=KEPT)
    for number in numbers:
        assert ok(settings, "call", "mem_delete", f"id={number}", "hard_delete=true").endswith("permanently deleted\n")
    done = json.loads(ok(settings, "compact", "--json"))
    assert (done["vacuum"], done["notes"]) == (False, [])
    assert places(settings, WORD) == []
    assert places(settings, KEPT)
    assert f"{KEPT} 7" in call(other, "mem_search", query=f"{KEPT} 7")
    assert "#" in call(other, "mem_save", title="Later", content="saved by the process that was there before")
    other.close()
    assert "No memories" in ok(settings, "search", WORD)
    assert "bytes before" in ok(settings, "compact", "--vacuum")


def test_only_the_text_of_an_erased_version_is_gone(settings: Settings) -> None:
    """Its commit id stays; the newest version and the others are as they were."""
    for text in (f"with {WORD}", "now without it", f"and with {KEPT}"):
        ok(settings, "save", f"Title {text}", text, "--topic-key", "k")
    shas = re.findall(r"^- ([0-9a-f]{12}) ", ok(settings, "get", "1", "--history"), re.MULTILINE)
    assert engram(settings, "erase", "1", "--version", shas[0], "--yes").returncode == 5
    assert engram(settings, "erase", "1", "--version", shas[2]).returncode == 2
    assert ok(settings, "erase", "1", "--version", shas[2], "--yes") == f"Version {shas[2]} of #1 erased\n"
    assert "erased already" in ok(settings, "erase", "1", "--version", shas[2], "--yes")
    ok(settings, "compact")
    assert places(settings, WORD) == []
    shown = ok(settings, "get", "1", "--history")
    assert re.search(rf"- {shas[2]} \S+ baseline: \(erased\)\n  \(erased\)", shown)
    assert ok(settings, "get", "1", "--version", shas[2]) == "(erased)\n"
    assert json.loads(ok(settings, "get", "1", "--version", shas[2], "--json"))["is_erased"]
    assert ok(settings, "get", "1", "--version", shas[1]) == "now without it\n"
    assert KEPT in shown


def test_erase_without_a_version_is_a_hard_delete(settings: Settings) -> None:
    """It needs --yes where nobody can be asked."""
    ok(settings, "save", "T", f"with {WORD}")
    refused = engram(settings, "erase", "1")
    assert refused.returncode == 2
    assert "--yes" in refused.stderr
    assert WORD in ok(settings, "get", "1")
    assert ok(settings, "erase", "1", "--yes") == "Memory #1 permanently deleted\n"
    assert engram(settings, "get", "1").returncode == 4


def test_an_erased_version_leaves_one_event_and_true_seals(ctx: Context, stranger: Context) -> None:
    """Without commit id and text; what holds the same text is named; strangers get the answer for nothing."""
    for text in ("first", "second", "first", "third"):
        registry.call(
            registry.TOOLS["mem_save"], ctx, {"title": "T", "content": text, "topic_key": "k"}, body_chars_max=99
        )
    versions, _ = lifecycle.history(ctx, "1", limit=9)
    with pytest.raises(Conflict, match="present text"):
        lifecycle.erase_version(ctx, "1", versions[0].commit_sha)
    done = lifecycle.erase_version(ctx, "1", versions[3].commit_sha)
    assert done.alike == (versions[1].commit_sha,)
    after, _ = lifecycle.history(ctx, "1", limit=9)
    assert [version.commit_sha for version in after] == [version.commit_sha for version in versions]
    assert (after[3].body, after[3].title, after[3].salt, after[3].message) == (
        None,
        "(erased)",
        b"",
        "baseline: (erased)",
    )
    with ctx.engine.store.reading() as tx:
        library = libraries.reachable(tx, actor_id=ctx.actor_id, email_folded="")[0][0]
        log = events.of_library(tx, library.id)
        for version in after:
            assert version.seal == tx.seal("version", rows._version_values(version))
        live = tx.all("select seal from memory where archived_at is null")
        assert library.acc == sum(seal.seal48(row[0]) for row in live) % (1 << 48)
    assert [event.verb for event in log][-1] == "version.erased"
    assert versions[3].commit_sha[:7] not in log[-1].detail
    memory_id = versions[0].memory_id
    for sha in ("xyz", "123456"):
        with pytest.raises(Invalid):
            lifecycle.erase_version(ctx, "1", sha)
    with pytest.raises(NotFound):
        lifecycle.erase_version(ctx, "1", "1234567")
    answers: list[str] = []
    for ref in (memory_id, "00000000-0000-7000-8000-00000000ffff"):
        with pytest.raises(NotFound) as refused:
            lifecycle.erase_version(stranger, ref, versions[3].commit_sha)
        answers.append(refused.value.line().replace(ref, "~"))
    assert answers[0] == answers[1]


def test_a_reader_may_not_erase_a_version(ctx: Context, stranger: Context) -> None:
    """Role read-write is needed."""
    from conftest import share
    from engram.model import Role

    share(ctx, stranger, "Team", Role.READ)
    for text in ("first", "second"):
        arguments = {"title": "T", "content": text, "topic_key": "k", "project": "Team/x"}
        registry.call(registry.TOOLS["mem_save"], ctx, arguments, body_chars_max=99)
    versions, _ = lifecycle.history(ctx, "#1@Team", limit=9)
    with pytest.raises(AccessDenied, match="Team"):
        lifecycle.erase_version(stranger, "#1@Team", versions[1].commit_sha)


def test_compacting_says_who_is_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that holds an old state keeps the log from being emptied; nothing else is lost by it."""
    from engram.store import compact_sqlite, sqlite

    settings = Settings(data_dir=tmp_path / "data", project="shop")
    app = App(settings, folder=tmp_path, has_worker=False)
    call(app, "mem_save", title="a", content="first")
    held = apsw.Connection(str(settings.database_file))
    held.execute("begin; select count(*) from memory").fetchall()
    call(app, "mem_save", title="b", content="second")
    monkeypatch.setattr(compact_sqlite, "CHECKPOINT_S_MAX", 0.2)
    monkeypatch.setattr(sqlite, "BUSY_S_MAX", 0.2)
    with pytest.raises(composition.Unavailable, match="old state"):
        app.store.compact(lambda _done, _total: None, is_rewritten=False)
    held.execute("rollback")
    told: list[tuple[int, int]] = []
    app.store.compact(lambda done, total: told.append((done, total)), is_rewritten=False)
    assert told
    assert (settings.data_dir / "engram.db-wal").stat().st_size == 0
    held.close()
    app.close()


def wait_for(is_so: Callable[[], bool]) -> None:
    """Until it is so, for 30 s."""
    until = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
@pytest.mark.parametrize("command", ["merge", "compact"])
def test_what_was_killed_is_finished_by_the_next_run(settings: Settings, command: str) -> None:
    """kill -9 in the middle; then everything is found, in the right place, and the word is gone."""
    app = App(settings, folder=settings.data_dir, has_worker=False)
    for i in range(60):
        call(app, "mem_save", title=f"Note {i}", content=f"{WORD if i % 2 else KEPT} number n{i}", project="api")
    call(app, "mem_save", title="Web", content="the page", project="web")
    if command == "compact":
        for number in range(2, 61, 2):
            call(app, "mem_delete", id=number, hard_delete=True)
    code = {
        "merge": "from engram.engine import moving; moving.BATCH = 3; from engram.surfaces import cli;"
        " import time; real = moving._record;"
        " moving._record = lambda *a: (time.sleep(0.02), real(*a)); cli.run(['project', 'merge', 'api', 'web'])",
        "compact": "from engram.surfaces import cli; from engram.store import compact_sqlite;"
        " compact_sqlite.MERGE_PAGES = 1; cli.run(['compact'])",
    }[command]
    env = {
        **os.environ, "ENGRAM_DATA_DIR": str(settings.data_dir), "ENGRAM_DATABASE_URL": settings.database_url,
        "ENGRAM_TOKEN": settings.token,
    }  # fmt: skip
    child = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.DEVNULL)

    def moved() -> int:
        with app.store.reading() as tx:
            return int(tx.value("select count(*) from merge_memory"))

    if command == "merge":
        wait_for(lambda: moved() >= 6 or child.poll() is not None)
    else:
        time.sleep(1.0)
    child.send_signal(signal.SIGKILL)
    child.wait()
    if command == "merge":
        assert 6 <= moved() < 60
        assert "unfinished" in ok(settings, "project", "list")
        assert "n59" in call(app, "mem_search", query="n59", project="web")
        assert "60 memories" in ok(settings, "project", "merge", "api", "web")
        assert "unfinished" not in ok(settings, "project", "list")
        assert all("Note" in call(app, "mem_search", query=f"n{i}", project="web") for i in range(0, 60, 7))
        assert ok(settings, "project", "unmerge", "web").startswith("Project api taken out of web again: 60 memories")
    else:
        ok(settings, "compact")
        assert places(settings, WORD) == []
        assert "n58" in call(app, "mem_search", query="n58", project="api")
    app.close()
