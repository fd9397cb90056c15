"""Compacting: what was erased leaves the files too. About the whole database, so for who runs it, as migrations are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.store.base import Compacted, Store, Tell


def compact(store: Store, tell: Tell, *, is_rewritten: bool = False) -> Compacted:
    """Take the last bytes of what was erased out of the database, while others go on using it.

    Args:
        store: The database.
        tell: Called with (done, total).
        is_rewritten: Also write the whole database anew, which gives free space back.

    Raises:
        Unavailable: another process holds an old state of the database.
    """
    return store.compact(tell, is_rewritten=is_rewritten)
