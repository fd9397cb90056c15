"""Tags, lists by tag, and counts of what is remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, memories, places
from engram.engine.ledger import Ledger
from engram.errors import Invalid
from engram.model import TAGS_MAX, Memory, Role
from engram.rules import tagging
from engram.store import statistics, tags

if TYPE_CHECKING:
    from engram.engine.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """A memory's tags after a change."""

    memory: Memory
    tags: tuple[str, ...]
    tag: str
    is_changed: bool


def tag(ctx: Context, ref: str, name: str, *, is_removed: bool = False) -> Tagged:
    """Add a tag to a memory, or take it off; doing it twice changes nothing.

    Raises:
        NotFound: no such memory, or archived for another reason than a successor.
        Invalid: a blank tag, or too many.
    """
    kept, folded = tagging.tidy(name), tagging.fold(name)
    with ctx.engine.store.writing() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref, role=Role.WRITE, is_held=True)
        if memory.is_hidden:
            raise access.missing(ref)
        key = (memory.library_id, memory.id)
        before = tags.of(tx, [key]).get(memory.id, [])
        if is_removed:
            is_changed = tags.remove(tx, library_id=memory.library_id, memory_id=memory.id, folded=folded)
        else:
            if len(before) >= TAGS_MAX and folded not in {tagging.fold(each) for each in before}:
                raise Invalid(f"the memory has {len(before)} tags, the most is {TAGS_MAX}", hint="Take one off first")
            kept = tags.spelling(tx, library_id=memory.library_id, folded=folded) or kept
            is_changed = bool(memories.add_tags(tx, memory, (kept,)))
        if is_changed:
            ledger = Ledger(tx, ctx, [memory.library_id])
            ledger.close("memory.untagged" if is_removed else "memory.tagged", {memory.library_id: memory.id})
        after = tags.of(tx, [key]).get(memory.id, [])
        return Tagged(memory=memory, tags=tuple(after), tag=kept, is_changed=is_changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """The tags of what a caller may see, or the memories of one."""

    tags: tuple[tuple[str, int], ...] = ()
    memories: tuple[tuple[Memory, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()


def cloud(ctx: Context, *, namespace: str = "", name: str = "", limit: int) -> Cloud:
    """The tags with how often each is used, or the newest memories of one tag."""
    with ctx.engine.store.reading() as tx:
        covered = places.recalled(tx, ctx, access.reach(tx, ctx), namespace=namespace)
        if not name:
            return Cloud(tags=tuple(tags.cloud(tx, covered.where, limit)), notes=covered.notes)
        found = tags.tagged(tx, replace(covered.where, tags=(tagging.fold(name),)), limit)
        theirs = tags.of(tx, [(memory.library_id, memory.id) for memory in found])
        return Cloud(
            memories=tuple((memory, tuple(theirs.get(memory.id, ()))) for memory in found), notes=covered.notes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much is remembered, by kind of thing."""

    total: int
    by_type: dict[str, int]
    by_source: dict[str, int]
    by_namespace: dict[str, int]
    with_vector: int
    links: int
    archived: int
    notes: tuple[str, ...]


def counts(ctx: Context, *, namespace: str = "") -> Counts:
    """Counts by SQL, of every library that the caller may read; no row is brought here."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        covered = places.recalled(tx, ctx, who, namespace=namespace)
        where = covered.where
        if not namespace and not ctx.engine.settings.namespace:
            where = places.readable(who)
        named = {
            (library_id, space): name if library_id == who.bound.id else f"{who.libraries[library_id][0].name}/{name}"
            for library_id, space, name in statistics.names(tx, where.library_ids)
        }
        spaces = statistics.by_namespace(tx, where)
        return Counts(
            total=sum(count for _, _, count in spaces),
            by_type=statistics.by(tx, where, "memory_type"),
            by_source={name or "unknown": count for name, count in statistics.by(tx, where, "source").items()},
            by_namespace={named.get((library_id, space), space): count for library_id, space, count in spaces},
            with_vector=statistics.with_vector(tx, where),
            links=statistics.links(tx, where),
            archived=statistics.archived(tx, where),
            notes=covered.notes,
        )
