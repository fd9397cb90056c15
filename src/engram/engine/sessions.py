"""Sessions: found or made for every save, so that bookkeeping never refuses one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, places
from engram.engine.ledger import Ledger
from engram.engine.prepare import clean
from engram.errors import NotFound
from engram.model import SCOPE_PROJECT, SESSION_IDLE_MS, Namespace, Redactions, Role, Session
from engram.rules import ids
from engram.store import sessions as rows
from engram.store.sessions import touch

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tx

__all__ = ["Started", "attach", "end", "ended_at", "manual_name", "start", "touch"]

MANUAL_PREFIX = "manual-save-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A session that was started, or reopened."""

    name: str
    project: str
    was_reopened: bool
    notes: tuple[str, ...] = ()


def manual_name(project: str) -> str:
    """The session of saves that belong to none."""
    return f"{MANUAL_PREFIX}{project}"


def ended_at(session: Session, now: int) -> int | None:
    """When a session ended: told so, or idle for 24 hours since its last activity; manual ones never."""
    if session.ended_at is not None:
        return session.ended_at
    is_idle = now - session.active_at >= SESSION_IDLE_MS and not session.name.startswith(MANUAL_PREFIX)
    return session.active_at if is_idle else None


def attach(tx: Tx, ctx: Context, namespace: Namespace, *, wanted: str) -> tuple[Session, bool]:
    """The session of a save, made if needed; and whether it was guessed.

    In this order: the one that was named, the one started on this connection for the project, the
    actor's open session of the project, the project's manual one.
    """
    name, was_guessed = wanted, False
    if not name:
        name = ctx.sessions.get(namespace.folded, "")
    if not name:
        name = _open_one(tx, ctx, namespace)
        was_guessed = bool(name)
    session, _ = rows.ensure(tx, _draw(tx, ctx, namespace, name or manual_name(namespace.name)))
    return session, was_guessed


def _open_one(tx: Tx, ctx: Context, namespace: Namespace) -> str:
    found = rows.open_ones(
        tx,
        library_id=namespace.library_id,
        namespace_id=namespace.id,
        actor_id=ctx.actor_id,
        token_id=None if ctx.folder is not None else ctx.token_id,  # over HTTP of the same token too
    )
    here = str(ctx.folder) if ctx.folder else ""
    same = [session for session in found if here and session.directory == here]
    best = same or found
    return best[0].name if best else ""


def _draw(tx: Tx, ctx: Context, namespace: Namespace, name: str) -> Session:
    return Session(
        id=ids.uuid7(tx.now),
        library_id=namespace.library_id,
        namespace_id=namespace.id,
        actor_id=ctx.actor_id,
        token_id=ctx.token_id,
        name=name,
        directory="",
        started_at=tx.now,
        active_at=tx.now,
    )


def start(ctx: Context, name: str, *, project: str, directory: str) -> Started:
    """Start a session, or reopen an ended one; fills what was empty."""
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        target = places.target(tx, ctx, who, project=project, scope=SCOPE_PROJECT)
        namespace, _ = places.open_namespace(tx, target)
        session, is_new = rows.ensure(tx, _draw(tx, ctx, namespace, name))
        was_reopened = not is_new and ended_at(session, tx.now) is not None
        changed = replace(
            session,
            directory=session.directory or directory,
            active_at=max(tx.now, session.active_at),
            ended_at=None,
            token_id=ctx.token_id,
        )
        ledger = Ledger(tx, ctx, [namespace.library_id])
        rows.update(tx, changed)
        verb = "session.reopened" if was_reopened else "session.started"
        ledger.close(verb, {namespace.library_id: session.id}, namespace=session.namespace_id)
    ctx.sessions[namespace.folded] = name
    return Started(
        name=name,
        project=namespace.name,
        was_reopened=was_reopened,
        notes=(target.note,) if target.note else (),
    )


def end(ctx: Context, name: str, *, summary: str) -> tuple[Session, Redactions]:
    """End the caller's session of this name; a summary replaces the earlier one, none leaves it.

    Raises:
        NotFound: the caller has no session of this name.
    """
    redactions = Redactions()
    if summary:
        summary, redactions = clean(ctx.engine, summary, parameter="summary")
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        session = _mine(tx, who, name)
        who.require(session.library_id, Role.WRITE)
        ended = replace(
            session,
            ended_at=ended_at(session, tx.now) or tx.now,
            active_at=max(session.active_at, tx.now if session.ended_at is None else 0),
            summary=summary or session.summary,
        )
        if ended != session:
            ledger = Ledger(tx, ctx, [session.library_id])
            rows.update(tx, ended)
            ledger.close("session.ended", {session.library_id: session.id})
    for folded in [key for key, value in ctx.sessions.items() if value == name]:
        del ctx.sessions[folded]
    return ended, redactions


def _mine(tx: Tx, who: Reach, name: str) -> Session:
    for library in who.own:  # the bound library first
        found = rows.named(tx, library_id=library.id, actor_id=who.actor.id, name=name, is_held=True)
        if found:
            return found
    raise NotFound(
        f"session {name[:80]!r} not found", hint="Start it with mem_session_start, or leave session_id out of saves"
    )
