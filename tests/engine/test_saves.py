"""The rules of a save in their order, and the places that a save may name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import Clock
from engram.engine import browse, capture, lifecycle, memories, search, sessions
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.errors import Invalid, NotFound
from engram.model import Draft
from engram.rules import seal
from engram.store import libraries
from engram.store.postgres import PostgresStore


def save(ctx: Context, title: str, body: str, *, topic: str = "", kind: str = "manual", **where: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body, kind=kind, topic_key=topic), Where(**where))


def versions(ctx: Context, ref: str) -> int:
    """How many versions a memory has."""
    return lifecycle.history(ctx, ref, limit=1)[1]


def test_a_topic_saved_again_word_for_word_is_no_revision(ctx: Context, clock: Clock) -> None:
    """A retry leaves title, type, text, revision and history as they are, however late it comes."""
    save(ctx, "Auth", "JWT", topic="auth", kind="decision")
    clock.forward(days=3)
    again = save(ctx, "Auth", "JWT", topic="auth", kind="decision")
    assert (again.what, again.memory.revision, versions(ctx, "1")) == (memories.UNCHANGED, 1, 0)
    assert save(ctx, "Auth", "JWT", topic="auth", kind="config").what == memories.REVISED


def test_a_topic_belongs_to_its_project_and_scope(ctx: Context) -> None:
    """The same key elsewhere is another memory; a deleted one holds its key no more."""
    numbers = [
        save(ctx, "T", "text of it", topic="k", **where).memory.number
        for where in ({}, {"project": "other"}, {"scope": "personal"})
    ]
    assert numbers == [1, 2, 3]
    lifecycle.delete(ctx, "1")
    assert save(ctx, "T", "text anew", topic="k").memory.number == 4


def test_a_topic_wins_over_a_repeat(ctx: Context) -> None:
    """A text that stands elsewhere already still revises the memory whose key it came with."""
    save(ctx, "T", "old", topic="k")
    save(ctx, "T", "new")
    revised = save(ctx, "T", "new", topic="k")
    assert (revised.what, revised.memory.number) == (memories.REVISED, 1)


def test_a_key_that_comes_with_a_repeat_is_set_where_there_is_none(ctx: Context) -> None:
    """It is found by the key at once, keeps its number, and a later save of the topic revises it."""
    save(ctx, "Pool", "six connections")
    keyed = save(ctx, "Pool", "Six  connections", topic="DB pool")
    assert (keyed.what, keyed.key_was_set, keyed.times, keyed.memory.number) == (memories.REPEATED, True, 2, 1)
    assert [hit.memory.number for hit in search.search(ctx, "db-pool").hits] == [1]
    assert save(ctx, "Pool", "seven connections", topic="db-pool").memory.number == 1


def test_a_repeat_with_another_key_is_stored_as_new(ctx: Context) -> None:
    """Neither topic loses its text."""
    save(ctx, "Pool", "six connections", topic="a")
    other = save(ctx, "Pool", "six connections", topic="b")
    assert (other.what, other.memory.number, other.memory.topic_key) == (memories.NEW, 2, "b")
    assert lifecycle.read(ctx, "1")[0].topic_key == "a"


def test_a_deleted_text_is_no_repeat(ctx: Context) -> None:
    """Only what lives can be repeated."""
    save(ctx, "T", "text")
    lifecycle.delete(ctx, "1")
    assert save(ctx, "T", "text").what == memories.NEW


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("My Shop!", "My-Shop"), ("a//b", "a-b"), ("***", "default"), ("Überblick_2.0", "Überblick_2.0"),
        ("x" * 300, "x" * 128),
    ],
)  # fmt: skip
def test_a_project_name_is_made_to_fit_and_said(ctx: Context, given: str, kept: str) -> None:
    """No name is a reason to refuse a save; what was changed is noted."""
    saved = save(ctx, "T", "text", project=given)
    assert (saved.project, bool(saved.notes)) == (kept, given != kept)
    assert [hit.memory.number for hit in search.search(ctx, "text", project=given).hits] == [1]


def test_project_names_are_one_whatever_their_case_and_kept_as_first_written(ctx: Context) -> None:
    """Compared caseless after NFKC."""
    names = {save(ctx, f"T{i}", f"text {i}", project=name).project for i, name in enumerate(("Web", "WEB", "Ｗeb"))}
    assert names == {"Web"}


def test_a_project_may_be_named_by_library_and_by_uuid(ctx: Context) -> None:
    """`Personal/x` and the namespace's UUID mean the same place."""
    first = save(ctx, "T", "text one", project="Personal/web")
    second = save(ctx, "U", "text two", project=first.memory.namespace_id)
    assert (first.project, second.project) == ("web", "web")
    assert second.memory.namespace_id == first.memory.namespace_id


@pytest.mark.parametrize("ref", ["99", "#99", "00000000-0000-7000-8000-000000000000", "#1@nowhere"])
def test_an_unknown_id_is_not_found_by_any_verb(ctx: Context, ref: str) -> None:
    """By number, by UUID, in a library that is none."""
    save(ctx, "T", "text")
    for act in (
        lambda: lifecycle.read(ctx, ref),
        lambda: lifecycle.history(ctx, ref, limit=1),
        lambda: lifecycle.delete(ctx, ref),
        lambda: lifecycle.restore(ctx, ref),
        lambda: browse.timeline(ctx, ref, before=1, after=1),
        lambda: browse.whole(ctx, ref, versions_max=0),
        lambda: memories.update(ctx, ref, Change(title="x")),
    ):
        with pytest.raises(NotFound):
            act()


def test_a_prompt_can_be_corrected_and_stays_the_persons_own(ctx: Context) -> None:
    """By id it is a memory like any other, but neither its type nor its scope can change."""
    capture.save_prompt(ctx, "fix the login with hunter2", Where())
    changed = memories.update(ctx, "1", Change(find=" with hunter2", replace=""))
    assert (changed.memory.body, changed.memory.kind) == ("fix the login", "prompt")
    for change in (Change(kind="manual"), Change(scope="project")):
        with pytest.raises(Invalid):
            memories.update(ctx, "1", change)
    assert not search.search(ctx, "fix the login").hits
    assert search.search(ctx, "fix the login", type_="prompt").hits


def test_nothing_else_can_become_a_prompt(ctx: Context) -> None:
    """The kind comes from mem_save_prompt alone."""
    save(ctx, "T", "text")
    with pytest.raises(Invalid):
        save(ctx, "U", "text", kind="prompt")
    with pytest.raises(Invalid):
        memories.update(ctx, "1", Change(kind="prompt"))


def test_a_prompt_or_a_personal_note_does_not_stand_in_for_a_learning(ctx: Context) -> None:
    """Only a memory of the project itself makes a captured item a repeat."""
    learned = "refresh tokens rotate atomically"
    capture.save_prompt(ctx, learned, Where())
    save(ctx, "Mine", learned, scope="personal")
    got = capture.capture(ctx, f"## Learnings\n- {learned}\n", source="t", where=Where())
    assert (got.saved, got.duplicates) == (1, 0)


def test_a_capture_in_which_nothing_is_new_leaves_no_trace(ctx: Context) -> None:
    """No memory, nothing private, nothing too short is kept."""
    got = capture.capture(
        ctx, "## Learnings\n- <private>the code of the vault is 1234</private>\n- short\n", source="t", where=Where()
    )
    assert (got.extracted, got.saved, got.skipped, got.private) == (1, 0, 1, 1)
    assert browse.stats(ctx).observations == 0


@pytest.mark.parametrize("what", ["repeat", "summary"])
def test_a_change_at_the_same_moment_is_not_lost(ctx: Context, what: str) -> None:
    """Between the look and the hold somebody else corrects the memory; both texts and the library's sum stay true."""
    store = ctx.engine.store
    if not isinstance(store, PostgresStore):
        pytest.skip("one writer at a time on SQLite: there is no such moment")
    second = PostgresStore(store._url, clock=store.clock)
    second.key = store.key
    theirs = replace(ctx, engine=replace(ctx.engine, store=second))
    sessions.start(ctx, "s", project="shop", directory="")

    def again(text: str) -> memories.Saved:
        if what == "summary":
            return capture.save_summary(ctx, text, Where())
        return save(ctx, "T", text, topic="key" if text == "one  two" else "")

    again("one two")

    def meddle(sql: str) -> None:
        if sql.rstrip().endswith("for update of m"):
            store.trace = None
            memories.update(theirs, "1", Change(body="corrected"))

    store.trace = meddle if what == "summary" else None
    if what == "repeat":
        seen = [0]

        def second_hold(sql: str) -> None:  # the first one looks for the topic key
            seen[0] += sql.rstrip().endswith("for update of m")
            if seen[0] == 2:
                meddle(sql)

        store.trace = second_hold
    saved = again("one  two")
    assert store.trace is None
    second.close()
    if what == "repeat":
        assert (saved.what, saved.memory.number, lifecycle.read(ctx, "1")[0].body) == (memories.NEW, 2, "corrected")
    else:
        bodies = [version.body for version in lifecycle.history(ctx, "1", limit=9)[0]]
        assert bodies == ["one  two", "corrected", "one two"]
    with store.reading() as tx:
        library, _ = libraries.reachable(tx, actor_id=ctx.actor_id, email_folded="")[0]
        seals = [row[0] for row in tx.all("select seal from memory where archived_at is null")]
    assert library.acc == sum(seal.seal48(each) for each in seals) % (1 << 48)
