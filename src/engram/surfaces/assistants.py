"""The commands for a memory that assistants share: recall, contradictions, tags, what fades, the vectors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from engram.surfaces.console import ASSISTANTS, Json, ask_tool, parser, print_json

Namespace = Annotated[str, Parameter(help="Namespace; default: everything of yours.")]


@parser.command(group=ASSISTANTS)
def recall(
    query: Annotated[str, Parameter(help="What you need to know.")],
    /,
    *,
    tokens: Annotated[int, Parameter(help="Budget of the context, 100 to 8000.")] = 2000,
    namespace: Namespace = "",
    as_of: Annotated[str, Parameter(help="What held at this time, such as 2025-03-01.")] = "",
    json: Json = False,
) -> int:
    """Print what an assistant would be told about a question; it counts as no use.

    Examples: `engram recall "what do we know about the billing API"` ·
    `engram recall "where does Ada live" --as-of 2024-01-01`
    """
    found = ask_tool(
        "recall_context",
        {"query": query, "maxTokens": tokens, "namespace": namespace, "asOf": as_of or None, "touch": False},
    )
    if json:
        print_json(found)
    else:
        print(found["context"] or "Nothing relevant is remembered")
    return 0


@parser.command(group=ASSISTANTS)
def contradictions(*, limit: Annotated[int, Parameter(help="Most pairs, 1 to 200.")] = 50, json: Json = False) -> int:
    """Print the pairs of memories that contradict each other and that nobody has decided.

    Example: `engram contradictions`, then
    `engram call resolve_contradiction sourceId=9 targetId=4 strategy=keep_newest`
    """
    found = ask_tool("check_contradictions", {"limit": limit})
    if json:
        print_json(found)
        return 0
    for pair in found["contradictions"]:
        why = "; ".join(signal["description"] for signal in pair["metadata"]["signals"])
        print(f"{pair['confidence']:.2f} {why}")
        for side in ("source", "target"):
            print(f"    {pair[side]['id']}  {_line(pair[side]['content'])}")
    if not found["contradictions"]:
        print("No open contradictions")
    return 0


@parser.command(group=ASSISTANTS)
def tags(
    tag: Annotated[str, Parameter(help="Show the memories of this tag; default: all tags.")] = "",
    /,
    *,
    limit: Annotated[int, Parameter(help="Most entries, 1 to 200.")] = 50,
    namespace: Namespace = "",
    json: Json = False,
) -> int:
    """Print the tags with how often each is used, or the memories of one.

    Examples: `engram tags` · `engram tags pinned`
    """
    found = ask_tool("list_tags", {"tag": tag, "limit": limit, "namespace": namespace})
    if json:
        print_json(found)
        return 0
    for each in found.get("tags", []):
        print(f"{each['count']:6} {each['tag']}")
    for each in found.get("memories", []):
        print(f"{each['id']}  {_line(each['content'])}")
    if not found["count"]:
        print("None")
    return 0


@parser.command(group=ASSISTANTS)
def sweep(
    *,
    dry_run: Annotated[bool, Parameter(negative=(), help="Only say what would be done.")] = False,
    namespace: Namespace = "",
    json: Json = False,
) -> int:
    """Archive what has faded and make one fact of old events that say the same; all of it can be restored.

    Example: `engram sweep --dry-run`
    """
    found = ask_tool("decay_sweep", {"dryRun": dry_run, "namespace": namespace})
    if json:
        print_json(found)
        return 0
    print(f"{found['message']} ({found['scannedCount']} looked at, {found['protectedCount']} protected)")
    for key in found["archivedIds"]:
        print(f"    {key}")
    return 0


@parser.command(group=ASSISTANTS)
def policy(
    *,
    half_life_days: Annotated[float | None, Parameter(help="Days without use after which half is left.")] = None,
    archive_threshold: Annotated[float | None, Parameter(help="What is left when it is archived, 0 to 0.5.")] = None,
    consolidation: Annotated[
        Literal["on", "off"] | None, Parameter(help="Make one fact of old events that say the same.")
    ] = None,
    applies_to: Annotated[
        Literal["own", "all"] | None, Parameter(help="own: what assistants stored; all: every memory.")
    ] = None,
    namespace: Annotated[str, Parameter(help="A namespace's own policy; default: the library's.")] = "",
    json: Json = False,
) -> int:
    """Print how memories fade; with an option, change it.

    Examples: `engram policy` · `engram policy --half-life-days 30`
    """
    changes: dict[str, Any] = {
        "halfLifeDays": half_life_days,
        "archiveThreshold": archive_threshold,
        "consolidationEnabled": None if consolidation is None else consolidation == "on",
        "appliesTo": applies_to,
    }
    is_update = any(value is not None for value in changes.values())
    sent = {"action": "update" if is_update else "get", "namespace": namespace, **(changes if is_update else {})}
    found = ask_tool("decay_policy", sent)
    if json:
        print_json(found)
        return 0
    for name, value in found["policy"].items():
        for inner, each in value.items() if isinstance(value, dict) else [("", value)]:
            print(f"{name}{'.' if inner else ''}{inner}: {each}")
    return 0


@parser.command(group=ASSISTANTS)
def reembed(
    *,
    all: Annotated[bool, Parameter(negative=(), help="Everything, not only what has no vector of the model.")] = False,
    namespace: Namespace = "",
    json: Json = False,
) -> int:
    """Make vectors with the database's model now; it can be stopped and run again.

    Example: `engram reembed`
    """
    found = ask_tool("re_embed", {"onlyStale": not all, "namespace": namespace})
    if json:
        print_json(found)
    else:
        print(found["message"])
    return 0


@parser.command(group=ASSISTANTS)
def index(*, json: Json = False) -> int:
    """Print which model is in use and how much of what you may read has its vector.

    Example: `engram index`
    """
    found = {**ask_tool("index_status", {}), **ask_tool("embedding_status", {})}
    if json:
        print_json(found)
    else:
        print(found["message"])
    return 0


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:97]}..."
