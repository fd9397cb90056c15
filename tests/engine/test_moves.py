"""A memory that moves to another library takes everything along and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Clock
from engram.engine import browse, ledger, lifecycle, memories, search
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.errors import Conflict
from engram.model import Draft, Library
from engram.rules import seal
from engram.store import events, libraries, people
from engram.store import memories as rows


@pytest.fixture
def team(ctx: Context) -> Library:
    """A second library of the caller."""
    with ctx.engine.store.writing() as tx:
        return libraries.insert(
            tx,
            Library(
                id="00000000-0000-7000-8000-000000000001", name="Team", folded="team", owner_id=ctx.actor_id,
                made_by=ctx.actor_id, created_at=tx.now,
            ),
        )  # fmt: skip


def save(ctx: Context, title: str, body: str, *, topic: str = "", **where: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body, topic_key=topic), Where(**where))


def moved(ctx: Context) -> memories.Saved:
    """A memory with a history and a repeat, moved to Team."""
    save(ctx, "Plan", "we ship on Friday", topic="plan")
    save(ctx, "Plan", "we ship on Monday", topic="plan")
    save(ctx, "Plan", "we ship on Monday")
    return memories.update(ctx, "1", Change(project="Team/launch"))


def test_a_move_keeps_the_uuid_and_the_history_and_takes_a_new_number(ctx: Context, team: Library) -> None:
    """The old number names nothing; the text is found in the new place alone."""
    before = save(ctx, "Filler", "other", project="Team/launch")
    got = moved(ctx)
    assert (before.label, got.label, got.memory.library_id) == ("#1@Team", "#2@Team", team.id)
    versions, total = lifecycle.history(ctx, got.memory.id, limit=9)
    assert (total, versions[-1].body) == (3, "we ship on Friday")
    assert browse.whole(ctx, got.memory.id, versions_max=0).duplicates == 2
    assert [hit.label for hit in search.search(ctx, "when do we ship", project="Team/launch").hits][:1] == ["#2@Team"]
    assert not search.search(ctx, "when do we ship", project="shop").hits


def test_a_move_leaves_an_event_and_true_totals_in_both_libraries(ctx: Context, team: Library) -> None:
    """One event each; live memories and the sum of their seals fit on both sides."""
    moved(ctx)
    with ctx.engine.store.reading() as tx:
        found = {lib.id: lib for lib, _ in libraries.reachable(tx, actor_id=ctx.actor_id, email_folded="")}
        logs = {library_id: events.of_library(tx, library_id) for library_id in found}
        seals = tx.all("select library_id, seal from memory where archived_at is null")
    assert [event.verb for event in logs[team.id]] == ["memory.revised"]
    for library_id, library in found.items():
        assert [event.seq for event in logs[library_id]] == list(range(1, library.seq + 1))
        assert all(event.leaf_hash == ledger.leaf_of(event) for event in logs[library_id])
        own = [row[1] for row in seals if row[0] == library_id]
        assert (library.live, library.acc) == (len(own), sum(seal.seal48(each) for each in own) % (1 << 48))


def test_every_seal_holds_after_a_move(ctx: Context, team: Library) -> None:
    """Memories, versions, libraries, people: read back and sealed again."""
    got = moved(ctx)
    with ctx.engine.store.reading() as tx:
        for library, _ in libraries.reachable(tx, actor_id=ctx.actor_id, email_folded=""):
            assert libraries.sealed(tx, library) == library
        for row in tx.all(f"select {rows.MEMORY_COLUMNS} from memory m"):
            memory = rows.memory_from(row)
            assert rows.sealed(tx, memory) == memory
        versions = rows.versions(tx, got.memory, limit=9)
        assert {version.library_id for version in versions} == {team.id}
        for version in versions:
            assert version.seal == tx.seal("version", rows._version_values(version))
        for actor in people.actors(tx):
            kept = tx.value("select seal from actor where id = :id", id=actor.id)
            assert kept == tx.seal("actor", people._actor_values(actor))


def test_a_key_that_is_taken_there_refuses_the_move_and_changes_nothing(ctx: Context, team: Library) -> None:
    """The memory stays where it was, with its number."""
    save(ctx, "Theirs", "text", topic="k", project="Team/launch")
    mine = save(ctx, "Mine", "words", topic="k")
    with pytest.raises(Conflict, match="#1@Team"):
        memories.update(ctx, "1", Change(project="Team/launch"))
    assert lifecycle.read(ctx, "1")[0] == mine.memory
    assert mine.memory.library_id != team.id


def test_a_session_does_not_follow_its_memory(ctx: Context, team: Library, clock: Clock) -> None:
    """It belongs to the library that was left; the timeline is that of the new project."""
    del team
    ctx.folder = Path("/work/shop")
    save(ctx, "There", "already there", project="Team/launch")
    clock.forward(minutes=1)
    got = moved(ctx)
    assert got.memory.session_id is None
    shown = browse.timeline(ctx, got.memory.id, before=5, after=5)
    assert (shown.session, [item.label for item in shown.before]) == (None, ["#1@Team"])
