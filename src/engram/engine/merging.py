"""Projects: what there is, two merged into one, and a merge taken back.

A merge is a row that says what goes on, an alias that is set first, and then short transactions that each move a
few hundred memories. One that was killed is finished by running it again; until then reads cover both namespaces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access
from engram.engine.ledger import Ledger
from engram.engine.moving import Rekeyed, move_back_keys, move_memories, move_sessions, shown_keys
from engram.errors import Conflict, Invalid, NotFound
from engram.model import Namespace, ProjectMerge, Role
from engram.rules import ids, names
from engram.store import libraries, merges
from engram.store.merges import MERGED, MERGING, UNMERGING

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tell, Tx

CLOSEST_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedName:
    """A project that was merged into another one."""

    name: str
    merge_id: str
    at: int
    state: str  # merging, merged, unmerging


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as a list shows it."""

    id: str
    name: str
    library: str
    live: int
    archived: int
    prompts: int
    last_active: int  # milliseconds; of its making where nothing was saved
    merged: tuple[MergedName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a merge, or taking one back, did."""

    merge_id: str
    source: str
    into: str
    library: str
    memories: int = 0
    sessions: int = 0
    rekeyed: tuple[Rekeyed, ...] = ()  # topic keys that changed, or could not be given back
    was_already: bool = False


def quiet(done: int, total: int) -> None:
    """Tell nobody of progress."""
    del done, total


def projects(ctx: Context) -> list[Project]:
    """Every project that the caller may read, by library and name; merged ones stand under their target."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        spaces = libraries.namespaces(tx, library_ids=who.readable())
        counted = merges.counted(tx, who.readable())
        known = {(space.library_id, space.id): space for space in spaces}
        merged: dict[tuple[str, str], list[MergedName]] = {}
        for row in merges.of_libraries(tx, who.readable()):
            source = known.get((row.library_id, row.from_id))
            into = known.get((row.library_id, row.into_id))
            while into and into.merged_into:
                into = known.get((row.library_id, into.merged_into))
            if source and into:
                name = MergedName(name=source.name, merge_id=row.id, at=row.at, state=row.state)
                merged.setdefault((into.library_id, into.id), []).append(name)
    found: list[Project] = []
    for key, space in known.items():
        if space.merged_into:
            continue
        parts = [counted[each] for each in (key, (key[0], space.takes_from or "")) if each in counted]
        found.append(
            Project(
                id=space.id,
                name=space.name,
                library=who.libraries[space.library_id][0].name,
                live=sum(part.live for part in parts),
                archived=sum(part.archived for part in parts),
                prompts=sum(part.prompts for part in parts),
                last_active=max([part.last_active for part in parts], default=space.created_at),
                merged=tuple(merged.get(key, ())),
            )
        )
    return sorted(found, key=lambda project: (names.fold_name(project.library), names.fold_name(project.name)))


def merge(ctx: Context, source: str, into: str, tell: Tell = quiet) -> Outcome:
    """Move every memory and session of a project into another one of its library; its name then means that one.

    Args:
        source: The project that ends: a name, ``library/name`` or UUID.
        into: The project that takes its memories; it must be there.
        tell: Called with (done, total) after each step.

    Raises:
        NotFound: one of the two is none that the caller may read.
        AccessDenied: the caller may not write there.
        Conflict: one of the two is in the middle of another merge, or the first was merged elsewhere.
        Invalid: both are one project, or live in two libraries.
    """
    with ctx.engine.store.writing() as tx:
        begun = _begin(tx, ctx, source, into)
    parts = [part for part in begun.parts if part.state == MERGING]
    _move_all(ctx, parts, tell)
    for part in parts:
        with ctx.engine.store.writing() as tx:
            _finish(tx, ctx, part)
    with ctx.engine.store.reading() as tx:
        moved = [merges.count_moved(tx, part) for part in begun.parts]
        who = access.reach(tx, ctx)
        rekeyed = [each for part in begun.parts for each in shown_keys(tx, who, part)]
    return Outcome(
        merge_id=begun.parts[0].id,
        source=begun.source.name,
        into=begun.into.name,
        library=begun.library,
        memories=sum(count[0] for count in moved),
        sessions=sum(count[1] for count in moved),
        rekeyed=tuple(rekeyed),
        was_already=not parts,
    )


def unmerge(ctx: Context, name: str, tell: Tell = quiet) -> Outcome:
    """Move back what a merge moved and what is still there; what was saved later stays.

    Args:
        name: The project that was merged or the one it was merged into (then the last merge), or the merge's id.
        tell: Called with (done, total) after each step.

    Raises:
        NotFound: no such project, or nothing was merged into it.
        AccessDenied: the caller may not write there.
        Conflict: its target was merged on; that merge has to be taken back first.
    """
    with ctx.engine.store.writing() as tx:
        begun = _begin_back(tx, ctx, name)
    memories, sessions, rekeyed = _move_all(ctx, begun.parts, tell)
    for part in begun.parts:
        rekeyed += move_back_keys(ctx, part)
        with ctx.engine.store.writing() as tx:
            _finish_back(tx, ctx, part)
    return Outcome(
        merge_id=begun.parts[0].id,
        source=begun.source.name,
        into=begun.into.name,
        library=begun.library,
        memories=memories,
        sessions=sessions,
        rekeyed=tuple(rekeyed),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    source: Namespace
    into: Namespace
    library: str
    parts: list[ProjectMerge]


def _begin(tx: Tx, ctx: Context, source_name: str, into_name: str) -> _Begun:
    """Set the alias and note the merge; or find the one that was begun."""
    who = access.reach(tx, ctx)
    source = _called(tx, who, source_name)
    into = libraries.led_to(tx, _called(tx, who, into_name, near=source))
    library = who.require(source.library_id, Role.WRITE)
    if source.library_id != into.library_id:
        raise Invalid(
            f"{source.name} lives in library {library.name}, {into.name} in another one",
            hint="Only projects of one library can be merged; move single memories with `engram update ID --project`",
        )
    if source.id == into.id:
        raise Invalid(f"{source_name[:80]!r} and {into_name[:80]!r} are one project", hint="Name two different ones")
    tx.lock(*(f"merge:{each}" for each in {library.id, who.personal.id}))
    first, is_new = _begin_part(tx, ctx, (source, into), merge_id=ids.uuid7(tx.now))
    others = [_begin_part(tx, ctx, pair, merge_id=first.id) for pair in _personal_pair(tx, who, source, into)]
    parts = [first, *(part for part, is_other_new in others if part.id == first.id and is_other_new == is_new)]
    fresh = parts if is_new else []
    for part in fresh:
        merges.insert(tx, part)
        merges.lead(tx, part, is_merged=True)
        merges.cover(tx, part, is_moving=True)
    if fresh:
        ledger = Ledger(tx, ctx, [part.library_id for part in fresh])
        targets = {part.library_id: part.into_id for part in fresh}
        ledger.close("project.aliased", targets, merge=fresh[0].id, source=source.id)
    return _Begun(source=source, into=into, library=library.name, parts=parts)


def _begin_part(tx: Tx, ctx: Context, pair: tuple[Namespace, Namespace], *, merge_id: str) -> tuple[ProjectMerge, bool]:
    """The merge of this pair that stands already, or a new one that is not stored yet; and whether it is new."""
    keys = [(each.library_id, each.id) for each in pair]
    held = {each.id: each for each in merges.hold_namespaces(tx, keys, is_changed=True)}
    source, into = held[pair[0].id], held[pair[1].id]
    known = [
        row
        for row in merges.of_libraries(tx, [source.library_id])
        if row.from_id == source.id and row.state in (MERGING, MERGED, UNMERGING)
    ]
    if source.merged_into and known:
        if known[0].into_id != into.id:
            raise Conflict(
                f"{source.name} was merged into another project already",
                hint=f"Take that back first with `engram project unmerge {source.name}`",
            )
        if known[0].state == UNMERGING:
            raise _unfinished(source, f"engram project unmerge {known[0].id}")
        return known[0], False
    for busy in (source, into):
        if busy.takes_from or busy.merged_into:
            raise _unfinished(busy, "engram project list")
    fresh = ProjectMerge(
        library_id=source.library_id, id=merge_id, from_id=source.id, into_id=into.id, actor_id=ctx.actor_id,
        at=tx.now, state=MERGING,
    )  # fmt: skip
    return fresh, True


def _unfinished(space: Namespace, command: str) -> Conflict:
    return Conflict(
        f"{space.name} is in the middle of another merge", hint=f"Finish it first: `{command}` shows or does it"
    )


def _personal_pair(tx: Tx, who: Reach, source: Namespace, into: Namespace) -> list[tuple[Namespace, Namespace]]:
    """The namespaces under which the caller's personal memories and prompts of the two projects live."""
    if source.library_id == who.personal.id or who.role(who.personal.id) < Role.WRITE:
        return []
    pair: list[Namespace] = []
    for space in (source, into):
        mine = Namespace(
            library_id=who.personal.id, id=ids.uuid7(tx.now), name=space.name, folded=space.folded, created_at=tx.now
        )
        called = libraries.namespaces_called(tx, library_ids=[who.personal.id], folded=space.folded)
        pair.append(called[0] if called else libraries.ensure_namespace(tx, mine)[0])
    first, second = pair[0], libraries.led_to(tx, pair[1])
    is_elsewhere = first.merged_into not in (None, second.id)  # the caller merged it otherwise there
    return (
        [] if first.id == second.id or is_elsewhere or second.takes_from not in (None, first.id) else [(first, second)]
    )


def _called(tx: Tx, who: Reach, name: str, *, near: Namespace | None = None) -> Namespace:
    """The namespace that has this name itself, also where it was merged into another.

    Args:
        name: ``library/name``, a UUID, or a bare name of the caller's own libraries.
        near: The other project: its library is looked at first.

    Raises:
        NotFound: there is none that the caller may read; with the closest names.
    """
    head, slash, tail = name.partition("/")
    named = who.named(head) if slash else None
    order = [*([near.library_id] if near else []), *(library.id for library in who.own)]
    if named:
        order, folded = [named.id], names.fold_name(tail)
    elif ids.is_uuid(name):
        order, folded = [*order, *who.readable()], name.lower()
    else:
        folded = names.fold_name(name)
    found = libraries.namespaces_called(tx, library_ids=sorted(set(order)), folded=folded)
    best = [space for library_id in order for space in found if space.library_id == library_id]
    if best:
        return best[0]
    known = [space.name for space in libraries.namespaces(tx, library_ids=who.readable())]
    closest = names.closest(tail if slash else name, known)[:CLOSEST_MAX]
    hint = f"Closest: {', '.join(closest)}; " if closest else ""
    raise NotFound(f"project {name[:80]!r} not found", hint=f"{hint}see them all with `engram project list`")


def _move_all(ctx: Context, parts: list[ProjectMerge], tell: Tell) -> tuple[int, int, list[Rekeyed]]:
    """Move what each part has yet to move, in short transactions; returns (memories, sessions, changed keys)."""
    with ctx.engine.store.reading() as tx:
        total = sum(merges.count_left(tx, part) for part in parts)
    memories = sessions = 0
    rekeyed: list[Rekeyed] = []
    tell(0, total)
    for part in parts:
        while (step := move_memories(ctx, part)) is not None:
            memories += step.moved
            rekeyed += step.rekeyed
            tell(memories + sessions, total)
        while moved := move_sessions(ctx, part):
            sessions += moved
            tell(memories + sessions, total)
    return memories, sessions, rekeyed


def _finish(tx: Tx, ctx: Context, part: ProjectMerge) -> None:
    """Everything is there: reads need to cover one namespace only."""
    merges.hold_namespaces(tx, [(part.library_id, part.from_id), (part.library_id, part.into_id)], is_changed=True)
    held = merges.hold(tx, part)
    if held is None or held.state != MERGING:
        return  # another process finished it
    merges.cover(tx, part, is_moving=False)
    merges.set_state(tx, part, MERGED)
    ledger = Ledger(tx, ctx, [part.library_id])
    ledger.close("project.merged", {part.library_id: part.into_id}, merge=part.id, source=part.from_id)


def _begin_back(tx: Tx, ctx: Context, name: str) -> _Begun:
    who = access.reach(tx, ctx)
    standing = merges.of_libraries(tx, who.readable())
    chosen = _chosen(tx, who, standing, name)
    library = who.require(chosen.library_id, Role.WRITE)
    spaces = {space.id: space for space in libraries.namespaces(tx, library_ids=[library.id])}
    source, into = spaces[chosen.from_id], spaces[chosen.into_id]
    tx.lock(*(f"merge:{each}" for each in {library.id, who.personal.id}))
    parts: list[ProjectMerge] = []
    for part in standing:
        if part.id != chosen.id or who.role(part.library_id) < Role.WRITE:
            continue
        keys = [(part.library_id, part.from_id), (part.library_id, part.into_id)]
        spaces = {space.id: space for space in merges.hold_namespaces(tx, keys, is_changed=True)}
        held = merges.hold(tx, part)
        if held is not None:
            _require_last(part, spaces, standing)
            parts.append(held)
    if not parts:
        raise _no_merge(name)
    begun = [part for part in parts if part.state != UNMERGING]
    for part in begun:
        merges.set_state(tx, part, UNMERGING)
        merges.cover(tx, part, is_moving=True)
    if begun:
        ledger = Ledger(tx, ctx, [part.library_id for part in begun])
        ledger.close("project.unmerging", {part.library_id: part.into_id for part in begun}, merge=chosen.id)
    return _Begun(
        source=source, into=into, library=library.name, parts=[replace(part, state=UNMERGING) for part in parts]
    )


def _chosen(tx: Tx, who: Reach, standing: list[ProjectMerge], name: str) -> ProjectMerge:
    """The merge that a name or an id means: that of the merged project, else the last one into the project."""
    by_id = [row for row in standing if row.id == name.lower()]
    if by_id:
        return next((row for row in by_id if row.library_id != who.personal.id), by_id[0])
    space = _called(tx, who, name)
    of_it = [row for row in standing if row.library_id == space.library_id]
    found = [row for row in of_it if row.from_id == space.id] or [row for row in of_it if row.into_id == space.id]
    if not found:
        raise _no_merge(space.name)
    return found[0]


def _no_merge(name: str) -> NotFound:
    return NotFound(f"nothing was merged into project {name[:80]!r}", hint="See merges with `engram project list`")


def _require_last(part: ProjectMerge, spaces: dict[str, Namespace], standing: list[ProjectMerge]) -> None:
    """Refuse to take back a merge whose target went on into another project."""
    into = spaces[part.into_id]
    if into.merged_into:
        later = next((row.id for row in standing if row.from_id == into.id), "")
        raise Conflict(
            f"{into.name} was merged into another project later",
            hint=f"Take that back first: `engram project unmerge {later or into.name}`",
        )
    if into.takes_from not in (None, part.from_id):
        raise _unfinished(into, "engram project list")


def _finish_back(tx: Tx, ctx: Context, part: ProjectMerge) -> None:
    """Give the name back and forget the merge."""
    merges.hold_namespaces(tx, [(part.library_id, part.from_id), (part.library_id, part.into_id)], is_changed=True)
    if merges.hold(tx, part) is None:
        return  # another process finished it
    merges.lead(tx, part, is_merged=False)
    merges.cover(tx, part, is_moving=False)
    merges.forget(tx, part)
    ledger = Ledger(tx, ctx, [part.library_id])
    ledger.close("project.unmerged", {part.library_id: part.from_id}, merge=part.id, into=part.into_id)
