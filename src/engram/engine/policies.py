"""Decay policies: one of a library, one of a namespace where somebody set it; kept in the database."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from engram.engine import access, places
from engram.engine.ledger import Ledger
from engram.errors import Invalid
from engram.model import Role
from engram.rules.decay import Policy
from engram.store import settings as facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.engine.context import Context
    from engram.model import Memory
    from engram.store.base import Tx


def name_of(library_id: str, namespace_id: str = "") -> str:
    """Under which name a policy is kept."""
    return f"policy:{library_id}:{namespace_id}" if namespace_id else f"policy:{library_id}"


def of(tx: Tx, library_id: str, namespace_id: str = "") -> Policy:
    """The policy of a namespace, else of its library, else the default."""
    for name in ([name_of(library_id, namespace_id)] if namespace_id else []) + [name_of(library_id)]:
        kept = facts.get(tx, name)
        if kept is not None:
            return Policy(**json.loads(kept))
    return Policy()


def reader(tx: Tx) -> Callable[[Memory], Policy]:
    """The policy of each memory, each read once."""
    known: dict[tuple[str, str], Policy] = {}

    def policy(memory: Memory) -> Policy:
        key = (memory.library_id, memory.namespace_id)
        if key not in known:
            known[key] = of(tx, *key)
        return known[key]

    return policy


def get(ctx: Context, namespace: str = "") -> Policy:
    """The policy of a namespace, or of the bound library.

    Raises:
        Invalid: there is no such namespace.
    """
    with ctx.engine.store.reading() as tx:
        return of(tx, *_place(tx, ctx, namespace, role=Role.READ))


def update(ctx: Context, changes: dict[str, Any], namespace: str = "") -> Policy:
    """Change fields of a policy; in force at once in every process.

    Raises:
        Invalid: nothing to change, or no such namespace.
        AccessDenied: the caller is no owner.
    """
    if not changes:
        raise Invalid("an update needs a field", hint="Give for example halfLifeDays")
    with ctx.engine.store.writing() as tx:
        library_id, namespace_id = _place(tx, ctx, namespace, role=Role.OWNER)
        tx.lock(name_of(library_id, namespace_id))
        policy = replace(of(tx, library_id, namespace_id), **changes)
        facts.put(tx, name_of(library_id, namespace_id), json.dumps(asdict(policy)))
        Ledger(tx, ctx, [library_id]).close("policy.updated", {library_id: namespace_id}, fields=sorted(changes))
        return policy


def _place(tx: Tx, ctx: Context, namespace: str, *, role: Role) -> tuple[str, str]:
    who = access.reach(tx, ctx)
    if not namespace:
        who.require(who.bound.id, role)
        return who.bound.id, ""
    found = places.find_namespace(tx, who, namespace)
    if found is None:
        raise Invalid(f"there is no namespace {namespace[:80]!r}", hint="Leave it out for the library's own policy")
    who.require(found.library_id, role)
    return found.library_id, found.id
