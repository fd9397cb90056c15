"""Versions with the commit ids that Git computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.model import Actor, Memory, Version
from engram.rules import ids
from engram.store import memories, people

if TYPE_CHECKING:
    from engram.store.base import Tx


def record(tx: Tx, *, before: Memory, after: Memory, author_id: str, verb: str) -> str:
    """Write the version of a change, and first a baseline of the text before it where there is no history.

    Args:
        before: The memory as it stands in the database.
        after: The memory as it will be; its place in Git is its id and format.
        author_id: Who makes the change.
        verb: ``update`` or ``restore``.

    Returns:
        The commit id of the new head.
    """
    head = memories.head(tx, before)
    if head is None:
        head = _commit(
            tx,
            before,
            parent=None,
            author_id=before.author_id,
            at=before.updated_at,
            message=f"baseline: {before.title}",
        )
        memories.insert_version(tx, head)
    fresh = _commit(tx, after, parent=head, author_id=author_id, at=tx.now, message=f"{verb}: {after.title}")
    memories.insert_version(tx, fresh)
    return fresh.commit_sha


def _commit(tx: Tx, memory: Memory, *, parent: Version | None, author_id: str, at: int, message: str) -> Version:
    author = people.actor(tx, author_id) or Actor(id=author_id, name=author_id, created_at=0)
    commit = ids.version_commit(
        memory.id,
        body_format=memory.format,
        body=memory.body,
        author=author,
        at_ms=at,
        message=message,
        parent=ids.Commit(sha=parent.commit_sha, at_ms=parent.at) if parent else None,
    )
    return Version(
        library_id=memory.library_id,
        memory_id=memory.id,
        n=parent.n + 1 if parent else 1,
        commit_sha=commit.sha,
        parent_sha=parent.commit_sha if parent else None,
        author_id=author_id,
        message=message,
        at=commit.at_ms,
        title=memory.title,
        body=memory.body,
        kind=memory.kind,
        salt=memory.salt,
    )
