"""The end of a memory, and the way back: archive, restore, erase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, index, validity
from engram.engine.ledger import Ledger
from engram.errors import Conflict, Invalid, NotFound
from engram.model import SUPERSEDED, Memory, Role, Version
from engram.store import chunks
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.engine.context import Context
    from engram.store.base import Tx

DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What became of a memory that was deleted."""

    label: str
    was_already: bool = False
    is_erased: bool = False


def delete(ctx: Context, ref: str, *, is_hard: bool = False) -> Removed:
    """Archive a memory as deleted, or erase it for good with every copy.

    Raises:
        NotFound: no such memory.
        AccessDenied: too small a role.
    """
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref, role=Role.WRITE, is_held=True)
        if is_hard:
            _erase(tx, ctx, memory)
        elif memory.is_hidden:
            return Removed(label=who.label(memory), was_already=True)
        else:
            archive(tx, ctx, memory, why=DELETED)
        return Removed(label=who.label(memory), is_erased=is_hard)


def archive(tx: Tx, ctx: Context, memory: Memory, *, why: str) -> Memory:
    """Take a memory out of every list and index; its text and history stay. A superseded one stays in the indexes."""
    hide(tx, [memory], why=why)
    ledger = Ledger(tx, ctx, [memory.library_id])
    gone = ledger.update(archived(tx, memory, why=why), was=memory)
    ledger.close("memory.archived", {memory.library_id: memory.id}, why=why)
    return gone


def hide(tx: Tx, memories: Sequence[Memory], *, why: str) -> None:
    """Take memories out of the indexes, before the library's lock; superseded ones stay, for asOf and for who asks."""
    if why == SUPERSEDED:
        return
    for memory in memories:
        chunks.hide(tx, chunks.ids_of(tx, library_id=memory.library_id, memory_id=memory.id))


def archived(tx: Tx, memory: Memory, *, why: str) -> Memory:
    """The memory as it is once archived."""
    return replace(memory, archived_at=tx.now, archived_why=why, updated_at=max(tx.now, memory.updated_at))


def _erase(tx: Tx, ctx: Context, memory: Memory) -> None:
    """Delete row, history, chunks, words and vectors; the event stays, the salt of its hash does not."""
    chunks.delete(tx, chunks.ids_of(tx, library_id=memory.library_id, memory_id=memory.id))
    ledger = Ledger(tx, ctx, [memory.library_id])
    ledger.erase(memory)
    ledger.close("memory.erased", {memory.library_id: memory.id})


def restore(ctx: Context, ref: str) -> tuple[Memory, str, str]:
    """Make an archived memory live again.

    Returns:
        (the memory, how the caller names it, the topic key that was left off because another holds it).

    Raises:
        NotFound: no such memory.
        Conflict: it is not archived, or its namespace is gone.
    """
    with ctx.engine.store.reading() as tx:
        seen = access.memory(tx, access.reach(tx, ctx), ref, role=Role.WRITE)
    pieces = index.cut_memory(ctx.engine.embedder, seen)
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref, role=Role.WRITE, is_held=True)
        if not memory.is_archived:
            raise Conflict(f"memory {who.label(memory)} is not archived", hint="Nothing to restore")
        left_off = _taken_key(tx, memory)
        live = replace(
            validity.undo(tx, memory),
            archived_at=None,
            archived_why=None,
            erase_at=None,
            topic_key=None if left_off else memory.topic_key,
            updated_at=max(tx.now, memory.updated_at),
        )
        facets = index.facets_of(live)
        chunk_ids = index.replace_chunks(tx, live.id, was=facets, now=facets, pieces=pieces)
        ledger = Ledger(tx, ctx, [live.library_id])
        live = ledger.update(live, was=memory)
        ledger.close("memory.restored", {live.library_id: live.id})
        tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
        return live, who.label(live), left_off


def _taken_key(tx: Tx, memory: Memory) -> str:
    if not memory.topic_key:
        return ""
    held = rows.by_topic(
        tx,
        library_id=memory.library_id,
        namespace_id=memory.namespace_id,
        scope=memory.scope,
        topic_key=memory.topic_key,
    )
    return memory.topic_key if held else ""


def read(ctx: Context, ref: str) -> tuple[Memory, str]:
    """A memory by id, and how the caller names it.

    Raises:
        NotFound: none, or archived for another reason than a successor; with the way back for who may restore.
    """
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref)
        require_shown(who, memory, ref)
        return memory, who.label(memory)


def require_shown(who: access.Reach, memory: Memory, ref: str) -> None:
    """Refuse a hidden memory as not found.

    Raises:
        NotFound: it is hidden.
    """
    if not memory.is_hidden:
        return
    if who.role(memory.library_id) < Role.WRITE:
        raise access.missing(ref)
    raise NotFound(
        f"memory {who.label(memory)} was {memory.archived_why}",
        hint=f"Bring it back with `engram restore {memory.number}`",
    )


def history(ctx: Context, ref: str, *, limit: int) -> tuple[list[Version], int]:
    """The newest versions of a memory, and how many there are."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref)
        require_shown(who, memory, ref)
        return rows.versions(tx, memory, limit=limit), rows.count_versions(tx, memory)


def version(ctx: Context, ref: str, sha: str) -> Version:
    """One version of a memory, by the first digits of its commit id.

    Raises:
        Invalid: the id is too short, or several versions begin so.
        NotFound: no such memory or version.
    """
    _require_sha(sha)
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref)
        require_shown(who, memory, ref)
        return _one_version(tx, memory, ref, sha)


def _require_sha(sha: str) -> None:
    if not 7 <= len(sha) <= 40 or any(digit not in "0123456789abcdef" for digit in sha.lower()):
        raise Invalid(f"version is {sha[:80]!r}", hint="Give 7 to 40 hex digits of a commit id")


def _one_version(tx: Tx, memory: Memory, ref: str, sha: str) -> Version:
    found = rows.versions_like(tx, memory, sha.lower())
    if not found:
        raise NotFound(f"memory {ref} has no version {sha}", hint="See its versions with `engram get ID --history`")
    if len(found) > 1:
        raise Invalid(f"several versions begin with {sha}", hint="Give more digits")
    return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedVersion:
    """What became of a version's text."""

    label: str
    commit_sha: str
    was_already: bool
    alike: tuple[str, ...]  # commit ids of other versions that hold the same text


def erase_version(ctx: Context, ref: str, sha: str) -> ErasedVersion:
    """Take the title and text of one earlier version away for good; its commit id stays in the history.

    Raises:
        NotFound: no such memory or version.
        AccessDenied: too small a role.
        Conflict: it is the newest version, whose text is the memory's.
        Invalid: the id is too short, or several versions begin so.
    """
    _require_sha(sha)
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref, role=Role.WRITE, is_held=True)
        found = _one_version(tx, memory, ref, sha)
        if found.commit_sha == memory.head_sha:
            raise Conflict(
                f"version {found.commit_sha[:12]} is the present text of {who.label(memory)}",
                hint="Correct the memory first with `engram update ID`, then erase this version",
            )
        everything = rows.versions(tx, memory, limit=rows.count_versions(tx, memory))
        alike = [v.commit_sha for v in everything if v.n != found.n and v.body is not None and v.body == found.body]
        if found.body is not None:
            ledger = Ledger(tx, ctx, [memory.library_id])
            rows.blank_version(tx, found)
            ledger.close("version.erased", {memory.library_id: memory.id}, n=found.n)
    return ErasedVersion(
        label=who.label(memory), commit_sha=found.commit_sha, was_already=found.body is None, alike=tuple(alike)
    )
