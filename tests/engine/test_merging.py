"""Two projects become one and two again: what moves, what stays, who may, and what a killed one leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conftest import Clock, share
from engram.engine import browse, capture, ledger, lifecycle, memories, merging, moving, search, sessions, worker
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.errors import AccessDenied, Conflict, EngramError, Invalid, NotFound
from engram.model import Draft, Role
from engram.rules import seal
from engram.store import events, health, libraries
from engram.store import memories as rows


def save(ctx: Context, title: str, body: str, *, topic: str = "", **where: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body, topic_key=topic), Where(**where))


def found(ctx: Context, query: str, project: str, scope: str = "") -> list[str]:
    """The labels that a search of a project finds."""
    return [hit.label for hit in search.search(ctx, query, project=project, scope=scope).hits]


def two_projects(ctx: Context) -> None:
    """#1..#5 in api, with a history, an archived one, a personal one and a prompt; #6, #7 in web."""
    sessions.start(ctx, "s1", project="api", directory="/api")
    save(ctx, "Plan", "we ship on Friday", topic="plan", project="api")
    save(ctx, "Plan", "we ship on Monday", topic="plan", project="api")
    save(ctx, "Gone", "the old rocket engine", project="api")
    lifecycle.delete(ctx, "2")
    save(ctx, "Retries", "payments are retried with an idempotency key", project="api")
    save(ctx, "Taste", "short answers please", project="api", scope="personal")
    capture.save_prompt(ctx, "fix the login", Where(project="api"))
    save(ctx, "Web", "the page is rendered on the server", project="web")
    save(ctx, "Other", "colours of buttons", project="web")
    with ctx.engine.store.reading() as tx:
        waiting = [row[0] for row in tx.all("select chunk_id from pending order by chunk_id")]
    worker.embed_waiting(ctx.engine, waiting[:-1], most=99)  # one still waits for its vector


def facts(ctx: Context) -> dict[str, list[tuple[Any, ...]]]:
    """Everything about the memories that a merge and its end must leave as it was."""
    with ctx.engine.store.reading() as tx:
        kept = tx.all(f"select {rows.MEMORY_COLUMNS} from memory m order by m.number")
        versions = tx.all("select memory_id, n, commit_sha, body, seal from version order by memory_id, n")
        held = tx.all("select id, namespace_id from session order by id")
        vectors = tx.all("select chunk_id, namespace_id, place from chunk_vector order by chunk_id")
    return {"memories": kept, "versions": versions, "sessions": held, "vectors": vectors}


def is_sound(ctx: Context) -> None:
    """Totals, seals, log, words: of every library."""
    with ctx.engine.store.reading() as tx:
        assert health.missing_words(tx) == 0
        for row in tx.all(f"select {rows.MEMORY_COLUMNS} from memory m"):
            memory = rows.memory_from(row)
            assert rows.sealed(tx, memory) == memory
            for version in rows.versions(tx, memory, limit=9):
                assert version.seal == tx.seal("version", rows._version_values(version))
        for library, _ in libraries.reachable(tx, actor_id=ctx.actor_id, email_folded=""):
            assert libraries.sealed(tx, library) == library
            live = tx.all("select seal from memory where library_id = :l and archived_at is null", l=library.id)
            acc = sum(seal.seal48(each[0]) for each in live) % (1 << 48)
            assert (library.live, library.acc) == (len(live), acc)
            log = events.of_library(tx, library.id)
            assert [event.seq for event in log] == list(range(1, library.seq + 1))
            assert all(event.leaf_hash == ledger.leaf_of(event) for event in log)
        facets = tx.all(
            """
            select count(*) from chunk_vector v join chunk c on c.id = v.chunk_id
            join memory m on m.library_id = c.library_id and m.id = c.memory_id where m.namespace_id <> v.namespace_id
            """
        )
        assert facets[0][0] == 0


def test_what_was_in_one_project_is_in_the_other(ctx: Context) -> None:
    """Found by words and by meaning under both names, with its number, history, session and archive."""
    two_projects(ctx)
    done = merging.merge(ctx, "api", "web")
    assert (done.memories, done.sessions, done.was_already) == (5, 1, False)
    is_sound(ctx)
    for project in ("api", "web"):
        assert found(ctx, "idempotency", project)[:1] == ["#3"]
        assert found(ctx, "why was a customer billed two times", project)[:1] == ["#3"]
        assert found(ctx, "server rendered page", project)[:1] == ["#6"]
        assert found(ctx, "short answers", project, "personal") == ["#4"]
    assert lifecycle.history(ctx, "1", limit=9)[1] == 2
    recent = browse.recent(ctx, project="api", scope="", limit=9)
    assert (recent.name, [shown.session.name for shown in recent.sessions][-1:]) == ("web", ["s1"])
    assert [shown.label for shown in recent.prompts] == ["#5"]
    lifecycle.restore(ctx, "2")
    assert found(ctx, "rocket", "web") == ["#2"]
    is_sound(ctx)


def test_a_later_save_under_the_old_name_goes_to_the_new_project(ctx: Context) -> None:
    """It revises by topic key, and repeats are counted, as if the new name had been given."""
    two_projects(ctx)
    merging.merge(ctx, "api", "web")
    revised = save(ctx, "Plan", "we ship on Tuesday", topic="plan", project="api")
    assert (revised.label, revised.what, revised.project) == ("#1", "revised", "web")
    assert save(ctx, "Other", "colours of buttons", project="api").what == "repeated"
    assert sessions.start(ctx, "s2", project="api", directory="").project == "web"
    assert (
        capture.capture(
            ctx, "## Learnings\n- a thing that was learned today", source="t", where=Where(project="API")
        ).project
        == "web"
    )
    assert memories.update(ctx, "6", Change(project="api")).memory.namespace_id == revised.memory.namespace_id


def test_a_merge_taken_back_leaves_everything_as_it_was(ctx: Context) -> None:
    """Rows, seals, vectors and sessions; what came later stays in the target, and the name is free again."""
    two_projects(ctx)
    before = facts(ctx)
    merging.merge(ctx, "api", "web")
    later = save(ctx, "Later", "saved after the merge", project="api")
    done = merging.unmerge(ctx, "web")
    assert (done.source, done.into, done.memories, done.sessions) == ("api", "web", 5, 1)
    is_sound(ctx)
    after = facts(ctx)
    for name in ("memories", "vectors"):
        assert [row for row in after[name] if row in before[name]] == before[name], name
    assert after["versions"] == before["versions"]
    assert found(ctx, "saved after", "web") == [later.label]
    assert not found(ctx, "saved after", "api")
    assert found(ctx, "idempotency", "api") == ["#3"]
    assert save(ctx, "New", "in the project of its own again", project="api").project == "api"
    with ctx.engine.store.reading() as tx:
        for table in ("project_merge", "merge_memory", "merge_session"):
            assert tx.value(f"select count(*) from {table}") == 0, table


def test_of_two_memories_with_a_key_the_older_one_gives_it_away_and_gets_it_back(ctx: Context, clock: Clock) -> None:
    """In both directions; a suffix that is taken is not used; the answer lists them."""
    save(ctx, "A old", "first of api", topic="one", project="api")
    save(ctx, "B old", "first of web", topic="two", project="web")
    clock.forward(hours=1)
    save(ctx, "B new", "second of web", topic="one", project="web")
    save(ctx, "A new", "second of api", topic="two", project="api")
    save(ctx, "A taken", "third of api", topic="one-2", project="api")
    save(ctx, "B taken", "third of web", topic="two-2", project="web")
    done = merging.merge(ctx, "api", "web")
    assert sorted((each.label, each.was, each.now) for each in done.rekeyed) == [
        ("#1", "one", "one-3"),
        ("#2", "two", "two-3"),
    ]
    is_sound(ctx)
    assert found(ctx, "two-3", "web")[:1] == ["#2"]
    assert save(ctx, "A new", "second of api, again", topic="two", project="web").label == "#4"
    assert merging.unmerge(ctx, "api").rekeyed == ()
    is_sound(ctx)
    keys = {number: lifecycle.read(ctx, str(number))[0].topic_key for number in range(1, 7)}
    assert keys == {1: "one", 2: "two", 3: "one", 4: "two", 5: "one-2", 6: "two-2"}
    assert found(ctx, "two", "web")[0] == "#2"


def test_a_key_that_another_memory_holds_by_then_is_not_given_back_and_said(ctx: Context, clock: Clock) -> None:
    """The memory keeps the key that the merge gave it."""
    save(ctx, "B old", "first of web", topic="two", project="web")
    clock.forward(hours=1)
    save(ctx, "A new", "second of api", topic="two", project="api")
    merging.merge(ctx, "api", "web")
    memories.update(ctx, "2", Change(topic_key=""))
    save(ctx, "Third", "it took the key", topic="two", project="web")
    done = merging.unmerge(ctx, "web")
    assert [(each.label, each.was, each.now) for each in done.rekeyed] == [("#1", "two", "two-2")]
    assert lifecycle.read(ctx, "1")[0].topic_key == "two-2"
    is_sound(ctx)


def test_merges_of_merges_are_taken_back_the_last_one_first(ctx: Context) -> None:
    """All names lead to the end of the chain; twice the same is no change."""
    two_projects(ctx)
    save(ctx, "Core", "the engine room", project="core")
    merging.merge(ctx, "api", "web")
    merging.merge(ctx, "web", "core")
    assert found(ctx, "idempotency", "api") == found(ctx, "idempotency", "core") == ["#3"]
    assert merging.merge(ctx, "web", "core").was_already
    with pytest.raises(Conflict, match="later"):
        merging.unmerge(ctx, "api")
    with pytest.raises(Conflict, match="another project already"):
        merging.merge(ctx, "web", "shop" if save(ctx, "x", "y", project="shop") else "")
    shown = {project.name: project for project in merging.projects(ctx)}
    assert sorted(merged.name for merged in shown["core"].merged) == ["api", "web"]
    assert sorted(shown) == ["core", "shop"]
    assert merging.unmerge(ctx, "core").source == "web"
    assert merging.unmerge(ctx, "web").source == "api"
    assert found(ctx, "idempotency", "api") == ["#3"]
    is_sound(ctx)


def test_what_moved_on_or_was_erased_since_is_not_moved_back(ctx: Context) -> None:
    """Only what is still there; an erased memory is in no note of the merge."""
    two_projects(ctx)
    merging.merge(ctx, "api", "web")
    memories.update(ctx, "3", Change(project="elsewhere"))
    lifecycle.delete(ctx, "1", is_hard=True)
    assert merging.unmerge(ctx, "web").memories == 3
    assert found(ctx, "idempotency", "elsewhere") == ["#3"]
    is_sound(ctx)


def test_what_moved_to_another_library_is_forgotten_by_the_merge(ctx: Context, stranger: Context) -> None:
    """Its rows stand in the other library now."""
    share(ctx, stranger, "Team", Role.READ)
    two_projects(ctx)
    merging.merge(ctx, "api", "web")
    memories.update(ctx, "3", Change(project="Team/launch"))
    assert merging.unmerge(ctx, "web").memories == 4
    assert found(ctx, "idempotency", "Team/launch") == ["#1@Team"]
    is_sound(ctx)


def test_what_can_not_be_merged_is_refused(ctx: Context, stranger: Context) -> None:
    """One project, unknown ones with the closest names, two libraries; nothing is changed."""
    two_projects(ctx)
    share(ctx, stranger, "Team", Role.READ)
    save(ctx, "Plan", "words", project="Team/launch")
    for source, into, error, text in (
        ("api", "API", Invalid, "one project"),
        ("apu", "web", NotFound, "api"),
        ("api", "wep", NotFound, "web"),
        ("api", "Team/launch", Invalid, "library"),
        ("Nowhere/api", "web", NotFound, "Nowhere/api"),
    ):
        with pytest.raises(error) as refused:
            merging.merge(ctx, source, into)
        assert text in refused.value.line()
    for name in ("web", "bogus", "00000000-0000-7000-8000-00000000ffff"):
        with pytest.raises(NotFound):
            merging.unmerge(ctx, name)
    with ctx.engine.store.reading() as tx:
        assert tx.value("select count(*) from project_merge") == 0


def test_a_reader_may_not_merge_and_a_stranger_sees_nothing(ctx: Context, stranger: Context) -> None:
    """Word for word as for names that are not there."""
    two_projects(ctx)
    share(ctx, stranger, "Team", Role.READ)
    for name in ("one", "two"):
        save(ctx, name, "words", project=f"Team/{name}")
    for act in (lambda: merging.merge(stranger, "Team/one", "Team/two"),):
        with pytest.raises(AccessDenied, match="Team"):
            act()
    done = merging.merge(ctx, "Team/one", "two")
    with pytest.raises(AccessDenied, match="Team"):
        merging.unmerge(stranger, done.merge_id)
    assert [project.name for project in merging.projects(stranger)] == ["two"]

    def answer(name: str, other: str) -> str:
        with pytest.raises(EngramError) as refused:
            merging.merge(stranger, name, other)
        with pytest.raises(EngramError) as also:
            merging.unmerge(stranger, name)
        return f"{refused.value.line()} {also.value.line()}".replace(name, "~")

    hidden = str(libraries_namespace(ctx, "api"))
    assert answer("api", "web") == answer("nix", "web")
    assert answer(hidden, hidden) == answer("00000000-0000-7000-8000-00000000ffff", "x")


def libraries_namespace(ctx: Context, name: str) -> str:
    """The UUID of a project."""
    return next(project.id for project in merging.projects(ctx) if project.name == name)


def test_in_a_shared_library_the_callers_personal_memories_go_along(ctx: Context, stranger: Context) -> None:
    """Under the name in Personal; two events, one merge."""
    library = share(ctx, stranger, "Team", Role.WRITE)
    save(ctx, "Theirs", "team text", project="Team/one")
    save(ctx, "Two", "more text", project="Team/two")
    save(ctx, "Mine", "my own taste", project="one", scope="personal")
    done = merging.merge(ctx, "Team/one", "Team/two")
    assert done.memories == 2
    assert found(ctx, "taste", "two", "personal") == found(ctx, "taste", "one", "personal") == ["#1"]
    assert save(ctx, "More", "also my taste", project="one", scope="personal").project == "two"
    is_sound(ctx)
    with ctx.engine.store.reading() as tx:
        assert [event.verb for event in events.of_library(tx, library.id)][-4:] == [
            "project.aliased", "project.moved", "project.moved", "project.merged",
        ]  # fmt: skip
    assert merging.unmerge(stranger, done.merge_id).memories == 1  # a member takes back what is in reach
    assert merging.unmerge(ctx, done.merge_id).memories == 1
    is_sound(ctx)
    assert save(ctx, "Again", "taste of mine once more", project="one", scope="personal").project == "one"


@pytest.fixture
def middle(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Two projects, and what stops a merge of them after two memories."""
    monkeypatch.setattr(moving, "BATCH", 2)
    two_projects(ctx)

    def stop(done: int, total: int) -> None:
        assert total == 6
        if done >= 2:
            raise KeyboardInterrupt

    return stop


def test_a_merge_that_stopped_in_the_middle_hides_nothing_and_others_wait(
    ctx: Context, middle: Callable[[int, int], None]
) -> None:
    """Reads cover both parts; the list shows it; the next run finishes it."""
    save(ctx, "Core", "the engine room", project="core")
    with pytest.raises(KeyboardInterrupt):
        merging.merge(ctx, "api", "web", middle)
    for project in ("web", "api"):
        assert found(ctx, "idempotency", project) == ["#3"]
        assert found(ctx, "ship Monday", project)[:1] == ["#1"]
    assert [shown.label for shown in browse.recent(ctx, project="web", scope="", limit=9).prompts] == ["#5"]
    assert save(ctx, "Retries", "payments are retried with an idempotency key", project="web").what == "new"
    web = next(project for project in merging.projects(ctx) if project.name == "web")
    assert ([merged.state for merged in web.merged], web.live) == (["merging"], 6)
    for source, into in (("core", "web"), ("web", "core")):
        with pytest.raises(Conflict, match="middle"):
            merging.merge(ctx, source, into)
    assert merging.merge(ctx, "api", "web").memories == 5
    assert merging.merge(ctx, "core", "web").memories == 1
    is_sound(ctx)


def test_a_half_done_merge_can_be_taken_back_and_that_too_is_finished_by_the_next(
    ctx: Context, middle: Callable[[int, int], None]
) -> None:
    """Nothing is lost on the way, whichever way it goes."""
    before = facts(ctx)
    with pytest.raises(KeyboardInterrupt):
        merging.merge(ctx, "api", "web", middle)
    merging.unmerge(ctx, "api")
    assert facts(ctx) == before
    merging.merge(ctx, "api", "web")
    with pytest.raises(KeyboardInterrupt):
        merging.unmerge(ctx, "api", middle)
    with pytest.raises(Conflict, match="middle"):
        merging.merge(ctx, "api", "web")
    assert found(ctx, "idempotency", "api") == ["#3"]
    merging.unmerge(ctx, "api")
    is_sound(ctx)
    assert facts(ctx) == before


def test_saves_that_go_on_during_merges_are_neither_lost_nor_refused(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under both names and the same topic keys, while the projects are merged and parted again and again."""
    monkeypatch.setattr(moving, "BATCH", 3)
    two_projects(ctx)
    is_over = threading.Event()

    def write(writer: int) -> list[str]:
        mine: list[str] = []
        while not is_over.is_set():
            k = len(mine)
            project = ("api", "web")[k % 2]
            topic = f"shared-{k % 3}" if k % 4 == 0 else ""
            mine.append(save(ctx, f"W{writer} {k}", f"text w{writer}n{k}", topic=topic, project=project).memory.id)
        return mine

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, writer) for writer in range(2)]
        try:
            for _ in range(4):
                merging.merge(ctx, "api", "web")
                merging.unmerge(ctx, "web")
            merging.merge(ctx, "api", "web")
        finally:
            is_over.set()
        saved = {memory_id for writer in writers for memory_id in writer.result()}
    is_sound(ctx)
    with ctx.engine.store.reading() as tx:
        there = {row[0] for row in tx.all("select id from memory")}
        api = libraries.namespaces_called(
            tx, library_ids=[row[0] for row in tx.all("select id from library")], folded="api"
        )
        assert tx.value("select count(*) from memory where namespace_id = :id", id=api[0].id) == 0
    assert saved <= there
