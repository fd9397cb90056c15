"""The last step of every writing verb: numbers, seals, totals and the one event, under the libraries' locks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engram.model import Event, Memory
from engram.rules import merkle, seal
from engram.store import events, libraries, memories

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.engine.context import Context
    from engram.store.base import Tx


# One encoder: json.dumps makes a new one for each call that wants other than its defaults.
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


@dataclass(slots=True)
class Totals:
    """What a verb changes in a library's row while it holds it."""

    number: int
    live: int
    acc: int


class Ledger:
    """Holds the libraries that a verb touches. After it is made nothing may wait for another lock."""

    def __init__(self, tx: Tx, ctx: Context, library_ids: Iterable[str]) -> None:
        self._tx = tx
        self._ctx = ctx
        self._libraries = {library.id: library for library in libraries.lock(tx, sorted(set(library_ids)))}
        self._totals = {
            library.id: Totals(library.number, library.live, library.acc) for library in self._libraries.values()
        }

    def number(self, library_id: str) -> int:
        """The next memory number of a library."""
        totals = self._totals[library_id]
        totals.number += 1
        return totals.number

    def insert(self, memory: Memory) -> Memory:
        """Seal and add a memory, with its number taken here."""
        memory = memories.sealed(self._tx, memory, number=self.number(memory.library_id))
        memories.insert(self._tx, memory)
        self._count(memory, 1)
        return memory

    def update(self, memory: Memory, *, was: Memory) -> Memory:
        """Seal and store a memory's new state; a move to another library takes a new number there."""
        if memory.library_id != was.library_id:
            memory = replace(memory, number=self.number(memory.library_id))
        memory = memories.sealed(self._tx, memory)
        self._count(was, -1)
        memories.update(self._tx, memory, was=was)
        self._count(memory, 1)
        return memory

    def erase(self, memory: Memory) -> None:
        """Delete a memory for good."""
        self._count(memory, -1)
        memories.erase(self._tx, memory)

    def close(self, verb: str, targets: dict[str, str], **detail: Any) -> list[str]:  # noqa: ANN401 - JSON values
        """Write one event in each library, with its target there, and the libraries' totals.

        Args:
            verb: What was done, ``noun.done``.
            targets: Library id -> id of what was changed there.
            detail: Ids, counts, salted hashes; never text.

        Returns:
            The ids of the events, one a library.
        """
        made: list[str] = []
        for library_id, library in sorted(self._libraries.items()):
            audited = library.audit != "off"
            event = Event(
                library_id=library_id,
                seq=library.seq + 1,
                leaf_index=library.leaves if audited else None,
                at=self._tx.now,
                actor_id=self._ctx.actor_id,
                token_id=self._ctx.token_id,
                verb=verb,
                target=targets.get(library_id, ""),
                detail=_to_json(detail),
            )
            if audited:
                event = replace(event, leaf_hash=leaf_of(event))
            events.insert(self._tx, event)
            made.append(f"{library_id}:{event.seq}")
            totals = self._totals[library_id]
            self._libraries[library_id] = libraries.update_totals(
                self._tx,
                library,
                seq=library.seq + 1,
                leaves=library.leaves + audited,
                number=totals.number,
                live=totals.live,
                acc=totals.acc,
            )
        return made

    def _count(self, memory: Memory, sign: int) -> None:
        if memory.is_archived:
            return
        totals = self._totals[memory.library_id]
        totals.live += sign
        totals.acc = (totals.acc + sign * seal.seal48(memory.seal)) % seal.SUM_MODULUS


def leaf_of(event: Event) -> bytes:
    """The event's leaf in its library's Merkle log."""
    return merkle.leaf_hash(merkle.event_leaf(event))


def salted(memory: Memory) -> str:
    """The hash of a memory's text as events show it: without the salt it tells nothing."""
    return hashlib.sha256(memory.salt + memory.title.encode() + b"\0" + memory.body.encode()).hexdigest()
