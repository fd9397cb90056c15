"""The access gate: every verb asks here before it touches a row.

What a caller may not see does not exist for it: no role reads as not found, by the same statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.errors import AccessDenied, Invalid, NotFound
from engram.model import PERSONAL_LIBRARY, Actor, Library, Memory, Role
from engram.rules import ids, names
from engram.store import libraries, memories, people

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.engine.context import Context
    from engram.store.base import Tx

_ROLE_NAMES = {Role.READ: "read", Role.WRITE: "read-write", Role.OWNER: "owner"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a caller may touch, read once in each transaction."""

    actor: Actor
    libraries: Mapping[str, tuple[Library, Role]]
    bound: Library
    personal: Library
    own: tuple[Library, ...]  # read when a call names no library: bound, Personal, made and owned, followed

    def role(self, library_id: str) -> Role:
        """The caller's role; NONE for what it can't see and for what is not there."""
        found = self.libraries.get(library_id)
        return found[1] if found else Role.NONE

    def require(self, library_id: str, role: Role) -> Library:
        """The library, if the caller has at least this role.

        Raises:
            NotFound: no role at all, or no such library.
            AccessDenied: too small a role.
        """
        found = self.libraries.get(library_id)
        if not found:
            raise NotFound("library not found", hint="Call without a library, or name one that you can read")
        library, has = found
        if has < role:
            raise AccessDenied(
                f"you have role {_ROLE_NAMES[has]} on library {library.name}, this needs {_ROLE_NAMES[role]}",
                hint="Ask its owner for the role, or save into a library of your own",
            )
        return library

    def readable(self) -> tuple[str, ...]:
        """Ids of every library that the caller may read, in order."""
        return tuple(sorted(self.libraries))

    def named(self, name: str) -> Library | None:
        """The library with this name or UUID, where only one in reach has it; owned ones first."""
        folded = names.fold_name(name)
        if name.lower() in self.libraries:
            return self.libraries[name.lower()][0]
        found = [library for library, _ in self.libraries.values() if library.folded == folded]
        owned = [library for library in found if library.owner_id == self.actor.id]
        best = owned or found
        return best[0] if len(best) == 1 else None

    def label(self, memory: Memory) -> str:
        """How the caller names a memory: its number, with the library where that is another than the bound one."""
        if memory.library_id == self.bound.id:
            return f"#{memory.number}"
        return f"#{memory.number}@{self.libraries[memory.library_id][0].name}"


def reach(tx: Tx, ctx: Context) -> Reach:
    """What the caller may touch now: roles hold from the next request on, in every process.

    Raises:
        AccessDenied: the caller is disabled.
        Invalid: the bound library is none that the caller can read.
    """
    actor = people.actor(tx, ctx.actor_id)
    if actor is None or actor.disabled_at is not None:
        raise AccessDenied("this user is disabled or gone", hint="Ask the operator for a token")
    pairs = libraries.reachable(tx, actor_id=actor.id, email_folded=actor.email_folded)
    found = {library.id: (library, Role(role)) for library, role in pairs}
    personal = next(
        library for library, _ in pairs if library.owner_id == actor.id and library.name == PERSONAL_LIBRARY
    )
    followed = libraries.followed(tx, actor.id)
    partial = Reach(actor=actor, libraries=found, bound=personal, personal=personal, own=())
    bound = _bound(partial, ctx.engine.settings.library)
    mine = [lib for lib, _ in pairs if lib.id in followed or (lib.made_by == actor.id and lib.owner_id == actor.id)]
    own = tuple({library.id: library for library in (bound, personal, *mine)}.values())
    return Reach(actor=actor, libraries=found, bound=bound, personal=personal, own=own)


def _bound(partial: Reach, name: str) -> Library:
    if not name:
        return partial.personal
    library = partial.named(name)
    if library is None:
        raise Invalid(
            f"ENGRAM_LIBRARY names {name[:80]!r}, which is no one library that you can read",
            hint="Set it to the name or UUID of one of your libraries, or unset it for Personal",
        )
    return library


def memory(tx: Tx, who: Reach, ref: str, *, role: Role = Role.READ, is_held: bool = False) -> Memory:
    """The memory that an id names, if the caller has the role on its library.

    Args:
        ref: A UUID, ``12``, ``#12`` or ``#12@library``.
        role: The least role.
        is_held: Lock the row until the end of the transaction.

    Raises:
        NotFound: no such memory in what the caller may read. Hidden ones are returned: the caller decides.
        AccessDenied: too small a role.
    """
    parsed = ids.parse_ref(ref)
    found: Memory | None = None
    if parsed.uuid:
        found = memories.by_uuid(tx, library_ids=who.readable(), memory_id=parsed.uuid, is_held=is_held)
    elif parsed.number is not None:
        library = who.named(parsed.library) if parsed.library else who.bound
        if library:
            found = memories.by_number(tx, library_id=library.id, number=parsed.number, is_held=is_held)
    if found is None or (found.kind == "prompt" and who.libraries[found.library_id][0].owner_id != who.actor.id):
        raise missing(ref)
    who.require(found.library_id, role)
    return found


def missing(ref: str) -> NotFound:
    """The error of an id that names nothing in reach."""
    shown = ref.strip()[:80]
    return NotFound(
        f"memory {shown if not shown.isdigit() else '#' + shown} not found",
        hint="Find its number with mem_search or mem_context",
    )
