"""Corrections: partial, versioned, refused where something would be lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import Clock
from engram.engine import lifecycle, memories, search
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.errors import Conflict, Invalid, NotFound
from engram.model import Draft


def save(ctx: Context, title: str, body: str, *, topic: str = "", **where: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body, topic_key=topic), Where(**where))


def test_only_what_is_given_changes_and_the_earlier_text_stays(ctx: Context) -> None:
    """One new version; none where nothing is different."""
    save(ctx, "Pool", "six connections")
    changed = memories.update(ctx, "1", Change(title="Pool size"))
    assert (changed.memory.title, changed.memory.body, changed.memory.revision) == ("Pool size", "six connections", 2)
    assert memories.update(ctx, "1", Change(title="Pool size")).what == memories.UNCHANGED
    versions, total = lifecycle.history(ctx, "1", limit=5)
    assert (total, [v.title for v in versions]) == (2, ["Pool size", "Pool"])


def test_find_must_occur_exactly_once(ctx: Context) -> None:
    """Overlapping places count; line ends are those that were sent."""
    save(ctx, "T", "aaa\r\nbanana split")
    with pytest.raises(Invalid):
        memories.update(ctx, "1", Change(find="aa", replace="x"))
    with pytest.raises(Invalid):
        memories.update(ctx, "1", Change(find="missing", replace="x"))
    saved = memories.update(ctx, "1", Change(find="\r\nbanana", replace="\nBANANA"))
    assert saved.memory.body == "aaa\nBANANA split"


def test_a_replacement_may_not_hide_what_stood_there(ctx: Context) -> None:
    """An opening tag would swallow the rest of the text."""
    save(ctx, "T", "keep this. secret here. and this stays")
    with pytest.raises(Invalid):
        memories.update(ctx, "1", Change(find="secret here", replace="<private>"))
    saved = memories.update(ctx, "1", Change(find="secret here", replace="<private>x</private>"))
    assert saved.memory.body == "keep this. [REDACTED]. and this stays"


def test_a_topic_key_of_another_memory_is_refused(ctx: Context) -> None:
    """By an update and by a move to where it is taken."""
    save(ctx, "A", "one", topic="k")
    save(ctx, "B", "two")
    with pytest.raises(Conflict):
        memories.update(ctx, "2", Change(topic_key="K"))
    save(ctx, "C", "three", topic="k", project="other")
    with pytest.raises(Conflict):
        memories.update(ctx, "3", Change(project="shop"))


def test_a_moved_memory_is_found_in_its_new_project_alone(ctx: Context) -> None:
    """Project and scope move it; its UUID and history stay."""
    saved = save(ctx, "Canary", "the canary sings at noon")
    memories.update(ctx, "1", Change(project="zoo"))
    assert not search.search(ctx, "when does the canary sing", project="shop").hits
    assert search.search(ctx, "when does the canary sing", project="zoo").hits[0].memory.id == saved.memory.id
    memories.update(ctx, "1", Change(scope="personal"))
    assert search.search(ctx, "when does the canary sing", project="shop", scope="personal").hits == ()
    assert search.search(ctx, "when does the canary sing", scope="personal").hits[0].memory.id == saved.memory.id


def test_a_deleted_memory_can_not_be_corrected(ctx: Context) -> None:
    """It has to be restored first; a restored one leaves off a key that another holds."""
    save(ctx, "A", "one", topic="k")
    lifecycle.delete(ctx, "1")
    with pytest.raises(NotFound):
        memories.update(ctx, "1", Change(title="x"))
    save(ctx, "B", "two", topic="k")
    _, _, left_off = lifecycle.restore(ctx, "1")
    assert left_off == "k"
    with pytest.raises(Conflict):
        lifecycle.restore(ctx, "1")


def test_a_repeat_is_counted_for_15_minutes_from_the_last_one(ctx: Context, clock: Clock) -> None:
    """Then the same text is a new memory; other titles, types and scopes are never repeats."""
    save(ctx, "T", "text")
    for _ in range(3):
        clock.forward(minutes=14)
        assert save(ctx, "T", "Text ").what == memories.REPEATED
    assert save(ctx, "Other", "text").what == memories.NEW
    assert save(ctx, "T", "text", scope="personal").what == memories.NEW
    clock.forward(minutes=16)
    assert save(ctx, "T", "text").what == memories.NEW


def test_a_clock_that_goes_back_does_not_reorder_versions(ctx: Context, clock: Clock) -> None:
    """Versions are counted; a commit is never older than its parent."""
    save(ctx, "T", "one", topic="k")
    clock.forward(hours=-5)
    save(ctx, "T", "two", topic="k")
    clock.forward(hours=-5)
    save(ctx, "T", "three", topic="k")
    versions, _ = lifecycle.history(ctx, "1", limit=5)
    assert [v.body for v in versions] == ["three", "two", "one"]
    assert versions[0].at >= versions[1].at >= versions[2].at


def test_commit_ids_are_those_that_git_computes(ctx: Context, tmp_path: Path) -> None:
    """The whole chain, rebuilt with git itself."""
    save(ctx, "T", "one\n", topic="k")
    save(ctx, "T", "two – ünï\r\n", topic="k")
    versions, _ = lifecycle.history(ctx, "1", limit=5)
    repository = tmp_path / "git"

    def git(*arguments: str, stdin: bytes = b"", **env: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments], input=stdin, capture_output=True, check=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **env},
        )  # fmt: skip
        return done.stdout.decode().strip()

    repository.mkdir()
    git("init", "--quiet")
    parent: list[str] = []
    for version in reversed(versions):
        blob = git("hash-object", "-w", "--stdin", stdin=(version.body or "").encode())
        tree = git("mktree", stdin=f"100644 blob {blob}\t{version.memory_id}.md\n".encode())
        at = f"{version.at // 1000} +0000"
        who = {"NAME": "ada", "EMAIL": "ada@example.org", "DATE": at}
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        sha = git("commit-tree", tree, *(f"-p{p}" for p in parent), stdin=f"{version.message}\n".encode(), **env)
        assert sha == version.commit_sha
        parent = [sha]
