"""The neural family: reflection tasks and insights."""

from __future__ import annotations

from typing import Annotated, Any

from engram.engine import reflecting
from engram.engine.context import Context
from engram.model import INSIGHT_CHARS_MAX, REFLECTION_TYPES
from engram.tools.neural import time_of
from engram.tools.params import ID_CHARS_MAX, Choice, Int, Num, Text, TextList
from engram.tools.registry import tool
from engram.tools.shapes import SCORE, TEXT, WHOLE, answer, many, one_of, shape

RELATED_MAX = 100
TASK = shape(taskId=TEXT, type=one_of(*REFLECTION_TYPES), relatedMemoryIds=many(TEXT), prompt=TEXT)
INSIGHT = shape(
    id=TEXT, insight=TEXT, confidence=SCORE, createdAt=TEXT, relatedMemoryIds=many(TEXT), optional={"type": TEXT}
)


@tool(
    title="Ask for reflection tasks",
    profile="neural",
    role="read",
    output=answer(tasks=many(TASK), message=TEXT),
)
def request_reflection(ctx: Context) -> dict[str, Any]:
    """Memories chosen for you to think about, with a question for each kind of insight. Reason over each and answer
    with store_reflection. Call it when there is time, not in the middle of a task."""
    asked = reflecting.request(ctx)
    return {
        "tasks": [
            {"taskId": task.id, "type": task.type, "relatedMemoryIds": list(task.evidence), "prompt": prompt}
            for task, prompt in asked.tasks
        ],
        "message": asked.message,
    }


@tool(
    title="Store an insight",
    profile="neural",
    role="rw",
    output=answer(type=TEXT, message=TEXT, optional={"id": TEXT}),
)
def store_reflection(
    ctx: Context,
    *,
    type: Annotated[str, Choice("Kind of insight.", REFLECTION_TYPES)],  # noqa: A002 - the contract's name
    insight: Annotated[
        str, Text("What you concluded; exactly NO_INSIGHT closes the task without one.", chars_max=INSIGHT_CHARS_MAX)
    ],
    taskId: Annotated[str, Text("The task that it answers.", chars_max=64)] = "",
    relatedMemoryIds: Annotated[
        tuple[str, ...],
        TextList("Memories that it rests on.", chars_max=ID_CHARS_MAX, entries_max=RELATED_MAX),
    ] = (),
    confidence: Annotated[float, Num("How sure you are.", minimum=0, maximum=1)] = 0.5,
) -> dict[str, Any]:
    """Keep an insight of your own as a fact, linked to the memories that it rests on."""
    kept = reflecting.store(ctx, type, insight, task_id=taskId, related=relatedMemoryIds, confidence=confidence)
    if kept is None:
        return {"type": type, "message": "Closed without an insight; nothing was stored"}
    return {
        "id": kept.memory.id,
        "type": type,
        "message": f"Insight stored with {len(kept.evidence)} memories as evidence",
    }


@tool(
    title="Get insights",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(count=WHOLE, reflections=many(INSIGHT)),
)
def get_reflections(
    ctx: Context,
    *,
    limit: Annotated[int, Int("Most insights.", minimum=1, maximum=100, is_capped=True)] = 20,
    type: Annotated[str, Choice("Only this kind.", REFLECTION_TYPES)] = "",  # noqa: A002 - the contract's name
) -> dict[str, Any]:
    """Insights that were stored, the newest first."""
    found = reflecting.listed(ctx, kind=type, limit=limit)
    return {
        "count": len(found),
        "reflections": [
            {
                "id": each.memory.id,
                "insight": each.memory.body,
                "confidence": each.memory.confidence,
                "createdAt": time_of(each.memory.created_at),
                "relatedMemoryIds": list(each.evidence),
                **({"type": each.type} if each.type else {}),
            }
            for each in found
        ],
    }
