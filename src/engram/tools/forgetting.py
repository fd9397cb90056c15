"""The neural family: forgetting, decay and its policy."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from engram.engine import forgetting, policies
from engram.engine.context import Context
from engram.errors import Invalid
from engram.model import IDS_MAX, REASON_CHARS_MAX
from engram.rules.decay import PROTECTION_RULES, Policy
from engram.tools.neural import Namespace, fields
from engram.tools.params import ID_CHARS_MAX, Bool, Choice, Int, Num, Text, TextList
from engram.tools.registry import tool
from engram.tools.shapes import FLAG, NUMBER, TEXT, WHOLE, answer, many, one_of, shape

HALF_LIFE_DAYS_MIN = 0.001  # over 0
POLICY = shape(
    halfLifeDays=NUMBER, archiveThreshold=NUMBER, decayIntervalMs=WHOLE, batchSize=WHOLE, importanceDecayRate=NUMBER,
    importanceFloor=NUMBER, protectionRuleCount=WHOLE, appliesTo=one_of("own", "all"),
    consolidation=shape(enabled=FLAG, minClusterSize=WHOLE, similarityThreshold=NUMBER, minEpisodicAgeMs=WHOLE),
)  # fmt: skip


@tool(
    title="Forget memories",
    profile="neural",
    role="rw",
    is_destructive=True,
    is_idempotent=True,
    output=answer(archived=WHOLE, missing=many(TEXT), reason=TEXT, events=many(TEXT), message=TEXT),
)
def forget(
    ctx: Context,
    *,
    ids: Annotated[tuple[str, ...], TextList("Ids of memories.", chars_max=ID_CHARS_MAX, entries_max=IDS_MAX)],
    reason: Annotated[str, Text("Why; it is kept with the event.", chars_max=REASON_CHARS_MAX)] = "",
) -> dict[str, Any]:
    """Archive memories: out of recall, search and lists, all or none of them. `engram restore` brings one back. For
    something that is no longer true, resolve_contradiction keeps when it was."""
    done = forgetting.forget(ctx, ids, reason=reason)
    count = len(done.archived)
    return {
        "archived": count,
        "missing": list(done.missing),
        "reason": done.reason,
        "events": list(done.events),
        "message": f"Archived {count} {'memory' if count == 1 else 'memories'}"
        + (f", {len(done.missing)} not found" if done.missing else ""),
    }


@tool(
    title="Decay sweep",
    profile="neural",
    role="rw",
    is_destructive=True,
    output=answer(
        scannedCount=WHOLE, archivedCount=WHOLE, archivedIds=many(TEXT), decayedCount=WHOLE, protectedCount=WHOLE,
        consolidatedCount=WHOLE, newSemanticIds=many(TEXT), durationMs=WHOLE, mode=one_of("dry-run", "live"),
        events=many(TEXT), message=TEXT,
    ),
)  # fmt: skip
def decay_sweep(
    ctx: Context,
    *,
    dryRun: Annotated[bool, Bool("Only say what would be archived and consolidated.")] = False,
    namespace: Namespace = "",
) -> dict[str, Any]:
    """Archive memories that have faded and make one fact of old events that say the same, by the decay policy. Try
    dryRun first. Everything can be restored."""
    done = forgetting.sweep(ctx, is_dry=dryRun, namespace=namespace)
    verbs = ("Dry run: would archive", "decay", "consolidate") if dryRun else ("Archived", "decayed", "consolidated")
    return {
        "scannedCount": done.scanned,
        "archivedCount": len(done.archived),
        "archivedIds": done.archived[: forgetting.SHOWN_IDS_MAX],
        "decayedCount": done.decayed,
        "protectedCount": done.protected,
        "consolidatedCount": done.consolidated,
        "newSemanticIds": done.made[: forgetting.SHOWN_IDS_MAX],
        "durationMs": done.duration_ms,
        "mode": "dry-run" if dryRun else "live",
        "events": done.events,
        "message": (
            f"{verbs[0]} {len(done.archived)} memories, {verbs[1]} {done.decayed}, {verbs[2]} {done.consolidated}"
        ),
    }


@tool(
    title="Decay policy",
    profile="neural",
    role="any",
    is_idempotent=True,
    output=answer(policy=POLICY, message=TEXT),
)
def decay_policy(
    ctx: Context,
    *,
    action: Annotated[Literal["get", "update"], Choice("Read it, or change fields of it.", ("get", "update"))],
    namespace: Annotated[str, Text("A namespace's own policy; default: the library's.", chars_max=257)] = "",
    halfLifeDays: Annotated[
        float | None, Num("Days without use after which half is left.", minimum=HALF_LIFE_DAYS_MIN, maximum=36_500)
    ] = None,
    archiveThreshold: Annotated[float | None, Num("What is left when it is archived.", minimum=0, maximum=0.5)] = None,
    importanceDecayRate: Annotated[float | None, Num("Importance lost a day.", minimum=0, maximum=1)] = None,
    importanceFloor: Annotated[float | None, Num("Least importance that is left.", minimum=0, maximum=1)] = None,
    decayIntervalMs: Annotated[int | None, Int("Between timed sweeps; 0 never, or 60000 and more.", minimum=0)] = None,
    batchSize: Annotated[int | None, Int("Memories archived in one transaction.", minimum=1, maximum=1000)] = None,
    consolidationEnabled: Annotated[bool | None, Bool("Make one fact of old events that say the same.")] = None,
    minClusterSize: Annotated[int | None, Int("Events that make a fact.", minimum=2, maximum=20)] = None,
    similarityThreshold: Annotated[float | None, Num("How alike each two of them are.", minimum=0, maximum=1)] = None,
    minEpisodicAgeMs: Annotated[int | None, Int("Age from which an event may be one of them.", minimum=0)] = None,
    appliesTo: Annotated[
        Literal["own", "all"] | None, Choice("own: what assistants stored; all: every memory.", ("own", "all"))
    ] = None,
) -> dict[str, Any]:
    """How memories fade here. update changes the fields that are given, at once and in every process."""
    given = {
        "half_life_days": halfLifeDays,
        "archive_threshold": archiveThreshold,
        "importance_decay_rate": importanceDecayRate,
        "importance_floor": importanceFloor,
        "decay_interval_ms": decayIntervalMs,
        "batch_size": batchSize,
        "consolidation_enabled": consolidationEnabled,
        "min_cluster_size": minClusterSize,
        "similarity_threshold": similarityThreshold,
        "min_episodic_age_ms": minEpisodicAgeMs,
        "applies_to": appliesTo,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if action == "get":
        notes = ["fields are only read with action update"] if changes else None
        return fields(policy=_shown(policies.get(ctx, namespace)), message="The policy in force", warnings=notes)
    if decayIntervalMs is not None and 0 < decayIntervalMs < 60_000:
        raise Invalid(f"decayIntervalMs is {decayIntervalMs}", hint="Give 0 for never, or 60000 and more")
    return {"policy": _shown(policies.update(ctx, changes, namespace)), "message": "Policy updated"}


def _shown(policy: Policy) -> dict[str, Any]:
    return {
        "halfLifeDays": policy.half_life_days,
        "archiveThreshold": policy.archive_threshold,
        "decayIntervalMs": policy.decay_interval_ms,
        "batchSize": policy.batch_size,
        "importanceDecayRate": policy.importance_decay_rate,
        "importanceFloor": policy.importance_floor,
        "consolidation": {
            "enabled": policy.consolidation_enabled,
            "minClusterSize": policy.min_cluster_size,
            "similarityThreshold": policy.similarity_threshold,
            "minEpisodicAgeMs": policy.min_episodic_age_ms,
        },
        "protectionRuleCount": PROTECTION_RULES,
        "appliesTo": policy.applies_to,
    }
