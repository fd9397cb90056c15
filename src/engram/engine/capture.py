"""Saves that are not one observation: prompts, session summaries, learnings found in a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, index, places, sessions
from engram.engine.ledger import Ledger, salted
from engram.engine.memories import (
    NEW,
    REVISED,
    UNCHANGED,
    Saved,
    Where,
    decide,
    deposit,
    draw,
    insert,
    is_held_as,
    revise,
)
from engram.engine.prepare import Prepared, prepare
from engram.errors import Invalid
from engram.model import (
    KIND_PASSIVE,
    KIND_PROMPT,
    KIND_SUMMARY,
    SCOPE_PERSONAL,
    SCOPE_PROJECT,
    Draft,
    Redactions,
    memory_type_of,
)
from engram.rules import names, passive, times
from engram.rules.redact import is_only_private, redact
from engram.store import memories as rows

if TYPE_CHECKING:
    from engram.engine.context import Context
    from engram.model import Namespace, Session
    from engram.store.base import Tx

PROMPT_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What a passive capture found and kept."""

    extracted: int
    saved: int
    duplicates: int
    skipped: int
    private: int  # items that held nothing but private parts
    project: str
    redactions: Redactions
    notes: tuple[str, ...] = ()


def save_prompt(ctx: Context, content: str, where: Where) -> Saved:
    """Keep what the user asked, in Personal, where only the person reads it."""
    shown, redactions = redact(content, secrets=ctx.engine.settings.redact_secrets)
    if redactions.private and is_only_private(content, shown):
        raise Invalid("content holds nothing but private parts", hint="Nothing to remember; leave the call out")
    title = names.cut_at_word(names.tidy_title(shown), PROMPT_TITLE_CHARS)
    ready = prepare(
        ctx.engine,
        Draft(title=title, body=shown, kind="manual", scope=SCOPE_PERSONAL, source=ctx.client),
    )
    draft = replace(ready.draft, kind=KIND_PROMPT, memory_type=memory_type_of(KIND_PROMPT))
    ready = replace(ready, draft=draft, redactions=redactions)

    def act(tx: Tx, namespace: Namespace, session: Session) -> Saved:
        return Saved(memory=insert(tx, ctx, ready, namespace, session), label="", what=NEW)

    return deposit(ctx, ready, replace(where, scope=SCOPE_PERSONAL), act)


def save_summary(ctx: Context, content: str, where: Where) -> Saved:
    """Keep a session's summary: one per started session, a second call revises it."""
    with ctx.engine.store.reading() as tx:
        project = places.target(tx, ctx, access.reach(tx, ctx), project=where.project, scope=SCOPE_PROJECT).name
    title = f"Session summary: {project}, {times.show_date(ctx.engine.store.clock())}"
    ready = prepare(ctx.engine, Draft(title=title, body=content, kind=KIND_SUMMARY, source=ctx.client))
    return deposit(
        ctx,
        ready,
        where,
        lambda tx, namespace, session: _summary(tx, ctx, ready, namespace, session),
        also_lock="summary",
    )


def _summary(tx: Tx, ctx: Context, ready: Prepared, namespace: Namespace, session: Session) -> Saved:
    """Revise the session's summary; in a manual session, which many share, each is a memory of its own."""
    held = None
    if not session.name.startswith(sessions.MANUAL_PREFIX):
        held = rows.summary_of(tx, library_id=session.library_id, session_id=session.id)
    if held is not None and not is_held_as(tx, held):  # changed meanwhile: what stands now is what is revised
        held = rows.summary_of(tx, library_id=session.library_id, session_id=session.id)
    if held is None:
        return decide(tx, ctx, ready, namespace, session)
    if held.body == ready.draft.body:
        return Saved(memory=held, label="", what=UNCHANGED)
    changed = replace(held, title=ready.draft.title, body=ready.draft.body)
    return Saved(memory=revise(tx, ctx, held, changed, ready.pieces), label="", what=REVISED)


def capture(ctx: Context, content: str, *, source: str, where: Where) -> Captured:
    """Keep the learnings that a text lists; once per project by hash, all or none.

    Raises:
        Invalid: a field is over its limit.
    """
    items, skipped = passive.extract(content)
    ready: list[Prepared] = []
    private = 0
    redactions = Redactions()
    for item in items:
        shown, found = redact(item, secrets=ctx.engine.settings.redact_secrets)
        redactions = redactions.plus(found)
        if found.private and is_only_private(item, shown):
            private += 1
            continue
        draft = Draft(title=passive.passive_title(shown), body=shown, kind=KIND_PASSIVE, source=source)
        ready.append(prepare(ctx.engine, draft))
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        target = places.target(tx, ctx, who, project=where.project, scope=SCOPE_PROJECT)
        tx.lock(f"passive:{target.library.id}:{names.fold_name(target.name)}")
        namespace, _ = places.open_namespace(tx, target)
        tx.lock(f"passive:{namespace.library_id}:{namespace.folded}")  # another one for the name of a merged project
        fresh = _unknown(tx, ready, namespace)
        if fresh:
            session, _ = sessions.attach(tx, ctx, namespace, wanted=where.session)
            sessions.touch(tx, session)
            _insert_all(tx, ctx, fresh, namespace, session)
        return Captured(
            extracted=len(items),
            saved=len(fresh),
            duplicates=len(ready) - len(fresh),
            skipped=skipped,
            private=private,
            project=namespace.name,
            redactions=redactions,
            notes=(target.note,) if target.note else (),
        )


def _unknown(tx: Tx, ready: list[Prepared], namespace: Namespace) -> list[Prepared]:
    fresh: dict[str, Prepared] = {}
    for item in ready:
        if item.same_hash in fresh:
            continue
        known = rows.same(tx, library_id=namespace.library_id, namespace_id=namespace.id, same_hash=item.same_hash)
        if all(memory.scope != SCOPE_PROJECT for memory, _, _ in known):  # a prompt or personal note is none of these
            fresh[item.same_hash] = item
    return list(fresh.values())


def _insert_all(tx: Tx, ctx: Context, ready: list[Prepared], namespace: Namespace, session: Session) -> None:
    """One transaction and one event for the whole batch."""
    drawn = [(draw(tx, ctx, item, namespace, session), item) for item in ready]
    chunk_ids = [
        chunk_id
        for memory, item in drawn
        for chunk_id in index.replace_chunks(tx, memory.id, was=None, now=index.facets_of(memory), pieces=item.pieces)
    ]
    ledger = Ledger(tx, ctx, [namespace.library_id])
    stored = [ledger.insert(memory) for memory, _ in drawn]
    ledger.close(
        "memory.stored",
        {namespace.library_id: stored[0].id},
        hashes=[salted(memory) for memory in stored],
        ids=[memory.id for memory in stored],
        kind=KIND_PASSIVE,
        namespace=namespace.id,
    )
    tx.after_commit(lambda: ctx.engine.worker.wake(chunk_ids))
