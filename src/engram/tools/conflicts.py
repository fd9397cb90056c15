"""The neural family: contradictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from engram.engine import contradictions
from engram.engine.context import Context
from engram.engine.contradictions import STRATEGIES
from engram.tools.neural import fields
from engram.tools.params import Choice, Id, Int
from engram.tools.registry import tool
from engram.tools.shapes import FLAG, SCORE, TEXT, WHOLE, answer, many, shape

if TYPE_CHECKING:
    from engram.model import Memory

CONTENT_SHOWN_MAX = 2_000
SIGNAL = shape(type=TEXT, description=TEXT, weight=SCORE)
SIDE = shape(id=TEXT, content=TEXT, type=TEXT)
PAIR = shape(
    optional={
        "newMemoryId": TEXT, "existingMemoryId": TEXT, "similarity": SCORE, "signals": many(SIGNAL),
        "suggestedStrategy": TEXT, "source": SIDE, "target": SIDE,
        "metadata": shape(signals=many(SIGNAL), suggestedStrategy=TEXT),
    },
    confidence=SCORE,
)  # fmt: skip


@tool(
    title="Check contradictions",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(
        contradictions=many(PAIR),
        optional={"hasContradictions": FLAG, "candidatesChecked": WHOLE, "latencyMs": WHOLE, "count": WHOLE},
    ),
)
def check_contradictions(
    ctx: Context,
    *,
    memoryId: Annotated[str, Id("Check this memory; default: list what nobody has decided.")] = "",
    limit: Annotated[int, Int("Most contradictions.", minimum=1, maximum=200, is_capped=True)] = 50,
) -> dict[str, Any]:
    """What a memory contradicts, or every contradiction that nobody has decided. Settle each with
    resolve_contradiction, after asking the user where you do not know."""
    if not memoryId:
        found = contradictions.unresolved(ctx, limit=limit)
        return {
            "count": len(found),
            "contradictions": [
                {
                    "confidence": each.confidence,
                    "metadata": {
                        "signals": each.details.get("signals", []),
                        "suggestedStrategy": each.details.get("suggestedStrategy", "manual"),
                    },
                    "source": _side(each.source),
                    "target": _side(each.target),
                }
                for each in found
            ],
        }
    checked = contradictions.check(ctx, memoryId, limit=limit)
    return {
        "hasContradictions": bool(checked.conflicts),
        "contradictions": [
            fields(
                newMemoryId=each.newer.id,
                existingMemoryId=each.older.id,
                similarity=None if each.similarity is None else round(each.similarity, 3),
                confidence=each.verdict.confidence,
                signals=[
                    {"type": signal.type, "description": signal.description, "weight": signal.weight}
                    for signal in each.verdict.signals
                ],
                suggestedStrategy=each.verdict.strategy,
            )
            for each in checked.conflicts
        ],
        "candidatesChecked": checked.candidates,
        "latencyMs": checked.latency_ms,
    }


def _side(memory: Memory) -> dict[str, Any]:
    return {"id": memory.id, "content": memory.body[:CONTENT_SHOWN_MAX], "type": memory.memory_type}


@tool(
    title="Resolve a contradiction",
    profile="neural",
    role="rw",
    is_destructive=True,
    is_idempotent=True,
    output=answer(
        resolved=FLAG, strategy=TEXT, events=many(TEXT), message=TEXT, optional={"keptId": TEXT, "archivedId": TEXT}
    ),
)
def resolve_contradiction(
    ctx: Context,
    *,
    sourceId: Annotated[str, Id("The one memory.")],
    targetId: Annotated[str, Id("The other one.")],
    strategy: Annotated[str, Choice("Which one holds.", STRATEGIES)],
) -> dict[str, Any]:
    """Decide between two memories. The loser is archived as superseded, found by asOf, and `engram restore` brings it
    back. keep_both settles that they do not contradict; manual leaves the pair open."""
    done = contradictions.resolve(ctx, sourceId, targetId, strategy)
    if done.kept is not None and done.archived is not None:
        message = f"Contradiction resolved via {strategy}. Kept: {done.kept.id}, Archived: {done.archived.id}"
    elif done.is_resolved:
        message = "Both are kept: the pair is settled and will not be shown again"
    else:
        message = "Left open for a person to decide"
    return fields(
        resolved=done.is_resolved,
        strategy=strategy,
        keptId=done.kept.id if done.kept else None,
        archivedId=done.archived.id if done.archived else None,
        events=list(done.events),
        message=message,
    )
