"""Events, totals and seals: what every writing verb leaves behind."""

from __future__ import annotations

from engram.engine import capture, ledger, lifecycle, memories, sessions
from engram.engine.context import Context
from engram.engine.memories import Change, Where
from engram.model import Draft
from engram.rules import seal
from engram.store import events, libraries
from engram.store import memories as rows


def everything(ctx: Context) -> None:
    """One of each writing verb."""
    sessions.start(ctx, "s", project="shop", directory="/x")
    memories.remember(ctx, Draft(title="A", body="one", topic_key="k"), Where())
    memories.remember(ctx, Draft(title="A", body="two", topic_key="k"), Where())
    memories.remember(ctx, Draft(title="B", body="private note"), Where(scope="personal"))
    memories.update(ctx, "1", Change(project="other"))
    capture.capture(
        ctx, "## Learnings\n- one thing that was learned\n- another thing that was learned", source="t", where=Where()
    )
    capture.save_prompt(ctx, "do it", Where())
    capture.save_summary(ctx, "## Goal\nx", Where())
    lifecycle.delete(ctx, "1")
    lifecycle.restore(ctx, "1")
    lifecycle.delete(ctx, "2", is_hard=True)
    sessions.end(ctx, "s", summary="done")


def test_every_verb_leaves_one_event_in_an_unbroken_log(ctx: Context) -> None:
    """Contiguous, each leaf the hash of its event, no text in any."""
    everything(ctx)
    with ctx.engine.store.reading() as tx:
        (library, _), *others = libraries.reachable(tx, actor_id=ctx.actor_id, email_folded="")
        found = events.of_library(tx, library.id)
    assert not others
    assert [event.verb for event in found] == [
        "session.started", "memory.stored", "memory.revised", "memory.stored", "memory.revised", "memory.stored",
        "memory.stored", "memory.stored", "memory.archived", "memory.restored", "memory.erased", "session.ended",
    ]  # fmt: skip
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    assert [event.leaf_index for event in found] == list(range(len(found)))
    for event in found:
        assert event.leaf_hash == ledger.leaf_of(event)
        assert "private note" not in event.detail
    assert (library.seq, library.leaves) == (len(found), len(found))


def test_the_library_knows_how_many_memories_live_and_the_sum_of_their_seals(ctx: Context) -> None:
    """A forged, lost or added row does not fit."""
    everything(ctx)
    with ctx.engine.store.reading() as tx:
        library = libraries.reachable(tx, actor_id=ctx.actor_id, email_folded="")[0][0]
        live = tx.all("select seal from memory where library_id = :l and archived_at is null", l=library.id)
        numbers = [row[0] for row in tx.all("select number from memory order by number")]
    assert library.live == len(live)
    assert library.acc == sum(seal.seal48(row[0]) for row in live) % (1 << 48)
    assert numbers == [1, 3, 4, 5, 6]  # 2 was erased; its number is not used again
    assert library.number == 6


def test_every_sealed_row_has_the_seal_of_its_values(ctx: Context) -> None:
    """Read back from the database, on both backends alike."""
    everything(ctx)
    with ctx.engine.store.reading() as tx:
        for library, _ in libraries.reachable(tx, actor_id=ctx.actor_id, email_folded=""):
            assert libraries.sealed(tx, library) == library
        found = [rows.memory_from(row) for row in tx.all(f"select {rows.MEMORY_COLUMNS} from memory m")]
        assert len(found) == 5
        for memory in found:
            assert rows.sealed(tx, memory) == memory
        first = next(memory for memory in found if memory.number == 1)
        for version in rows.versions(tx, first, limit=10):
            assert version.seal == tx.seal("version", rows._version_values(version))


def test_a_hard_delete_leaves_no_row_and_no_text_in_any_table(ctx: Context) -> None:
    """Versions, chunks, words, vectors, queue and uses go; the event stays and still verifies."""
    sentinel = "zanzibarquux"
    memories.remember(ctx, Draft(title=sentinel, body=f"{sentinel} one", topic_key="k"), Where())
    memories.remember(ctx, Draft(title=sentinel, body=f"{sentinel} two", topic_key="k"), Where())
    lifecycle.delete(ctx, "1", is_hard=True)
    tables = {
        "sqlite": "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name not like 'words%'",
        "postgres": "select table_name::text from information_schema.tables where table_schema = 'public'",
    }
    with ctx.engine.store.reading() as tx:
        for (table,) in tx.all(tables[ctx.engine.store.dialect]):
            for row in tx.all(f"select * from {table}"):
                assert sentinel not in repr(row), table
        for table in ("memory", "version", "chunk", "pending", "chunk_vector", "usage"):
            assert tx.value(f"select count(*) from {table}") == 0, table
        assert tx.value("select count(*) from words") == 0
