"""Sessions: found or made for every save, never a reason to refuse one."""

from __future__ import annotations

import pytest

from conftest import Clock
from engram.engine import browse, capture, memories, sessions
from engram.engine.context import Context
from engram.engine.memories import Where
from engram.errors import NotFound
from engram.model import Draft


def save(ctx: Context, text: str, **where: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=text, body=f"text of {text}"), Where(**where))


def test_a_save_without_a_session_goes_to_the_projects_manual_one(ctx: Context) -> None:
    """Two projects, two buckets."""
    assert save(ctx, "a").session == "manual-save-shop"
    assert save(ctx, "b", project="other").session == "manual-save-other"


def test_a_session_started_on_this_connection_takes_the_saves_of_its_project(ctx: Context) -> None:
    """Its own project only; nothing is guessed."""
    sessions.start(ctx, "s1", project="shop", directory="")
    saved = save(ctx, "a")
    assert (saved.session, saved.session_was_guessed) == ("s1", False)
    assert save(ctx, "b", project="other").session == "manual-save-other"


def test_the_last_active_open_session_is_guessed_and_the_same_folder_preferred(ctx: Context, clock: Clock) -> None:
    """What a hook started in another process takes the saves of this one."""
    sessions.start(ctx, "here", project="shop", directory="/work/shop")
    clock.forward(minutes=1)
    sessions.start(ctx, "there", project="shop", directory="/elsewhere")
    ctx.sessions.clear()
    saved = save(ctx, "a")
    assert (saved.session, saved.session_was_guessed) == ("there", True)
    from pathlib import Path

    ctx.folder = Path("/work/shop")
    assert save(ctx, "b").session == "here"


def test_an_unknown_id_makes_the_session_and_an_ended_one_takes_saves(ctx: Context) -> None:
    """Bookkeeping never loses a memory."""
    assert save(ctx, "a", session="fresh").session == "fresh"
    sessions.end(ctx, "fresh", summary="done")
    assert save(ctx, "b", session="fresh").session == "fresh"
    assert browse.stats(ctx).observations == 2


def test_an_id_of_another_project_is_taken_and_keeps_its_project(ctx: Context) -> None:
    """The memory lives where it was saved to."""
    sessions.start(ctx, "s", project="one", directory="")
    saved = save(ctx, "a", session="s", project="two")
    assert (saved.session, saved.project) == ("s", "two")
    assert sessions.start(ctx, "s", project="three", directory="").project == "three"


def test_a_session_idle_for_a_day_reads_as_ended_and_is_reopened(ctx: Context, clock: Clock) -> None:
    """It ended at its last activity; starting it again says so."""
    sessions.start(ctx, "s", project="shop", directory="")
    ctx.sessions.clear()
    clock.forward(hours=25)
    assert save(ctx, "a").session == "manual-save-shop"
    shown = next(s for s in browse.recent(ctx, project="shop", scope="", limit=5).sessions if s.session.name == "s")
    assert shown.ended_at == shown.session.active_at
    assert sessions.start(ctx, "s", project="shop", directory="").was_reopened


def test_ending_again_without_a_summary_keeps_the_earlier_one(ctx: Context) -> None:
    """And an unknown session is not found."""
    sessions.start(ctx, "s", project="shop", directory="")
    sessions.end(ctx, "s", summary="first <private>x</private>")
    ended, _ = sessions.end(ctx, "s", summary="")
    assert ended.summary == "first [REDACTED]"
    with pytest.raises(NotFound):
        sessions.end(ctx, "nobody", summary="")


def test_two_peoples_sessions_of_one_name_are_two(ctx: Context, stranger: Context) -> None:
    """A session belongs to a library and an actor."""
    sessions.start(ctx, "1", project="shop", directory="")
    sessions.start(stranger, "1", project="shop", directory="")
    sessions.end(stranger, "1", summary="theirs")
    assert browse.recent(ctx, project="shop", scope="", limit=5).sessions[0].ended_at is None


def test_a_session_has_one_summary_which_a_second_call_revises(ctx: Context) -> None:
    """In the manual session, which many share, each is a memory of its own."""
    sessions.start(ctx, "s", project="shop", directory="")
    first = capture.save_summary(ctx, "## Goal\none", Where())
    second = capture.save_summary(ctx, "## Goal\ntwo", Where())
    assert (second.memory.id, second.what, second.memory.revision) == (first.memory.id, memories.REVISED, 2)
    ctx.sessions.clear()
    sessions.end(ctx, "s", summary="")
    third = capture.save_summary(ctx, "## Goal\nthree", Where())
    fourth = capture.save_summary(ctx, "## Goal\nfour", Where())
    assert len({first.memory.id, third.memory.id, fourth.memory.id}) == 3
    assert capture.save_summary(ctx, "## Goal\nfour", Where()).what == memories.REPEATED


def test_prompts_are_the_persons_own_and_stay_out_of_search(ctx: Context) -> None:
    """Found by type=prompt, in context and by id alone."""
    from engram.engine import search

    capture.save_prompt(ctx, "please fix the login on Safari", Where())
    assert not search.search(ctx, "fix the login on Safari").hits
    assert search.search(ctx, "fix the login on Safari", type_="prompt").hits
    recent = browse.recent(ctx, project="shop", scope="", limit=5)
    assert (len(recent.prompts), len(recent.memories)) == (1, 0)
    assert browse.stats(ctx).prompts == 1


def test_a_capture_is_one_event_and_each_learning_once_per_project(ctx: Context) -> None:
    """Repeats, in one text or another, are counted and not stored."""
    text = "## Key Learnings:\n- Refresh tokens rotate atomically\n- refresh  tokens rotate ATOMICALLY\n- short\n"
    got = capture.capture(ctx, text, source="test", where=Where())
    assert (got.extracted, got.saved, got.duplicates, got.skipped) == (2, 1, 1, 1)
    again = capture.capture(ctx, text, source="test", where=Where())
    assert (again.saved, again.duplicates) == (0, 2)
    assert capture.capture(ctx, text, source="test", where=Where(project="other")).saved == 1
