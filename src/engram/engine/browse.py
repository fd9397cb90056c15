"""Looking around without a query: recent context, a memory's neighbourhood, one memory whole, statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engram.engine import access, marks, places
from engram.engine.lifecycle import require_shown
from engram.engine.sessions import ended_at
from engram.model import KIND_PROMPT, SCOPE_PERSONAL, TAG_PINNED, Memory, Namespace, Session, Version
from engram.rules import names
from engram.store import libraries, tags
from engram.store import memories as rows
from engram.store import sessions as session_rows
from engram.store.base import Filter, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tx

SESSIONS_SHOWN = 5
PROMPTS_SHOWN = 10
OTHER_PROJECTS_SHOWN = 20
PINNED_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory as a list shows it."""

    memory: Memory
    label: str
    project: str
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionShown:
    """A session with what was done in it."""

    session: Session
    project: str
    count: int
    summary: str
    ended_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """What happened last in a project, and elsewhere if all were asked for."""

    name: str
    sessions: tuple[SessionShown, ...]
    prompts: tuple[Shown, ...]
    memories: tuple[Shown, ...]
    pinned: tuple[Shown, ...] = ()
    elsewhere: tuple[tuple[str, tuple[Shown, ...]], ...] = ()  # (project, memories), newest first
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing at all to show."""
        return not (self.pinned or self.sessions or self.prompts or self.memories or self.elsewhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A memory between its neighbours in time."""

    focus: Shown
    session: Session | None
    before: tuple[Shown, ...]
    after: tuple[Shown, ...]
    total: int  # live memories of the session, else of the project


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """One memory with all that is known of it."""

    shown: Shown
    session: str
    duplicates: int
    tags: tuple[str, ...]
    marks: tuple[str, ...]  # conflicts, supersedes, derived from
    versions: tuple[Version, ...]
    versions_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of what the caller may read."""

    sessions: int
    observations: int
    archived: int
    prompts: int
    by_kind: tuple[tuple[str, int], ...]
    by_project: tuple[tuple[str, int], ...]
    bytes_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project of the own set."""

    name: str  # as a read takes it
    key: tuple[str, str]  # (folded name, library id): the order of the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One page of what the caller reads unasked: projects by name, then memories, newest first."""

    projects: tuple[Project, ...]
    memories: tuple[Shown, ...]
    has_more: bool


def listed(
    ctx: Context, *, limit: int, after_project: tuple[str, str] = ("", ""), after_memory: tuple[int, int, str] | None
) -> Listed:
    """A page of the own set: its projects, then its live memories; no prompts, nothing archived.

    Args:
        limit: Most entries.
        after_project: Key of the last project that was listed.
        after_memory: (created_at, number, library id) of the last memory that was listed: all projects were.
    """
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        projects: list[Project] = []
        if after_memory is None:
            spaces = libraries.namespaces(tx, library_ids=[library.id for library in who.own])
            known = [Project(name=_address(who, space), key=(space.folded, space.library_id)) for space in spaces]
            projects = [project for project in known if project.key > after_project]
        room = max(0, limit - len(projects))
        covered = places.read_scope(tx, ctx, who, project=places.ALL_PROJECTS, scope="")
        memories = rows.page(tx, covered.where, after=after_memory, limit=room + 1)
        return Listed(
            projects=tuple(projects[:limit]),
            memories=_show(who, memories[:room], _spaces(tx, who)),
            has_more=len(projects) > limit or len(memories) > room,
        )


def _address(who: Reach, space: Namespace) -> str:
    """A name by which a read finds this namespace and no other: its UUID where two libraries have one name."""
    if space.library_id == who.bound.id:
        return space.name
    library = who.libraries[space.library_id][0]
    named = who.named(library.name)
    return f"{library.name}/{space.name}" if named and named.id == library.id else space.id


def recent(ctx: Context, *, project: str, scope: str, limit: int) -> Recent:
    """Recent sessions, prompts and memories of a project; of all, the current one first, if none is named."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        covered = places.read_scope(tx, ctx, who, project=project, scope=scope)
        spaces = _spaces(tx, who)
        pinned = rows.recent(tx, replace(covered.where, tags=(TAG_PINNED,)), PINNED_SHOWN)
        held = {memory.id for memory in pinned}
        memories = [memory for memory in rows.recent(tx, covered.where, limit) if memory.id not in held]
        marked = marks.of(tx, who, [*pinned, *memories])
        current = [p for p in covered.where.places if p.place != SCOPE_PERSONAL or scope == SCOPE_PERSONAL]
        keys = [(place.library_id, place.namespace_id) for place in current]
        elsewhere: tuple[tuple[str, tuple[Shown, ...]], ...] = ()
        is_wide = not project and places.looks_elsewhere(ctx) and scope != SCOPE_PERSONAL
        if is_wide:
            elsewhere = _elsewhere(tx, who, covered.where, spaces)
            keys = [(library.id, "") for library in who.own]
        found = session_rows.recent(tx, places=keys, limit=SESSIONS_SHOWN)
        asked = rows.recent(tx, _prompts(tx, who, covered.name if project else ""), PROMPTS_SHOWN)
        return Recent(
            name=covered.name if project or not is_wide else "all projects",
            sessions=_sessions(tx, found, spaces, tx.now),
            prompts=_show(who, asked, spaces),
            memories=_show(who, memories, spaces, marked),
            pinned=_show(who, pinned, spaces, marked),
            elsewhere=elsewhere,
            notes=covered.notes,
        )


def _prompts(tx: Tx, who: Reach, name: str) -> Filter:
    """The person's prompts of a project by the name that it has in Personal; an empty name: of all."""
    if name in ("", "all projects"):
        return places.prompts(who)
    found = libraries.namespaces_named(tx, library_ids=[who.personal.id], folded=names.fold_name(name))
    return places.prompts(who, found[0]) if found else Filter(places=())


def _elsewhere(
    tx: Tx, who: Reach, current: Filter, spaces: dict[tuple[str, str], str]
) -> tuple[tuple[str, tuple[Shown, ...]], ...]:
    shown = {(place.library_id, place.namespace_id) for place in current.places}
    everywhere = Filter(places=tuple(Place(library_id=library.id) for library in who.own))
    found = rows.recent(tx, everywhere, OTHER_PROJECTS_SHOWN * 2)
    groups: dict[str, list[Shown]] = {}
    for item in _show(who, found, spaces):
        if (item.memory.library_id, item.memory.namespace_id) not in shown:
            groups.setdefault(item.project, []).append(item)
    return tuple((name, tuple(items)) for name, items in groups.items())


def timeline(ctx: Context, ref: str, *, before: int, after: int) -> Timeline:
    """The neighbours of a memory in its session, by time; in its project where it has none.

    Raises:
        NotFound: no such memory, or archived.
    """
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref)
        require_shown(who, memory, ref)
        spaces = _spaces(tx, who)
        session = None
        if memory.session_id:
            session = session_rows.get(tx, library_id=memory.library_id, session_id=memory.session_id)
        earlier = rows.beside(tx, memory, limit=before, is_before=True) if before else []
        later = rows.beside(tx, memory, limit=after, is_before=False) if after else []
        return Timeline(
            focus=_show(who, [memory], spaces)[0],
            session=session,
            before=_show(who, earlier[::-1], spaces),
            after=_show(who, later, spaces),
            total=rows.count_beside(tx, memory),
        )


def whole(ctx: Context, ref: str, *, versions_max: int) -> Whole:
    """One memory with its session, repeats and history.

    Raises:
        NotFound: no such memory, or archived for another reason than a successor.
    """
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        memory = access.memory(tx, who, ref)
        require_shown(who, memory, ref)
        session = None
        if memory.session_id:
            session = session_rows.get(tx, library_id=memory.library_id, session_id=memory.session_id)
        versions = rows.versions(tx, memory, limit=versions_max) if versions_max else []
        return Whole(
            shown=_show(who, [memory], _spaces(tx, who))[0],
            session=session.name if session else "",
            duplicates=rows.duplicates(tx, memory),
            tags=tuple(tags.of(tx, [(memory.library_id, memory.id)]).get(memory.id, ())),
            marks=marks.of(tx, who, [memory], has_sources=True).get(memory.id, ()),
            versions=tuple(versions),
            versions_total=rows.count_versions(tx, memory) if versions_max else 0,
        )


def stats(ctx: Context) -> Stats:
    """Counts over all that the caller may read."""
    with ctx.engine.store.reading() as tx:
        who = access.reach(tx, ctx)
        spaces = _spaces(tx, who)
        kinds: Counter[str] = Counter()
        projects: Counter[str] = Counter()
        archived = prompts = 0
        for library_id, namespace_id, kind, is_gone, count in rows.counts(tx, who.readable()):
            if kind == KIND_PROMPT:
                prompts += count if library_id == who.personal.id and not is_gone else 0
            elif is_gone:
                archived += count
            else:
                kinds[kind] += count
                projects[spaces.get((library_id, namespace_id), "")] += count
        return Stats(
            sessions=session_rows.count(tx, who.readable()),
            observations=kinds.total(),
            archived=archived,
            prompts=prompts,
            by_kind=tuple(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
            by_project=tuple(sorted(projects.items(), key=lambda item: (-item[1], item[0]))),
            bytes_used=tx.bytes_used(),
        )


def _spaces(tx: Tx, who: Reach) -> dict[tuple[str, str], str]:
    """(library, namespace) -> the name by which the caller knows it."""
    found = libraries.namespaces(tx, library_ids=who.readable())
    return {
        (space.library_id, space.id): space.name
        if space.library_id == who.bound.id
        else f"{who.libraries[space.library_id][0].name}/{space.name}"
        for space in found
    }


def _show(
    who: Reach,
    memories: list[Memory],
    spaces: dict[tuple[str, str], str],
    marked: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Shown, ...]:
    return tuple(
        Shown(
            memory=m,
            label=who.label(m),
            project=spaces.get((m.library_id, m.namespace_id), ""),
            marks=(marked or {}).get(m.id, ()),
        )
        for m in memories
    )


def _sessions(tx: Tx, found: list[Session], spaces: dict[tuple[str, str], str], now: int) -> tuple[SessionShown, ...]:
    keys = [(session.library_id, session.id) for session in found]
    counts = rows.session_counts(tx, keys)
    summaries = rows.summary_texts(tx, keys)
    return tuple(
        SessionShown(
            session=session,
            project=spaces.get((session.library_id, session.namespace_id), ""),
            count=counts.get(session.id, 0),
            summary=session.summary or summaries.get(session.id, ""),
            ended_at=ended_at(session, now),
        )
        for session in found
    )
