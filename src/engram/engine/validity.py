"""How a successor ends what came before it, and how that is taken back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from engram.model import CONTRADICTS, SUPERSEDES, Memory
from engram.store import links

if TYPE_CHECKING:
    from engram.store.base import Tx


def undo(tx: Tx, memory: Memory) -> Memory:
    """Take back what superseded a memory, where it is restored: its validity as it was, the pair open again."""
    key = (memory.library_id, memory.id)
    for link in links.touching(tx, [key], relations=[SUPERSEDES]):
        if link.to_id != memory.id:
            continue
        before = json.loads(link.note) if link.note else {}
        memory = replace(memory, valid_from=before.get("validFrom"), valid_to=before.get("validTo"))
        links.drop(tx, link)
        for pair in links.between(tx, key, (link.library_id, link.from_id), CONTRADICTS):
            links.put(tx, replace(pair, settled_at=None))
    return memory
