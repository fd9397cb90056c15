"""Remember and revise: the one way in which text comes into the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, history, index, places, sessions
from engram.engine.ledger import Ledger, salted
from engram.engine.prepare import Prepared, kind, prepare, topic_key
from engram.errors import Conflict, Invalid, NotFound
from engram.model import (
    DUPLICATE_WINDOW_MS,
    KIND_PROMPT,
    SCOPE_PERSONAL,
    SCOPE_PROJECT,
    Draft,
    Memory,
    Namespace,
    Redactions,
    Role,
    Session,
    memory_type_of,
)
from engram.rules import ids, names, tagging
from engram.rules.redact import redact
from engram.store import links, tags, uncompared
from engram.store import memories as rows

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tx

NO_REDACTIONS = Redactions()
NEW, REVISED, UNCHANGED, REPEATED = "new", "revised", "unchanged", "repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What became of a draft."""

    memory: Memory
    label: str  # how the caller names it
    what: str  # NEW, REVISED, UNCHANGED or REPEATED
    times: int = 1  # how often the same text was saved
    key_was_set: bool = False
    project: str = ""
    session: str = ""
    session_was_guessed: bool = False
    redactions: Redactions = NO_REDACTIONS
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a caller wants a draft to go; what is empty is found."""

    project: str = ""
    scope: str = SCOPE_PROJECT
    session: str = ""


def remember(ctx: Context, draft: Draft, where: Where) -> Saved:
    """Keep a memory; revise the one that has the same topic key; count a repeat.

    Raises:
        AccessDenied, NotFound: the caller may not write there.
        Conflict: the text is recalled memory.
        Invalid: a field is over its limit, blank or only private.
    """
    ready = prepare(ctx.engine, replace(draft, scope=where.scope, source=draft.source or ctx.client))
    return deposit(ctx, ready, where, lambda tx, namespace, session: decide(tx, ctx, ready, namespace, session))


def deposit(
    ctx: Context, ready: Prepared, where: Where, act: Callable[[Tx, Namespace, Session], Saved], *, also_lock: str = ""
) -> Saved:
    """One save's transaction: find place and session, do ``act`` under the locks of its checks, and say what was done.

    Args:
        ready: The draft; its text and topic key are locked in its place.
        where: Where the caller wants it to go.
        act: Writes it.
        also_lock: One more thing that ``act`` checks in the place.
    """
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        if where.scope == SCOPE_PERSONAL:
            places.require_personal(who)
        target = places.target(tx, ctx, who, project=where.project, scope=where.scope)
        folded = names.fold_name(target.name)
        tx.lock(*_checked(ready, f"{target.library.id}:{folded}:{where.scope}", also_lock))
        namespace, _ = places.open_namespace(tx, target)
        if namespace.folded != folded:  # the name of a merged project: the checks are made where it leads
            tx.lock(*_checked(ready, f"{target.library.id}:{namespace.folded}:{where.scope}", also_lock))
        session, was_guessed = sessions.attach(tx, ctx, namespace, wanted=where.session)
        saved = act(tx, namespace, session)
        sessions.touch(tx, session)
        return replace(
            saved,
            label=who.label(saved.memory),
            project=namespace.name,
            session=session.name,
            session_was_guessed=was_guessed,
            redactions=ready.redactions,
            notes=(target.note,) if target.note else (),
        )


def _checked(ready: Prepared, place: str, also_lock: str) -> list[str]:
    """What a save checks in a place, as locks."""
    keys = [f"same:{place}:{ready.same_hash}"]
    keys += [f"topic:{place}:{ready.draft.topic_key}"] if ready.draft.topic_key else []
    keys += [f"{also_lock}:{place}"] if also_lock else []
    return keys


def decide(tx: Tx, ctx: Context, ready: Prepared, namespace: Namespace, session: Session) -> Saved:
    """The rules of a save, in their order: topic key, repeat, new."""
    draft = ready.draft
    held = None
    if draft.topic_key:
        held = rows.by_topic(
            tx,
            library_id=namespace.library_id,
            namespace_id=namespace.id,
            scope=draft.scope,
            topic_key=draft.topic_key,
        )
    if held:
        return _save_topic(tx, ctx, held, ready, session)
    repeated = _repeat(tx, ready, namespace)
    if repeated:
        return _save_repeat(tx, ctx, repeated, draft)
    memory = insert(tx, ctx, ready, namespace, session)
    return Saved(memory=memory, label="", what=NEW)


def _save_topic(tx: Tx, ctx: Context, held: Memory, ready: Prepared, session: Session) -> Saved:
    draft = ready.draft
    if (held.title, held.kind, held.body) == (draft.title, draft.kind, draft.body):
        return Saved(memory=held, label="", what=UNCHANGED)
    changed = replace(
        held,
        title=draft.title,
        body=draft.body,
        kind=draft.kind,
        memory_type=held.memory_type if held.type_given else memory_type_of(draft.kind),
        concept=draft.concept or held.concept,
        session_id=session.id if session.library_id == held.library_id else held.session_id,
    )
    return Saved(memory=revise(tx, ctx, held, changed, ready.pieces), label="", what=REVISED)


def _repeat(tx: Tx, ready: Prepared, namespace: Namespace) -> Memory | None:
    """A live memory with the same text, type, title and scope that was seen within the window."""
    draft = ready.draft
    found = rows.same(tx, library_id=namespace.library_id, namespace_id=namespace.id, same_hash=ready.same_hash)
    for memory, _, seen_at in found:
        is_same = (memory.scope, memory.kind, memory.title) == (draft.scope, draft.kind, draft.title)
        is_recent = tx.now - (seen_at or memory.created_at) <= DUPLICATE_WINDOW_MS
        has_other_key = bool(draft.topic_key) and memory.topic_key not in (None, draft.topic_key)
        if is_same and is_recent and not has_other_key and is_held_as(tx, memory):
            return memory
    return None


def is_held_as(tx: Tx, memory: Memory) -> bool:
    """Hold the row; whether it still is as it was read, without a hold, a moment ago."""
    held = rows.by_uuid(tx, library_ids=[memory.library_id], memory_id=memory.id, is_held=True)
    return held == memory


def _save_repeat(tx: Tx, ctx: Context, memory: Memory, draft: Draft) -> Saved:
    times = rows.note_repeat(tx, memory)
    if not draft.topic_key or memory.topic_key == draft.topic_key:
        return Saved(memory=memory, label="", what=REPEATED, times=times)
    keyed = replace(memory, topic_key=draft.topic_key, updated_at=max(tx.now, memory.updated_at))
    pieces = index.cut_memory(ctx.engine.embedder, keyed)
    chunk_ids = index.replace_chunks(
        tx, memory.id, was=index.facets_of(memory), now=index.facets_of(keyed), pieces=pieces
    )
    ledger = Ledger(tx, ctx, [memory.library_id])
    keyed = ledger.update(keyed, was=memory)
    ledger.close("memory.keyed", {memory.library_id: memory.id})
    tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
    return Saved(memory=keyed, label="", what=REPEATED, times=times, key_was_set=True)


def draw(tx: Tx, ctx: Context, ready: Prepared, namespace: Namespace, session: Session | None) -> Memory:
    """A new memory of a draft, without number and seal."""
    draft = ready.draft
    return Memory(
        id=ids.uuid7(tx.now),
        number=0,
        library_id=namespace.library_id,
        namespace_id=namespace.id,
        session_id=session.id if session else None,
        kind=draft.kind,
        memory_type=draft.memory_type,
        type_given=ready.type_given,
        title=draft.title,
        body=draft.body,
        format=draft.format,
        concept=draft.concept,
        topic_key=draft.topic_key or None,
        scope=draft.scope,
        importance=ready.importance,
        confidence=draft.confidence,
        source=draft.source,
        author_id=ctx.actor_id,
        trigger_pattern=draft.trigger_pattern,
        action_pattern=draft.action_pattern,
        content_hash=ready.content_hash,
        same_hash=ready.same_hash,
        salt=os.urandom(16),
        revision=1,
        decays=draft.decays,
        event_at=draft.event_at,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        created_at=tx.now,
        updated_at=tx.now,
    )


def insert(tx: Tx, ctx: Context, ready: Prepared, namespace: Namespace, session: Session | None) -> Memory:
    """Add one new memory with its chunks, tags and its event."""
    memory = draw(tx, ctx, ready, namespace, session)
    chunk_ids = index.replace_chunks(tx, memory.id, was=None, now=index.facets_of(memory), pieces=ready.pieces)
    compare_later(tx, memory, ready.pieces)
    add_tags(tx, memory, ready.draft.tags)
    ledger = Ledger(tx, ctx, [memory.library_id])
    memory = ledger.insert(memory)
    ledger.close(
        "memory.stored",
        {memory.library_id: memory.id},
        hash=salted(memory),
        kind=memory.kind,
        namespace=namespace.id,
        number=memory.number,
    )
    tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
    return memory


def compare_later(tx: Tx, memory: Memory, pieces: list[index.Piece]) -> None:
    """A text that gets no vector is compared by its words; of the others the worker hears with their vectors."""
    if memory.kind != KIND_PROMPT and not any(piece.is_readable for piece in pieces):
        uncompared.wait(tx, library_id=memory.library_id, memory_id=memory.id)


def add_tags(tx: Tx, memory: Memory, given: tuple[str, ...]) -> list[str]:
    """Tag a memory; returns the tags that it did not have."""
    new: list[str] = []
    for tag in dict.fromkeys(given):
        kept, folded = tagging.tidy(tag), tagging.fold(tag)
        if tags.add(tx, library_id=memory.library_id, memory_id=memory.id, folded=folded, tag=kept):
            new.append(kept)
    return new


def revise(tx: Tx, ctx: Context, before: Memory, changed: Memory, pieces: list[index.Piece]) -> Memory:
    """Store a memory's new text as a new version, the earlier one in its history."""
    after = replace(
        changed,
        content_hash=ids.content_hash(changed.body),
        same_hash=ids.same_hash(changed.body),
        salt=os.urandom(16),
        revision=before.revision + 1,
        updated_at=max(tx.now, before.updated_at),
    )
    chunk_ids = index.replace_chunks(
        tx, before.id, was=index.facets_of(before), now=index.facets_of(after), pieces=pieces
    )
    if after.body != before.body or after.title != before.title:
        links.drop_derived(tx, before)
        compare_later(tx, after, pieces)
    ledger = Ledger(tx, ctx, [before.library_id, after.library_id])
    after = replace(
        after, head_sha=history.record(tx, before=before, after=after, author_id=ctx.actor_id, verb="update")
    )
    if after.library_id != before.library_id:  # only now: the new version's parent is found where the memory was
        rows.move_usage(tx, after, was=before)
    after = ledger.update(after, was=before)
    targets = {before.library_id: before.id, after.library_id: after.id}
    ledger.close("memory.revised", targets, hash=salted(after), kind=after.kind, revision=after.revision)
    tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
    return after


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an update wants different; None leaves a field as it is."""

    title: str | None = None
    body: str | None = None
    kind: str | None = None
    project: str | None = None
    scope: str | None = None
    topic_key: str | None = None  # empty: cleared
    find: str | None = None
    replace: str | None = None


def update(ctx: Context, ref: str, change: Change) -> Saved:
    """Correct a memory: one new version, none where nothing is different.

    Raises:
        NotFound: no such memory, or archived.
        Conflict: the topic key is taken there.
        Invalid: a field is over its limit, blank or only private; ``find`` does not occur exactly once.
    """
    with ctx.engine.store.reading() as tx:  # the text is prepared outside the writing transaction
        seen = access.memory(tx, access.reach(tx, ctx), ref, role=Role.WRITE)
    while True:
        ready = prepare(
            ctx.engine,
            _draft_of(ctx, seen, change),
            may_be_recalled=change.body is None,
            may_be_prompt=seen.kind == KIND_PROMPT,
        )
        with ctx.engine.store.writing() as tx:
            who = access.reach(tx, ctx)
            target, moves = _target(tx, ctx, who, seen, change)
            if ready.draft.topic_key:
                place = f"{target.library.id}:{names.fold_name(target.name)}:{ready.draft.scope}"
                tx.lock(f"topic:{place}:{ready.draft.topic_key}")
            namespace, _ = places.open_namespace(tx, target) if moves else (None, False)
            held = access.memory(tx, who, seen.id, role=Role.WRITE, is_held=True)
            if held.is_hidden:
                raise access.missing(ref)
            if held.seal != seen.seal:
                seen = held  # somebody was faster: prepare again from the new text
                continue
            return _apply(tx, ctx, who, held, ready, namespace)


def _draft_of(ctx: Context, seen: Memory, change: Change) -> Draft:
    if seen.is_hidden:
        raise NotFound(
            f"memory #{seen.number} is archived ({seen.archived_why})",
            hint=f"Bring it back with `engram restore {seen.number}` first",
        )
    if seen.kind == KIND_PROMPT and (change.kind is not None or change.scope not in (None, SCOPE_PERSONAL)):
        raise Invalid("a prompt stays a prompt, and in Personal", hint="Save what others may read with mem_save")
    body = seen.body
    if change.find is not None:
        body = _replaced(ctx, body, change.find, change.replace or "")
    elif change.body is not None:
        body = change.body
    return Draft(
        title=seen.title if change.title is None else change.title,
        body=body,
        kind=seen.kind if change.kind is None else kind(change.kind),
        memory_type=seen.memory_type if seen.type_given else "",
        concept=seen.concept,
        topic_key=(seen.topic_key or "") if change.topic_key is None else topic_key(change.topic_key),
        scope=seen.scope if change.scope is None else change.scope,
        format=seen.format,
    )


def _replaced(ctx: Context, body: str, find: str, replacement: str) -> str:
    first = body.find(find)
    if first < 0:
        raise Invalid("find does not occur in the text", hint="Read it with mem_get_observation and copy it exactly")
    if body.find(find, first + 1) >= 0:
        raise Invalid("find occurs more than once in the text", hint="Give more of the text around the place")
    changed = body[:first] + replacement + body[first + len(find) :]
    shown, found = redact(changed, secrets=ctx.engine.settings.redact_secrets)
    alone, _ = redact(replacement, secrets=ctx.engine.settings.redact_secrets)
    expected = body[:first] + alone + body[first + len(find) :]
    if found and shown != expected:
        raise Invalid(
            "the replacement would hide text that stood there", hint="Close the private tag inside the replacement"
        )
    return changed


def _target(tx: Tx, ctx: Context, who: Reach, seen: Memory, change: Change) -> tuple[places.Target, bool]:
    """Where the memory will live, and whether that is another place than now."""
    library = who.require(seen.library_id, Role.WRITE)
    name = rows.namespace_name(tx, seen)
    if change.scope is None and change.project is None:
        return places.Target(library=library, name=name), False
    scope = change.scope or seen.scope
    if change.scope is not None and change.scope != seen.scope:
        library = who.personal if scope == SCOPE_PERSONAL else who.bound
        who.require(library.id, Role.WRITE)
    if change.project is None:
        return places.Target(library=library, name=name), True
    if "/" in change.project or ids.is_uuid(change.project):
        return places.target(tx, ctx, who, project=change.project, scope=scope), True
    return places.Target(library=library, name=names.fit_project_name(change.project)), True


def _apply(tx: Tx, ctx: Context, who: Reach, held: Memory, ready: Prepared, namespace: Namespace | None) -> Saved:
    draft = ready.draft
    library_id = namespace.library_id if namespace else held.library_id
    changed = replace(
        held,
        title=draft.title,
        body=draft.body,
        kind=draft.kind,
        memory_type=draft.memory_type,
        topic_key=draft.topic_key or None,
        scope=draft.scope,
        library_id=library_id,
        namespace_id=namespace.id if namespace else held.namespace_id,
        session_id=held.session_id if library_id == held.library_id else None,
    )
    if changed == held:
        return Saved(memory=held, label=who.label(held), what=UNCHANGED, redactions=ready.redactions)
    if changed.topic_key:
        taken = rows.by_topic(
            tx,
            library_id=changed.library_id,
            namespace_id=changed.namespace_id,
            scope=changed.scope,
            topic_key=changed.topic_key,
        )
        if taken and taken.id != held.id:
            raise Conflict(
                f"topic_key {changed.topic_key} belongs to {who.label(taken)} there",
                hint="Update that memory, or give this one another key",
            )
    saved = revise(tx, ctx, held, changed, ready.pieces)
    return Saved(memory=saved, label=who.label(saved), what=REVISED, redactions=ready.redactions)
