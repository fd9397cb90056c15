"""The worker: every chunk gets its vector once, whoever wrote it and whatever stands beside it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engram.embed import PackagedEmbedder
from engram.engine import index, lifecycle, memories, search, worker
from engram.engine.context import Context
from engram.engine.memories import Where
from engram.model import Draft
from engram.store import chunks

POISON = "poison"


class Fragile(PackagedEmbedder):
    """The packaged model, which fails at one word."""

    def embed_passage(self, text: str) -> NDArray[np.float32]:
        """As the packaged one, but for texts with the word."""
        if POISON in text:
            raise RuntimeError(text)
        return super().embed_passage(text)


def save(ctx: Context, title: str, body: str) -> memories.Saved:
    """Save a memory."""
    return memories.remember(ctx, Draft(title=title, body=body), Where())


def counted(ctx: Context) -> tuple[int, int]:
    """(chunks that wait, vectors)."""
    with ctx.engine.store.reading() as tx:
        return tx.value("select count(*) from pending"), tx.value("select count(*) from chunk_vector")


def chunk_ids(ctx: Context) -> list[int]:
    """Every chunk."""
    with ctx.engine.store.reading() as tx:
        return [row[0] for row in tx.all("select id from chunk order by id")]


def test_what_is_written_gets_its_vector(ctx: Context) -> None:
    """Saved, revised, restored: the thread makes one vector a chunk and none for what is gone."""
    ctx.engine.worker = worked = worker.Worker(ctx.engine)
    for i in range(5):
        save(ctx, f"Note {i}", f"text {i}")
    memories.update(ctx, "1", memories.Change(body="another text"))
    lifecycle.delete(ctx, "2")
    lifecycle.restore(ctx, "2")
    lifecycle.delete(ctx, "3")
    assert worked.finish(20.0)
    worked.stop()
    assert counted(ctx) == (0, 4)


def test_work_done_twice_changes_nothing(ctx: Context) -> None:
    """Two processes may take the same chunk; one vector stays."""
    save(ctx, "A", "text")
    found = chunk_ids(ctx)
    assert worker.embed_waiting(ctx.engine, found) == 1
    assert worker.embed_waiting(ctx.engine, found) == 0
    assert counted(ctx) == (0, 1)


def test_what_another_process_left_is_taken(ctx: Context) -> None:
    """The newest first."""
    save(ctx, "A", "text")
    save(ctx, "B", "another text")
    assert worker.embed_waiting(ctx.engine, most=1) == 1
    with ctx.engine.store.reading() as tx:
        assert [item.title for item in chunks.unembedded(tx, limit=5)] == ["A"]
    assert worker.embed_waiting(ctx.engine) == 1
    assert counted(ctx) == (0, 2)


def test_a_text_that_can_not_be_embedded_holds_up_no_other(ctx: Context, caplog: pytest.LogCaptureFixture) -> None:
    """It is left to its words, is not tried for ever, and no search fails over it; its text is in no log."""
    ctx.engine.embedder = Fragile()
    save(ctx, "Bad", f"a {POISON} apple")
    save(ctx, "Good", "Safari drops cookies without Secure")
    assert [hit.memory.title for hit in search.search(ctx, "poison apple").hits] == ["Bad"]
    assert [hit.memory.title for hit in search.search(ctx, "Apple browser forgets my login").hits] == ["Good"]
    assert worker.embed_waiting(ctx.engine, chunk_ids(ctx)) == 2
    assert counted(ctx) == (0, 1)
    assert all("apple" not in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("is_hard", [False, True])
def test_a_chunk_that_went_meanwhile_gets_no_vector(ctx: Context, *, is_hard: bool) -> None:
    """The worker read it, then it was deleted, then the vector came."""
    save(ctx, "A", "text")
    with ctx.engine.store.reading() as tx:
        waiting = chunks.unembedded(tx, limit=5)
    made = [(item, index.embed(ctx.engine.embedder, item)) for item in waiting]
    lifecycle.delete(ctx, "1", is_hard=is_hard)
    worker.store(ctx.engine, ctx.engine.embedder.model_id, made)
    assert counted(ctx) == (0, 0)
