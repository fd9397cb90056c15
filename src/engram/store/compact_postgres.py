"""PostgreSQL: dead rows, the keys of the word index and the planner's samples of erased texts go.

The write-ahead log and backups are the operator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

import psycopg

from engram.store.base import Compacted, Tell

if TYPE_CHECKING:
    from psycopg import errors

    from engram.store.postgres import PostgresStore

TABLES: tuple[LiteralString, ...] = (
    "memory", "version", "chunk", "words", "chunk_vector", "pending", "usage", "tag", "link", "session",
    "merge_memory", "merge_session", "project_merge", "namespace", "library", "event", "setting",
)  # fmt: skip
WORD_INDEX: LiteralString = "words_tsv"


def compact(store: PostgresStore, tell: Tell, *, is_rewritten: bool) -> Compacted:
    """Vacuum and sample each table, and build the word index anew beside the old one, whose keys no vacuum removes.

    Args:
        store: Any number of other processes may use the same database.
        tell: Called with (done, total) steps.
        is_rewritten: Write the tables anew: each is locked meanwhile.

    Returns:
        The sizes, and in the notes what this login may not do.
    """
    notes: list[str] = []

    def hear(diagnostic: errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING" and diagnostic.message_primary:
            notes.append(diagnostic.message_primary)

    with store.reading() as tx:
        before = tx.bytes_used()
    how: LiteralString = "(full, analyze)" if is_rewritten else "(analyze)"
    with store.alone() as connection:
        connection.add_notice_handler(hear)
        connection.execute("set statement_timeout = 0")
        for done, table in enumerate(TABLES):
            tell(done, len(TABLES) + 1)
            connection.execute(f"vacuum {how} {table}")
        try:
            # An index that a killed run left half made would only cost every write.
            connection.execute(f"drop index concurrently if exists {WORD_INDEX}_ccnew")
            connection.execute(f"reindex index concurrently {WORD_INDEX}")
        except psycopg.errors.InsufficientPrivilege as error:
            notes.append(f"{error.diag.message_primary}: erased words stay in the index until its owner reindexes it")
        tell(len(TABLES) + 1, len(TABLES) + 1)
    with store.reading() as tx:
        return Compacted(before=before, after=tx.bytes_used(), is_rewritten=is_rewritten, notes=tuple(notes))
