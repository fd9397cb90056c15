"""The access gate: roles by groups, and nothing for strangers."""

from __future__ import annotations

import pytest

from conftest import share
from engram.engine import access, browse, lifecycle, memories, search, users
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.errors import AccessDenied, Conflict, Invalid, NotFound
from engram.model import Draft, Role


def save(ctx: Context, title: str, body: str, **where: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body), Where(**where))


def test_a_reader_reads_what_is_named_and_writes_nothing(ctx: Context, stranger: Context) -> None:
    """Too small a role is said, naming library and role."""
    share(ctx, stranger, "Team", Role.READ)
    saved = save(ctx, "Plan", "We ship the rocket on Friday", project="Team/launch")
    assert search.search(stranger, "when do we ship the rocket", project="Team/launch").hits
    assert lifecycle.read(stranger, saved.memory.id)[1] == "#1@Team"
    assert lifecycle.read(stranger, "#1@Team")[0].id == saved.memory.id
    for act in (
        lambda: save(stranger, "x", "y", project="Team/launch"),
        lambda: memories.update(stranger, saved.memory.id, Change(title="mine")),
        lambda: lifecycle.delete(stranger, saved.memory.id),
        lambda: lifecycle.restore(stranger, saved.memory.id),
    ):
        with pytest.raises(AccessDenied, match="Team"):
            act()


def test_what_others_share_is_read_when_named_only(ctx: Context, stranger: Context) -> None:
    """A search that names nothing covers the caller's own, or anybody could put text into another's recall."""
    share(ctx, stranger, "Team", Role.WRITE)
    save(ctx, "Plan", "We ship the rocket on Friday", project="Team/launch")
    assert not search.search(stranger, "when do we ship the rocket").hits
    assert not search.search(stranger, "when do we ship the rocket", project="*").hits
    assert search.search(stranger, "when do we ship the rocket", project="launch").hits
    assert not browse.recent(stranger, project="", scope="", limit=5).memories


def test_a_writer_writes_and_a_revoked_one_does_not(ctx: Context, stranger: Context) -> None:
    """Roles hold from the next request on."""
    library = share(ctx, stranger, "Team", Role.WRITE)
    assert save(stranger, "a", "text", project="Team/launch").label == "#1@Team"
    with ctx.engine.store.writing() as tx:
        tx.run("delete from access_grant where library_id = :l", l=library.id)
    with pytest.raises(NotFound):
        lifecycle.read(stranger, "#1@Team")
    saved = save(stranger, "b", "text", project="Team/launch")  # now a name like any other: made to fit
    assert (saved.project, saved.label) == ("Team-launch", "#1")


def test_nothing_of_another_person_exists_for_a_stranger(ctx: Context, stranger: Context) -> None:
    """By id, number, project UUID, closest names, statistics."""
    saved = save(ctx, "Canary", "the canary sings", project="aviary")
    for ref in (saved.memory.id, "#1", "1", "#1@Personal"):
        with pytest.raises(NotFound):
            lifecycle.read(stranger, ref)
    found = search.search(stranger, "canary", project="aviari")
    assert (found.hits, found.closest, found.is_known) == ((), (), False)
    assert not search.search(stranger, "canary", project=saved.memory.namespace_id).hits
    assert browse.stats(stranger).observations == 0


def test_a_name_that_two_libraries_have_is_a_conflict(ctx: Context, stranger: Context) -> None:
    """With the candidates to choose from."""
    share(ctx, stranger, "Blue", Role.READ)
    share(ctx, stranger, "Green", Role.READ)
    save(ctx, "a", "text", project="Blue/web")
    save(ctx, "b", "text", project="Green/web")
    with pytest.raises(Conflict) as refused:
        search.search(stranger, "text", project="web")
    assert "Blue/web" in refused.value.hint
    assert "Green/web" in refused.value.hint


def test_a_disabled_user_and_an_unknown_token_are_refused(ctx: Context) -> None:
    """From the next request on."""
    token = users.add(ctx.engine.store, "Bob", email="bob@example.org").token
    assert users.sign_in(ctx.engine.store, token).name == "first"
    with pytest.raises(AccessDenied):
        users.sign_in(ctx.engine.store, token + "x")
    with ctx.engine.store.writing() as tx:
        tx.run("update actor set disabled_at = 1 where id = :id", id=ctx.actor_id)
    with pytest.raises(AccessDenied):
        save(ctx, "a", "b")


def test_users_need_a_name_and_an_email_of_their_own(ctx: Context) -> None:
    """The first user of a server is operator, an e-mail is one person's."""
    with pytest.raises(Conflict):
        users.add(ctx.engine.store, "Ada again", email="ADA@example.org")
    for name, email in (("", ""), ("x" * 129, ""), ("Bob", "no address"), ("Bob", "a b@c")):
        with pytest.raises(Invalid):
            users.add(ctx.engine.store, name, email=email)


def test_a_prompt_is_its_persons_alone(ctx: Context) -> None:
    """The gate's own rule; libraries that are shared hold none."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
    assert who.role(who.personal.id) is Role.OWNER
    assert who.bound.id == who.personal.id


def test_text_that_spells_the_terms_of_another_place_gets_nowhere(ctx: Context, stranger: Context) -> None:
    """Where a memory lives is no word of it: nobody writes into another's answers, nor asks out of their own."""
    mine = save(ctx, "Zoo", "the zebra sleeps").memory
    spell = f"zebra n:{mine.namespace_id} l:{mine.library_id} s:project s:personal s:prompt k:manual t:episodic"
    theirs = save(stranger, "Forged", spell).memory
    for question in ("zebra", "where does the zebra sleep", spell):
        found = search.search(ctx, question, project="shop")
        assert [hit.memory.id for hit in found.hits] == [mine.id], question
        assert {hit.memory.id for hit in search.search(stranger, question).hits} <= {theirs.id}, question
    assert not search.search(ctx, "s:project", project="shop").hits
