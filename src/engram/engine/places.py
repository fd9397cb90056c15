"""Where a memory lives and what a read covers: project names resolved against what the caller may see."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engram.engine import projects
from engram.errors import AccessDenied, Conflict, Invalid, NotFound
from engram.model import (
    DEFAULT_NAMESPACE,
    KIND_PROMPT,
    NAME_CHARS_MAX,
    SCOPE_PERSONAL,
    SCOPE_PROJECT,
    Library,
    Namespace,
    Role,
)
from engram.rules import ids, names
from engram.store import libraries, settings
from engram.store.base import Filter, Place

if TYPE_CHECKING:
    from engram.engine.access import Reach
    from engram.engine.context import Context
    from engram.store.base import Tx

ALL_PROJECTS = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a write goes: a library and the name of a namespace that is made if it is not there."""

    library: Library
    name: str
    note: str = ""  # what was changed to make the name fit
    remote: str = ""  # the git remote the name came from


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a read covers, and what the caller should know of it."""

    where: Filter
    name: str  # the project's name, `all projects` for all
    is_known: bool = True
    closest: tuple[str, ...] = ()
    can_widen: bool = False  # the project was not named: others may be looked at
    notes: tuple[str, ...] = ()


def default_project(tx: Tx, ctx: Context, library: Library) -> tuple[str, str, str]:
    """The project of a call that names none: (name, note, git remote)."""
    if ctx.engine.settings.project:
        return ctx.engine.settings.project, "", ""
    if ctx.folder is None:
        return projects.DEFAULT_PROJECT, "", ""
    if ctx.found is None:
        ctx.found = projects.detect(Path(ctx.folder))
    found = ctx.found
    name = found.name
    if found.remote and found.owner_name:
        known = settings.get(tx, f"remote:{library.id}:{names.fold_name(name)}")
        if known and known != found.remote:
            name = found.owner_name  # another repository has the short name already
    return name, found.note, found.remote


def looks_elsewhere(ctx: Context) -> bool:
    """Whether a search that finds nothing in its project may look into others."""
    return ctx.engine.settings.other_projects and (ctx.found is None or ctx.found.cross_project)


def target(tx: Tx, ctx: Context, who: Reach, *, project: str, scope: str) -> Target:
    """Where a write of this project and scope goes.

    Raises:
        AccessDenied, NotFound: the caller may not write there.
    """
    library = who.personal if scope == SCOPE_PERSONAL else who.bound
    note = remote = ""
    if not project:
        project, note, remote = default_project(tx, ctx, library)
    if ids.is_uuid(project):
        found = libraries.namespaces_named(tx, library_ids=who.readable(), folded=project.lower())
        if found:
            library = who.personal if scope == SCOPE_PERSONAL else who.require(found[0].library_id, Role.WRITE)
            return Target(library=library, name=found[0].name)
    head, slash, tail = project.partition("/")
    named = who.named(head) if slash else None
    if named and names.is_namespace_name(tail):
        library = who.personal if scope == SCOPE_PERSONAL else named
        project = tail
    who.require(library.id, Role.WRITE)
    name = names.fit_project_name(project)
    if name != project:
        note = f"project {project[:NAME_CHARS_MAX]!r} is kept as {name!r}"
    return Target(library=library, name=name, note=note, remote=remote)


def open_namespace(tx: Tx, place: Target) -> tuple[Namespace, bool]:
    """The namespace of a target, made if it is not there and held against deletion; and whether it was made.

    The name of a merged project stands for the one it was merged into.
    """
    fresh = Namespace(
        library_id=place.library.id,
        id=ids.uuid7(tx.now),
        name=place.name,
        folded=names.fold_name(place.name),
        created_at=tx.now,
    )
    namespace, is_new = libraries.ensure_namespace(tx, fresh)
    if is_new and place.remote:
        settings.put(tx, f"remote:{place.library.id}:{namespace.folded}", place.remote)
    return namespace, is_new


def find_namespace(tx: Tx, who: Reach, project: str) -> Namespace | None:
    """The namespace that a bare name, ``library/name`` or UUID means in a read.

    Raises:
        Conflict: a name that several other libraries have.
    """
    head, slash, tail = project.partition("/")
    if slash and (library := who.named(head)):
        found = libraries.namespaces_named(tx, library_ids=[library.id], folded=names.fold_name(tail))
        return found[0] if found else None
    folded = names.fold_name(project if ids.is_uuid(project) else names.fit_project_name(project))
    found = libraries.namespaces_named(tx, library_ids=who.readable(), folded=folded)
    preferred = [who.bound.id, who.personal.id, *(library.id for library in who.own)]
    for library_id in preferred:
        for namespace in found:
            if namespace.library_id == library_id:
                return namespace
    if len(found) > 1:
        candidates = ", ".join(f"{who.libraries[n.library_id][0].name}/{n.name}" for n in found)
        raise Conflict(f"several libraries have a project {project[:80]!r}", hint=f"Name one of: {candidates}")
    return found[0] if found else None


def read_scope(tx: Tx, ctx: Context, who: Reach, *, project: str, scope: str, types: tuple[str, ...] = ()) -> Scope:
    """What a search or listing of this project and scope covers."""
    if scope not in ("", SCOPE_PROJECT, SCOPE_PERSONAL):
        raise Invalid(f"scope is {scope[:80]!r}", hint="Use project or personal")
    if project == ALL_PROJECTS:
        return _all(who, scope, types)
    if scope == SCOPE_PERSONAL:
        return _personal(tx, who, project, types)
    named, note = project, ""
    if not named:
        named, note, _ = default_project(tx, ctx, who.bound)
    namespace = find_namespace(tx, who, named)
    places: list[Place] = []
    if namespace:
        places.extend(_places_of(namespace))
    if not scope:
        places.append(Place(library_id=who.personal.id, place=SCOPE_PERSONAL))
    closest = () if namespace else _closest(tx, who, named)
    return Scope(
        where=Filter(places=tuple(places), types=types),
        name=namespace.name if namespace else names.fit_project_name(named),
        is_known=namespace is not None,
        closest=closest,
        can_widen=not project and looks_elsewhere(ctx),
        notes=(note,) if note else (),
    )


def _all(who: Reach, scope: str, types: tuple[str, ...]) -> Scope:
    places = [Place(library_id=library.id) for library in who.own] if scope != SCOPE_PERSONAL else []
    if scope != SCOPE_PROJECT:
        places.append(Place(library_id=who.personal.id, place=SCOPE_PERSONAL))
    return Scope(where=Filter(places=tuple(places), types=types), name="all projects")


def _personal(tx: Tx, who: Reach, project: str, types: tuple[str, ...]) -> Scope:
    place = Place(library_id=who.personal.id, place=SCOPE_PERSONAL)
    if not project:
        return Scope(where=Filter(places=(place,), types=types), name="personal")
    label = project.rpartition("/")[2]
    found = libraries.namespaces_named(
        tx, library_ids=[who.personal.id], folded=names.fold_name(names.fit_project_name(label))
    )
    if not found:
        return Scope(where=Filter(places=(), types=types), name=label, is_known=False, closest=_closest(tx, who, label))
    return Scope(where=Filter(places=_places_of(found[0], SCOPE_PERSONAL), types=types), name=found[0].name)


def _places_of(namespace: Namespace, place: str = SCOPE_PROJECT) -> tuple[Place, ...]:
    """A namespace, and the one from which a merge is still bringing memories."""
    found = [namespace.id, *([namespace.takes_from] if namespace.takes_from else [])]
    return tuple(Place(library_id=namespace.library_id, namespace_id=each, place=place) for each in found)


def recalled(tx: Tx, ctx: Context, who: Reach, *, namespace: str = "", is_crossing: bool = False) -> Scope:
    """What a read of the neural family covers: the own set, or one namespace of it.

    Raises:
        Invalid: ENGRAM_NAMESPACE is set and another is named, without crossNamespace.
    """
    named = _neural_name(ctx, namespace, is_crossing=is_crossing)
    if not named:
        places = [Place(library_id=library.id) for library in who.own]
        places.append(Place(library_id=who.personal.id, place=SCOPE_PERSONAL))
        return Scope(where=Filter(places=tuple(places)), name="everything")
    found = find_namespace(tx, who, named)
    if found is None:
        close = _closest(tx, who, named)
        near = f"; the closest are {', '.join(close)}" if close else ""
        note = f"there is no namespace {named[:NAME_CHARS_MAX]!r}{near}"
        return Scope(where=Filter(places=()), name=named, is_known=False, closest=close, notes=(note,))
    places = [*_places_of(found)]
    if found.library_id == who.personal.id:
        places += _places_of(found, SCOPE_PERSONAL)
    return Scope(where=Filter(places=tuple(places)), name=found.name)


def readable(who: Reach) -> Filter:
    """Everything that the caller may read, but prompts."""
    places = [Place(library_id=library_id) for library_id in who.readable()]
    places.append(Place(library_id=who.personal.id, place=SCOPE_PERSONAL))
    return Filter(places=tuple(places))


def kept_in(tx: Tx, ctx: Context, who: Reach, namespace: str = "") -> Target:
    """Where a write of the neural family goes: the namespace, else ``default`` of the bound library.

    Raises:
        Invalid: the name breaks the rule of names, or ENGRAM_NAMESPACE is set and another is named.
        AccessDenied, NotFound: the caller may not write there.
    """
    named = _neural_name(ctx, namespace) or DEFAULT_NAMESPACE
    tail = named.rpartition("/")[2]
    if not ids.is_uuid(named) and not names.is_namespace_name(tail):
        raise Invalid(
            f"namespace is {named[:80]!r}",
            hint="Use letters, digits, dots, hyphens and underscores; library/name for another library's",
        )
    if "/" in named and who.named(named.partition("/")[0]) is None:
        raise NotFound("library not found", hint="Name one that you can write to, or leave the library out")
    return target(tx, ctx, who, project=named, scope=SCOPE_PROJECT)


def _neural_name(ctx: Context, namespace: str, *, is_crossing: bool = False) -> str:
    fixed = ctx.engine.settings.namespace
    if not fixed or is_crossing:
        return namespace
    if namespace and names.fold_name(namespace) != names.fold_name(fixed):
        raise Invalid(
            f"namespace is {namespace[:80]!r}, but ENGRAM_NAMESPACE keeps this server to {fixed[:80]!r}",
            hint="Leave namespace out; tools that have crossNamespace may go beyond it",
        )
    return fixed


def others(who: Reach, scope: Scope) -> Filter:
    """The other projects of the own set."""
    return Filter(places=tuple(Place(library_id=library.id) for library in who.own), types=scope.where.types)


def prompts(who: Reach, namespace: Namespace | None = None) -> Filter:
    """The person's prompts, maybe of one project."""
    if namespace:
        return Filter(places=_places_of(namespace, KIND_PROMPT))
    return Filter(places=(Place(library_id=who.personal.id, place=KIND_PROMPT),))


def _closest(tx: Tx, who: Reach, name: str) -> tuple[str, ...]:
    known = libraries.namespaces(tx, library_ids=who.readable())
    return tuple(names.closest(name, [n.name for n in known]))


def require_personal(who: Reach) -> None:
    """Refuse a save to Personal by a token that does not reach it."""
    if who.role(who.personal.id) < Role.WRITE:
        raise AccessDenied(
            "this token does not reach your Personal library",
            hint="Save with scope=project, or use a token of scope admin",
        )
