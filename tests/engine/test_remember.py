"""Saving: new, revised by topic, repeated, refused."""

from __future__ import annotations

import pytest

from conftest import Clock
from engram.engine import browse, lifecycle, memories, search
from engram.engine.context import Context
from engram.engine.memories import Where
from engram.errors import NotFound
from engram.model import Draft


def save(ctx: Context, title: str, body: str, *, topic: str = "", kind: str = "manual", **where: str) -> memories.Saved:
    """Save a memory as mem_save does."""
    return memories.remember(ctx, Draft(title=title, body=body, kind=kind, topic_key=topic), Where(**where))


def test_a_saved_text_is_kept_as_it_was_sent(ctx: Context) -> None:
    """Line ends, trailing spaces and long bodies survive."""
    body = "first\r\n  second \n" + "x" * 100_000 + "\n"
    saved = save(ctx, "Long", body)
    memory, _ = lifecycle.read(ctx, saved.memory.id)
    assert memory.body == body


def test_the_same_topic_key_revises_and_keeps_the_earlier_text(ctx: Context, clock: Clock) -> None:
    """A second save of a topic is a new version; the first text stays in the history."""
    first = save(ctx, "Auth", "sessions", topic="Decision/Auth Model")
    clock.forward(hours=1)
    second = save(ctx, "Auth", "tokens", topic="decision/auth-model")
    assert (second.what, second.memory.id, second.memory.revision) == (memories.REVISED, first.memory.id, 2)
    versions, total = lifecycle.history(ctx, first.memory.id, limit=10)
    assert (total, [version.body for version in versions]) == (2, ["tokens", "sessions"])
    assert versions[0].parent_sha == versions[1].commit_sha


def test_a_deleted_memory_reads_as_not_found_until_it_is_restored(ctx: Context) -> None:
    """Gone from reading, search and context, and back with its text."""
    saved = save(ctx, "Cookies", "Safari drops SameSite=None cookies")
    lifecycle.delete(ctx, saved.memory.id)
    with pytest.raises(NotFound):
        lifecycle.read(ctx, saved.memory.id)
    assert not search.search(ctx, "Safari cookies").hits
    assert browse.stats(ctx).archived == 1
    lifecycle.restore(ctx, saved.memory.id)
    assert [hit.memory.id for hit in search.search(ctx, "Safari cookies").hits] == [saved.memory.id]
