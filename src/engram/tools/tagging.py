"""The neural family: tags."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from engram.engine import tagging
from engram.engine.context import Context
from engram.model import MEMORY_TYPES, TAG_CHARS_MAX
from engram.tools.neural import Namespace, fields, memory_fields
from engram.tools.params import Choice, Id, Int, Text
from engram.tools.registry import tool
from engram.tools.shapes import FLAG, SCORE, TEXT, WHOLE, answer, many, one_of, shape

CONTENT_SHOWN_MAX = 2_000
LISTED = shape(
    id=TEXT,
    type=one_of(*MEMORY_TYPES),
    content=TEXT,
    importance=SCORE,
    createdAt=TEXT,
    tags=many(TEXT),
    optional={"concept": TEXT, "source": TEXT, "truncated": FLAG},
)


@tool(
    title="List tags",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(
        count=WHOLE, optional={"tags": many(shape(tag=TEXT, count=WHOLE)), "tag": TEXT, "memories": many(LISTED)}
    ),
)
def list_tags(
    ctx: Context,
    *,
    tag: Annotated[str, Text("Show the memories of this tag; default: all tags.", chars_max=TAG_CHARS_MAX)] = "",
    limit: Annotated[int, Int("Most entries.", minimum=1, maximum=200, is_capped=True)] = 50,
    namespace: Namespace = "",
) -> dict[str, Any]:
    """Every tag with how often it is used, or the newest memories of one tag."""
    found = tagging.cloud(ctx, namespace=namespace, name=tag, limit=limit)
    warnings = list(found.notes) or None
    if not tag:
        shown = [{"tag": name, "count": count} for name, count in found.tags]
        return fields(count=len(shown), tags=shown, warnings=warnings)
    memories = [
        memory_fields(memory) | {"content": memory.body[:CONTENT_SHOWN_MAX], "tags": list(names)}
        | ({"truncated": True} if len(memory.body) > CONTENT_SHOWN_MAX else {})
        for memory, names in found.memories
    ]  # fmt: skip
    return fields(tag=tag, count=len(memories), memories=memories, warnings=warnings)


@tool(
    title="Tag a memory",
    profile="neural",
    role="rw",
    is_idempotent=True,
    output=answer(id=TEXT, tags=many(TEXT), message=TEXT),
)
def tag_memory(
    ctx: Context,
    *,
    memoryId: Annotated[str, Id("Its UUID, or its number.")],
    tag: Annotated[str, Text("The tag; `pinned` is always recalled and never forgotten.", chars_max=TAG_CHARS_MAX)],
    action: Annotated[Literal["add", "remove"], Choice("What to do.", ("add", "remove"))] = "add",
) -> dict[str, Any]:
    """Put a tag on a memory, or take it off. `pinned` makes it part of every recall."""
    done = tagging.tag(ctx, memoryId, tag, is_removed=action == "remove")
    verb = "removed" if action == "remove" else "added"
    message = f'Tag "{done.tag}" {verb}' if done.is_changed else f'Nothing to do: tag "{done.tag}" was {verb} already'
    return {"id": done.memory.id, "tags": list(done.tags), "message": message}
