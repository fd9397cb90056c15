"""Forgetting: on request, by decay, and by making one memory of many events. All of it can be restored."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engram.engine import access, consolidation, lifecycle, places, policies
from engram.engine.lease import Lease
from engram.engine.ledger import Ledger
from engram.errors import Conflict, Invalid, NotFound
from engram.model import Memory, Role
from engram.rules import decay
from engram.rules.redact import redact
from engram.store import decaying, libraries
from engram.store import memories as rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.engine.context import Context
    from engram.rules.decay import Policy
    from engram.store.base import Tx
    from engram.store.decaying import Fading

FORGOTTEN, DECAYED = "forgotten", "decayed"
PAGE = 1_000
SHOWN_IDS_MAX = 1_000
SWEEP = "sweep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What became of the memories that were named."""

    archived: tuple[str, ...]
    missing: tuple[str, ...]
    events: tuple[str, ...]
    reason: str


def forget(ctx: Context, refs: Sequence[str], *, reason: str = "") -> Forgotten:
    """Archive memories in one transaction; those that are not there are told.

    Raises:
        AccessDenied: one of them is in a library where the caller's role is too small; nothing is done.
    """
    shown, _ = redact(reason, secrets=ctx.engine.settings.redact_secrets)
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        found: dict[str, Memory] = {}
        missing: list[str] = []
        for ref in refs:
            try:
                memory = access.memory(tx, who, ref, role=Role.WRITE)
            except (NotFound, Invalid):
                missing.append(ref)
                continue
            if memory.is_hidden:
                missing.append(ref)
            else:
                found[memory.id] = memory
        held = [access.memory(tx, who, key, role=Role.WRITE, is_held=True) for key in sorted(found)]
        events = archive_all(tx, ctx, held, why=FORGOTTEN, verb="memory.forgotten", reason=shown) if held else []
        return Forgotten(
            archived=tuple(memory.id for memory in held), missing=tuple(missing), events=tuple(events), reason=shown
        )


def archive_all(tx: Tx, ctx: Context, held: Sequence[Memory], *, why: str, verb: str, reason: str = "") -> list[str]:
    """Archive memories that are held, with one event in each of their libraries; returns the events' ids."""
    lifecycle.hide(tx, held, why=why)
    ledger = Ledger(tx, ctx, {memory.library_id for memory in held})
    for memory in held:
        ledger.update(lifecycle.archived(tx, memory, why=why), was=memory)
    first = {memory.library_id: memory.id for memory in reversed(held)}
    detail = {"reason": reason} if reason else {}
    return ledger.close(verb, first, ids=[memory.id for memory in held], why=why, **detail)


@dataclass(slots=True, kw_only=True)
class Swept:
    """What a sweep did, or would do."""

    scanned: int = 0
    decayed: int = 0
    protected: int = 0
    archived: list[str] = field(default_factory=list[str])
    consolidated: int = 0
    made: list[str] = field(default_factory=list[str])
    events: list[str] = field(default_factory=list[str])
    duration_ms: int = 0
    is_dry: bool = False


def sweep(
    ctx: Context,
    *,
    is_dry: bool = False,
    namespace: str = "",
    tell: Callable[[int], None] = lambda _scanned: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Swept:
    """Archive what has faded and consolidate old events, in every library of the own set that the caller may write.

    Args:
        ctx: Who asks.
        is_dry: Write and notify nothing; say what a sweep would do.
        namespace: Only this one.
        tell: Hears how many memories were looked at.
        is_stopped: Whether to end between two batches.

    Raises:
        Conflict: another sweep is running.
    """
    began = time.monotonic()
    done = Swept(is_dry=is_dry)
    lease = Lease(ctx.engine.store, kind=SWEEP)
    if not is_dry and not lease.hold():
        raise Conflict("another sweep is running", hint=f"Try again in {lease.free_in_s:.0f} s")
    try:
        for library_id, namespace_id in _places(ctx, namespace, is_dry=is_dry):
            if is_stopped():
                break
            with ctx.engine.store.reading() as tx:
                policy = policies.of(tx, library_id, namespace_id)
            kept = _fade(ctx, done, library_id, namespace_id, policy, tell, is_stopped)
            if policy.consolidation_enabled and not is_stopped():
                made = consolidation.run(ctx, library_id, policy, kept, is_dry=is_dry)
                done.consolidated += made.sources
                done.made += made.ids
                done.events += made.events
            if not is_dry:
                lease.hold()
    finally:
        lease.release()
    done.duration_ms = round((time.monotonic() - began) * 1000)
    return done


def _places(ctx: Context, namespace: str, *, is_dry: bool) -> list[tuple[str, str]]:
    """(library, namespace) of what is swept; a dry run only reads."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        covered = places.recalled(tx, ctx, who, namespace=namespace)
        if namespace and not covered.is_known:
            hint = f"The closest are {', '.join(covered.closest)}" if covered.closest else "See memory_stats"
            raise NotFound(f"there is no namespace {namespace[:80]!r}", hint=hint)
        wanted = Role.READ if is_dry else Role.WRITE
        ids = [key for key in covered.where.library_ids if who.role(key) >= wanted]
        if namespace:
            return sorted({(p.library_id, p.namespace_id) for p in covered.where.places if p.library_id in ids})
        return [(space.library_id, space.id) for space in libraries.namespaces(tx, library_ids=ids)]


def _fade(
    ctx: Context,
    done: Swept,
    library_id: str,
    namespace_id: str,
    policy: Policy,
    tell: Callable[[int], None],
    is_stopped: Callable[[], bool],
) -> list[Fading]:
    """Archive what is under the threshold; returns the events that are old enough to be made one of many."""
    after, events = "", list[decaying.Fading]()
    gone: list[str] = []
    while not is_stopped():
        with ctx.engine.store.reading() as tx:
            now = tx.now
            page = decaying.page(
                tx, library_id, namespace_id, after=after, limit=PAGE, is_all=policy.applies_to == "all"
            )
        if not page:
            break
        after = page[-1].id
        for each in page:
            of = each.standing
            done.scanned += 1
            if decay.is_protected(of, now):
                done.protected += 1
            elif decay.retention(of, policy, now) < policy.archive_threshold:
                gone.append(each.id)
            else:
                done.decayed += decay.effective_importance(of, policy, now) < of.importance
                if of.memory_type == "episodic" and now - of.created_at >= policy.min_episodic_age_ms:
                    events.append(each)
        tell(done.scanned)
        while not done.is_dry and len(gone) >= policy.batch_size:
            done.events += _archive(ctx, done, library_id, gone[: policy.batch_size])
            del gone[: policy.batch_size]
    if done.is_dry:
        done.archived += gone
    elif gone:
        done.events += _archive(ctx, done, library_id, gone)
    return events


def _archive(ctx: Context, done: Swept, library_id: str, ids: Sequence[str]) -> list[str]:
    """Archive a batch; what was used or changed since it was looked at stays."""
    with ctx.engine.store.writing() as tx:
        held: list[Memory] = []
        for key in sorted(ids):
            memory = rows.by_uuid(tx, library_ids=[library_id], memory_id=key, is_held=True)
            if memory is not None and not memory.is_archived:
                held.append(memory)
        used = rows.uses(tx, [(memory.library_id, memory.id) for memory in held])
        recently = {key for key, (_, at) in used.items() if at is not None and tx.now - at <= decay.USED_LATELY_MS}
        held = [memory for memory in held if memory.id not in recently]
        if not held:
            return []
        done.archived += [memory.id for memory in held]
        return archive_all(tx, ctx, held, why=DECAYED, verb="memory.decayed")
