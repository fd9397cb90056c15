"""The neural family: storing, recalling and counting."""

from __future__ import annotations

from typing import Annotated, Any

from engram.engine import knowledge, recall, similar, tagging
from engram.engine.context import Context
from engram.engine.knowledge import Kept
from engram.engine.recall import Recalled, Remembered, Wanted
from engram.model import (
    CONCEPT_CHARS_MAX,
    MEMORY_TYPES,
    PATTERN_CHARS_MAX,
    QUERY_CHARS_MAX,
    SESSION_CHARS_MAX,
    SOURCE_CHARS_MAX,
    Draft,
)
from engram.tools.neural import (
    Crossing,
    MemoryType,
    Namespace,
    NewTags,
    Sources,
    Tags,
    Types,
    WriteNamespace,
    fields,
    memory_fields,
    time_of,
    types_of,
)
from engram.tools.params import Bool, Int, Num, Text, Time
from engram.tools.registry import tool
from engram.tools.shapes import COUNTS, FLAG, SCORE, TEXT, WHOLE, answer, many, one_of, shape

CONTENT_SHOWN_MAX = 2_000

SIGNAL = shape(type=TEXT, description=TEXT, weight=SCORE)
CONFLICT = shape(existingMemoryId=TEXT, confidence=SCORE, signals=many(SIGNAL), suggestedStrategy=TEXT)
REDACTIONS = shape(private=WHOLE, secrets=WHOLE, kinds=many(TEXT), optional={"unclosedCharacters": WHOLE})
STORED = {
    "contradictions": shape(count=WHOLE, items=many(CONFLICT)),
    "duplicateOf": TEXT,
    "redactions": REDACTIONS,
    "concept": TEXT,
}
TOLD = shape(
    id=TEXT,
    type=one_of(*MEMORY_TYPES),
    score=TEXT,
    namespace=TEXT,
    optional={"source": TEXT, "standing": FLAG},
)
PHASE = shape(count=WHOLE, memories=many(TOLD))
FOUND = shape(
    id=TEXT,
    type=one_of(*MEMORY_TYPES),
    content=TEXT,
    importance=SCORE,
    similarity=SCORE,
    createdAt=TEXT,
    optional={"concept": TEXT, "source": TEXT, "truncated": FLAG},
)

Content = Annotated[str, Text("What to remember, in full sentences.", chars_max="body")]
Source = Annotated[str, Text("Where it is from; default: this client's name.", chars_max=SOURCE_CHARS_MAX)]
Importance = Annotated[float | None, Num("0 to 1; default: .7 for facts, .5 else.", minimum=0, maximum=1)]


@tool(
    title="Store a memory",
    profile="neural",
    role="rw",
    output=answer(
        id=TEXT,
        type=one_of(*MEMORY_TYPES),
        content=TEXT,
        importance=SCORE,
        createdAt=TEXT,
        namespace=TEXT,
        vector=one_of("ready", "pending"),
        optional=STORED,
    ),
)
def store_memory(
    ctx: Context,
    *,
    content: Content,
    type: MemoryType = "episodic",  # noqa: A002 - the contract's name
    source: Source = "",
    tags: NewTags = (),
    importance: Importance = None,
    concept: Annotated[str, Text("What it is about; default: taken from the text.", chars_max=CONCEPT_CHARS_MAX)] = "",
    sessionId: Annotated[str, Text("Conversation that it belongs to.", chars_max=SESSION_CHARS_MAX)] = "",
    namespace: WriteNamespace = "",
    eventAt: Annotated[int | None, Time("When it happened; default: now.")] = None,
    validFrom: Annotated[int | None, Time("From when on it holds.")] = None,
    validTo: Annotated[int | None, Time("Until when it holds, that moment excluded.")] = None,
    triggerPattern: Annotated[str, Text("When a habit applies.", chars_max=PATTERN_CHARS_MAX)] = "",
    actionPattern: Annotated[str, Text("What to do then.", chars_max=PATTERN_CHARS_MAX)] = "",
) -> dict[str, Any]:
    """Remember something worth knowing in a later conversation: a fact (semantic), an event (episodic), how something
    is done (procedural). Write it so that it can be understood alone. The answer names memories that it contradicts:
    ask the user, then call resolve_contradiction."""
    neural_checks(validFrom, validTo)
    draft = Draft(
        title="",
        body=content,
        memory_type=type,
        source=source,
        tags=tags,
        importance=importance,
        concept=concept,
        event_at=eventAt,
        valid_from=validFrom,
        valid_to=validTo,
        trigger_pattern=triggerPattern,
        action_pattern=actionPattern,
    )
    return stored_fields(knowledge.store(ctx, draft, namespace=namespace, session=sessionId), has_text=True)


@tool(
    title="Recall context",
    profile="neural",
    role="read",
    output=answer(
        context=TEXT,
        memoriesUsed=WHOLE,
        latencyMs=WHOLE,
        mode=one_of("hybrid", "keyword"),
        standingLeftOut=WHOLE,
        pending=WHOLE,
        optional={"memories": many(TOLD), "phases": shape(vector=PHASE, graph=PHASE)},
    ),
)
def recall_context(
    ctx: Context,
    *,
    query: Annotated[str, Text("What you need to know, in your own words.", chars_max=QUERY_CHARS_MAX)],
    maxTokens: Annotated[int, Int("Budget of the whole context.", minimum=100, maximum=8000)] = 2000,
    types: Types = (),
    sources: Sources = (),
    tags: Tags = (),
    namespace: Namespace = "",
    crossNamespace: Crossing = False,
    progressive: Annotated[bool, Bool("Direct matches and linked ones apart, each told as soon as known.")] = False,
    asOf: Annotated[int | None, Time("What held at this time; default: now.")] = None,
    includeSuperseded: Annotated[bool, Bool("Also what was replaced, right after its successor.")] = False,
    touch: Annotated[bool, Bool("Note that these memories were of use.")] = True,
) -> dict[str, Any]:
    """The few memories that matter for a question, ready to read, with what always holds first. Call it at the start
    of a task and whenever an earlier conversation could help. An empty context means that nothing relevant is known."""
    wanted = Wanted(
        memory_types=types_of(types),
        sources=sources,
        tags=tags,
        namespace=namespace,
        is_crossing=crossNamespace,
        as_of=asOf,
        has_superseded=includeSuperseded,
    )
    found = recall.recall_context(ctx, query, wanted, tokens_max=maxTokens, is_counted=touch)
    parts = _phases(found) if progressive else {"memories": [_told(each) for each in found.memories]}
    return fields(
        context=None,
        memoriesUsed=len(found.memories),
        latencyMs=found.latency_ms,
        mode="hybrid" if found.is_hybrid else "keyword",
        standingLeftOut=found.standing_left_out,
        pending=found.pending,
        warnings=list(found.notes) or None,
        **parts,
    ) | {"context": found.context}


def _told(each: Remembered) -> dict[str, Any]:
    memory = each.memory
    return fields(
        id=memory.id,
        type=memory.memory_type,
        score=f"{each.score:.3f}",
        source=memory.source,
        namespace=each.namespace,
        standing=True if each.is_standing else None,
    )


def _phases(found: Recalled) -> dict[str, Any]:
    direct = [_told(each) for each in found.memories if not each.is_of_graph]
    linked = [_told(each) for each in found.memories if each.is_of_graph]
    return {
        "phases": {
            "vector": {"count": len(direct), "memories": direct},
            "graph": {"count": len(linked), "memories": linked},
        }
    }


@tool(
    title="Search by meaning",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(count=WHOLE, results=many(FOUND), pending=WHOLE),
)
def search_memory(
    ctx: Context,
    *,
    query: Annotated[str, Text("What to look for.", chars_max=QUERY_CHARS_MAX)],
    topK: Annotated[int, Int("Most results.", minimum=1, maximum=50, is_capped=True)] = 10,
    threshold: Annotated[float, Num("Least similarity; .3 parts related from unrelated.", minimum=0, maximum=1)] = 0.3,
    types: Types = (),
    tags: Tags = (),
    namespace: Namespace = "",
    crossNamespace: Crossing = False,
) -> dict[str, Any]:
    """Memories by similarity of meaning alone, without age or importance. For looking something up; for a task call
    recall_context."""
    wanted = Wanted(memory_types=types_of(types), tags=tags, namespace=namespace, is_crossing=crossNamespace)
    found = similar.search(ctx, query, wanted, limit=topK, threshold=threshold)
    results = [
        memory_fields(memory) | {"content": memory.body[:CONTENT_SHOWN_MAX], "similarity": round(similarity, 4)}
        | ({"truncated": True} if len(memory.body) > CONTENT_SHOWN_MAX else {})
        for memory, similarity in found.hits
    ]  # fmt: skip
    return fields(count=len(results), results=results, pending=found.pending, warnings=list(found.notes) or None)


@tool(
    title="Add knowledge",
    profile="neural",
    role="rw",
    output=answer(
        id=TEXT, concept=TEXT, message=TEXT, vector=one_of("ready", "pending"),
        optional={key: value for key, value in STORED.items() if key != "concept"},
    ),
)  # fmt: skip
def add_knowledge(
    ctx: Context,
    *,
    concept: Annotated[str, Text("What it is about, as it is always called.", chars_max=CONCEPT_CHARS_MAX)],
    content: Content,
    tags: NewTags = (),
    importance: Annotated[float, Num("0 to 1.", minimum=0, maximum=1)] = 0.7,
    namespace: WriteNamespace = "",
) -> dict[str, Any]:
    """Remember a fact about a named concept. The same as store_memory with type semantic."""
    draft = Draft(title="", body=content, memory_type="semantic", tags=tags, importance=importance, concept=concept)
    kept = knowledge.store(ctx, draft, namespace=namespace)
    message = "Knowledge known already" if kept.is_duplicate else "Knowledge stored"
    wanted = ("id", "concept", "contradictions", "duplicateOf", "redactions", "vector", "warnings")
    told = stored_fields(kept, has_text=False)
    return {key: told[key] for key in wanted if key in told} | {"message": message}


@tool(
    title="Memory statistics",
    profile="neural",
    role="read",
    is_read_only=True,
    output=answer(
        total=WHOLE, byType=COUNTS, bySource=COUNTS, byNamespace=COUNTS, indexSize=WHOLE, graphNodes=WHOLE,
        graphEdges=WHOLE, archived=WHOLE,
    ),
)  # fmt: skip
def memory_stats(ctx: Context, *, namespace: Namespace = "") -> dict[str, Any]:
    """How much is remembered: by type, source and namespace, how much has a vector, how much is linked."""
    found = tagging.counts(ctx, namespace=namespace)
    return fields(
        total=found.total,
        byType=found.by_type,
        bySource=found.by_source,
        byNamespace=found.by_namespace,
        indexSize=found.with_vector,
        graphNodes=found.total,
        graphEdges=found.links,
        archived=found.archived,
        warnings=list(found.notes) or None,
    )


def neural_checks(valid_from: int | None, valid_to: int | None) -> None:
    """Refuse a validity that ends before it begins.

    Raises:
        Invalid: it does.
    """
    from engram.errors import Invalid  # noqa: PLC0415 - only where it is refused

    if valid_from is not None and valid_to is not None and valid_to <= valid_from:
        raise Invalid("validTo is not after validFrom", hint="The end is excluded: give a later one")


def stored_fields(kept: Kept, *, has_text: bool) -> dict[str, Any]:
    """What became of a store, as the wire has it."""
    memory = kept.memory
    conflicts = None
    if kept.conflicts is not None:
        items = [
            {
                "existingMemoryId": each.older.id if each.newer.id == memory.id or not memory.id else each.newer.id,
                "confidence": each.verdict.confidence,
                "signals": [
                    {"type": signal.type, "description": signal.description, "weight": signal.weight}
                    for signal in each.verdict.signals
                ],
                "suggestedStrategy": each.verdict.strategy,
            }
            for each in kept.conflicts
        ]
        conflicts = {"count": len(items), "items": items}
    warnings = list(kept.notes)
    if kept.conflicts is None:
        warnings.append("contradictions follow once the vector is there: see check_contradictions")
    redactions = None
    if kept.redactions:
        redactions = fields(
            private=kept.redactions.private,
            secrets=kept.redactions.secrets,
            kinds=list(kept.redactions.kinds),
            unclosedCharacters=kept.redactions.unclosed_characters or None,
        )
    return fields(
        id=memory.id,
        type=memory.memory_type,
        content=memory.body if has_text else None,
        importance=memory.importance,
        createdAt=time_of(memory.created_at),
        namespace=kept.namespace,
        concept=memory.concept,
        contradictions=conflicts,
        duplicateOf=memory.id if kept.is_duplicate else None,
        redactions=redactions,
        vector="ready" if kept.has_vector else "pending",
        warnings=warnings or None,
    )
