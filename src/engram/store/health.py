"""What ``engram doctor`` asks the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.store.base import Tx


def integrity(tx: Tx) -> str:
    """``ok``, or what a quick check of the file found; PostgreSQL checks its pages itself."""
    if tx.store.dialect != "sqlite":
        return "ok"
    return "; ".join(str(row[0]) for row in tx.all("pragma quick_check(5)"))


def missing_words(tx: Tx) -> int:
    """Chunks of live memories that the word index does not hold."""
    key = "rowid" if tx.store.dialect == "sqlite" else "chunk_id"
    count: int = tx.value(
        f"""
        select count(*) from chunk c join memory m on m.library_id = c.library_id and m.id = c.memory_id
        where (m.archived_at is null or m.archived_why = 'superseded')
            and c.id not in (select {key} from words)
        """
    )
    return count


def waiting(tx: Tx) -> int:
    """Chunks that wait for a vector."""
    count: int = tx.value("select count(*) from pending")
    return count
