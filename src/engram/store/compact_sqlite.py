"""SQLite: no byte of what was erased stays in a file of the data folder.

Deleted rows are overwritten at once (``secure_delete``). What is left is in the word index, which only forgets when
its parts are merged, and in the write-ahead log, which is emptied last.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engram.errors import Unavailable
from engram.store.base import GONE_KEPT, Compacted, Tell

if TYPE_CHECKING:
    from engram.store.sqlite import SqliteStore

MERGE_PAGES = 200  # of the word index in one transaction: some 20 ms
FREE_PAGES_MIN = 1_000
CHECKPOINT_S_MAX = 30.0
_BREATH_S = 0.002  # between two steps, so that others get their turn to write


def compact(store: SqliteStore, tell: Tell, *, is_rewritten: bool) -> Compacted:
    """Merge the word index, maybe write the file anew, empty the write-ahead log.

    Args:
        store: Any number of other processes may use the same file.
        tell: Called with (done, total), total being an estimate.
        is_rewritten: VACUUM even where little space is free: the others can't write meanwhile.

    Raises:
        Unavailable: another process holds an old state of the database, so that the log can't be emptied.
    """
    with store.reading() as tx:
        before = tx.bytes_used()
    with store.writing() as tx:
        rev: int = tx.value("select rev from clock")
        tx.run("delete from gone where rev < :floor", floor=rev - GONE_KEPT)
    _merge_words(store, tell)
    with store.reading() as tx:
        pages, free = tx.value("pragma page_count"), tx.value("pragma freelist_count")
    if is_rewritten or (free > FREE_PAGES_MIN and free * 4 > pages):
        with store.alone() as connection:
            connection.execute("pragma temp_store = file")  # a copy in memory could be larger than it
            connection.execute("vacuum")
        is_rewritten = True
    _empty_log(store)
    with store.reading() as tx:
        return Compacted(before=before, after=tx.bytes_used(), is_rewritten=is_rewritten)


def _merge_words(store: SqliteStore, tell: Tell) -> None:
    """Merge every part of the word index into one, which leaves out what was deleted; step by step."""
    with store.reading() as tx:
        total: int = tx.value("select count(*) from words_data") + 1
    done, pages = 0, -MERGE_PAGES  # the negative one takes in every part that there is now
    while True:
        with store.writing() as tx:
            before: int = tx.value("select total_changes()")
            tx.run("insert into words (words, rank) values ('merge', :pages)", pages=pages)
            changed: int = tx.value("select total_changes()") - before
        done += MERGE_PAGES
        tell(min(done, total), total)
        if changed < 2 and pages > 0:
            return
        pages = MERGE_PAGES
        time.sleep(_BREATH_S)


def _empty_log(store: SqliteStore) -> None:
    """Bring the write-ahead log into the file and cut it to nothing, once no reader needs it."""
    until = time.monotonic() + CHECKPOINT_S_MAX
    while True:
        with store.alone() as connection:
            is_busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").fetchall()[0]
        if not is_busy:
            return
        if time.monotonic() > until:
            raise Unavailable(
                f"another process holds an old state of {store.path}, so its log can't be emptied",
                hint="Erased text may still stand in the log: wait for that call or end that process, then run "
                "`engram compact` again",
                retry_after=10.0,
            )
        time.sleep(0.1)
