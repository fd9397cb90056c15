"""``mem_*``: memory for coding agents. Each tool is a thin preset of a verb; its docstring is what an agent reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from engram.errors import Invalid
from engram.model import (
    DIRECTORY_CHARS_MAX,
    KIND_CHARS_MAX,
    NAME_CHARS_MAX,
    QUERY_CHARS_MAX,
    SESSION_CHARS_MAX,
    SOURCE_CHARS_MAX,
    SUMMARY_CHARS_MAX,
    TITLE_CHARS_MAX,
    TOPIC_KEY_CHARS_MAX,
    Draft,
)
from engram.rules import headings, markers, names, topics
from engram.tools import data, text
from engram.tools.later import Later
from engram.tools.params import Bool, Choice, Id, Int, Text
from engram.tools.registry import Reply, tool

if TYPE_CHECKING:
    from engram.engine import browse, capture, lifecycle, memories, search, sessions
    from engram.engine.context import Context
    from engram.engine.memories import Change, Saved
else:
    browse, capture, lifecycle, memories, search, sessions = (
        Later(f"engram.engine.{name}") for name in ("browse", "capture", "lifecycle", "memories", "search", "sessions")
    )

PLACE_CHARS_MAX = 2 * NAME_CHARS_MAX + 1  # library/name

Project = Annotated[str, Text("Project; default: found from the working folder.", chars_max=PLACE_CHARS_MAX)]
Session = Annotated[str, Text("Session id; default: the current one.", chars_max=SESSION_CHARS_MAX)]
Scope = Annotated[str, Choice("personal: about the user, shown in every project.", ("project", "personal"))]
Kind = Annotated[
    str,
    Text(
        "decision, architecture, bugfix, pattern, config, discovery, learning, preference or any slug.",
        chars_max=KIND_CHARS_MAX,
    ),
]


def _whats(saved: Saved) -> str:
    if saved.what == memories.REVISED:
        return f"revision {saved.memory.revision} of topic {markers.escape(saved.memory.topic_key or '')}"
    if saved.what == memories.REPEATED:
        key = f", topic {markers.escape(saved.memory.topic_key or '')} set" if saved.key_was_set else ""
        return f"duplicate, seen {saved.times} times{key}"
    return saved.what


def _after_save(saved: Saved) -> list[str]:
    guessed = [f"Session: {markers.escape(saved.session)} (guessed)"] if saved.session_was_guessed else []
    return [*guessed, *text.redaction_lines(saved.redactions)]


@tool(title="Save a memory", profile="agent", role="rw")
def mem_save(
    ctx: Context,
    *,
    title: Annotated[str, Text("Short and searchable.", chars_max=TITLE_CHARS_MAX)],
    content: Annotated[
        str, Text("**What**, **Why**, **Where** (files), **Learned**.", chars_max="body", aliases=("observation",))
    ],
    type: Kind = "manual",  # noqa: A002 - the contract's name
    session_id: Session = "",
    project: Project = "",
    scope: Scope = "project",
    topic_key: Annotated[
        str,
        Text(
            "Stable key of an evolving topic: the same key revises that memory, its earlier text stays in the history.",
            chars_max=TOPIC_KEY_CHARS_MAX,
        ),
    ] = "",
) -> Reply:
    """Save what a later session must know. Call it, unasked, right after: a bug fixed, a decision made, a
    discovery, a configuration changed, a pattern set, a preference of the user learned. Write content as What
    was done, Why, Where (files) and what was Learned. A text that was saved before is counted, not stored twice."""
    saved = memories.remember(
        ctx,
        Draft(title=title, body=content, kind=type, topic_key=topic_key),
        memories.Where(project=project, scope=scope, session=session_id),
    )
    memory = saved.memory
    lines = [f'Memory saved: "{text.title_of(memory)}" ({memory.kind}) {saved.label} [{_whats(saved)}]']
    if saved.what == memories.NEW and not memory.topic_key:
        lines.append(f"Suggested topic_key: {topics.suggest(memory.kind, memory.title, memory.body)}")
    return Reply("\n".join(lines + _after_save(saved)), notes=saved.notes, data=data.saved(saved))


@tool(title="Search memories", profile="agent", role="read", is_read_only=True)
def mem_search(
    ctx: Context,
    *,
    query: Annotated[str, Text("A question or words, as you would ask a colleague.", chars_max=QUERY_CHARS_MAX)],
    type: Annotated[str, Text("Only this type.", chars_max=KIND_CHARS_MAX)] = "",  # noqa: A002 - the contract's name
    project: Annotated[
        str, Text("Project, or * for all; default: the current one, then others.", chars_max=PLACE_CHARS_MAX)
    ] = "",
    scope: Annotated[str, Choice("Only this scope; default: both.", ("project", "personal"))] = "",
    limit: Annotated[int, Int("Most hits.", minimum=1, maximum=20, is_capped=True)] = 10,
    all_projects: Annotated[bool, Bool("Search every project; not together with project.")] = False,
) -> Reply:
    """Find earlier work by meaning and by words. Search before you decide, debug or ask the user something that
    may have been settled before. Hits are previews: read one whole with mem_get_observation. An empty answer
    means that nothing relevant is stored."""
    if all_projects and project:
        raise Invalid("all_projects and project exclude each other", hint="Give one of them")
    found = search.search(ctx, query, project="*" if all_projects else project, scope=scope, type_=type, limit=limit)
    notes = list(found.notes)
    if found.pending:
        notes.append(f"{found.pending} recent chunks have no vector yet and were found by their words alone")
    if not found.hits:
        from engram.rules.redact import redact  # noqa: PLC0415 - a start waits for no rules

        shown, _ = redact(query, secrets=ctx.engine.settings.redact_secrets)
        lines = [f'No memories found for: "{markers.escape(names.cut_text(shown, 200))}"']
        if not found.is_known and (line := text.closest_line(found.closest)):
            lines.append(line)
        return Reply("\n".join(lines), notes=tuple(notes), shown=0, data=data.hits(found))
    lines = [f"Found {len(found.hits)} memories:"]
    body = [
        line for i, hit in enumerate(found.hits, 1) for line in text.hit_lines(i, hit, is_elsewhere=found.is_elsewhere)
    ]
    lines.append(text.fenced(body))
    if found.is_elsewhere:
        lines.append(f"Nothing relevant in project {markers.escape(found.name)}: these are from other projects.")
    return Reply("\n".join(lines), notes=tuple(notes), shown=len(found.hits), data=data.hits(found))


@tool(title="Recent context", profile="agent", role="read", is_read_only=True)
def mem_context(
    ctx: Context,
    *,
    project: Annotated[
        str, Text("Only this project; default: all, the current one first.", chars_max=PLACE_CHARS_MAX)
    ] = "",
    scope: Annotated[str, Choice("Only this scope; default: both.", ("project", "personal"))] = "",
    limit: Annotated[int, Int("Most observations.", minimum=1, maximum=100, is_capped=True)] = 20,
    max_tokens: Annotated[int, Int("Budget of the whole answer.", minimum=200, maximum=16_000)] = 4_000,
) -> Reply:
    """What happened lately: sessions, prompts and memories. Call it at the start of a session, after a
    compaction or a context reset, and when the user asks what you were working on."""
    recent = browse.recent(ctx, project=project, scope=scope, limit=limit)
    return Reply(lambda last: text.context_text(recent, max_tokens, last), notes=recent.notes, data=data.recent(recent))


@tool(title="Save a session summary", profile="agent", role="rw")
def mem_session_summary(
    ctx: Context,
    *,
    content: Annotated[
        str,
        Text(
            "Markdown with ## Goal, ## Discoveries, ## Accomplished, ## Relevant Files; ##"
            " Instructions if the user gave any.",
            chars_max="body",
        ),
    ],
    project: Project = "",
    session_id: Session = "",
) -> Reply:
    """Save what this session reached, before you say done. For the main agent only: sub-agents leave it to it.
    A second call revises the summary of the session."""
    saved = capture.save_summary(ctx, content, memories.Where(project=project, session=session_id))
    lines = [f'Session summary saved for project "{saved.project}" {saved.label}']
    missing = headings.missing_headings(content)
    if missing:
        lines.append(f"Missing headings: {', '.join(missing)}")
    return Reply("\n".join(lines + _after_save(saved)), notes=saved.notes, data=data.saved(saved))


@tool(title="Start a session", profile="agent", role="rw", is_idempotent=True)
def mem_session_start(
    ctx: Context,
    *,
    id: Annotated[str, Text("The session's id.", chars_max=SESSION_CHARS_MAX)],  # noqa: A002 - the contract's name
    project: Annotated[str, Text("Its project.", chars_max=PLACE_CHARS_MAX)],
    directory: Annotated[str, Text("Its working folder.", chars_max=DIRECTORY_CHARS_MAX)] = "",
) -> Reply:
    """Begin a session, so that its saves belong together; an ended one is reopened. For the main agent only."""
    started = sessions.start(ctx, id, project=project, directory=directory)
    verb = "reopened" if started.was_reopened else "started"
    said = f'Session "{id}" {verb} for project "{started.project}"'
    return Reply(said, notes=started.notes, data={"id": id, "project": started.project, "what": verb})


@tool(title="End a session", profile="agent", role="rw", is_idempotent=True)
def mem_session_end(
    ctx: Context,
    *,
    id: Annotated[str, Text("The session's id.", chars_max=SESSION_CHARS_MAX)],  # noqa: A002 - the contract's name
    summary: Annotated[
        str, Text("One or two sentences; left out, an earlier one stays.", chars_max=SUMMARY_CHARS_MAX)
    ] = "",
) -> Reply:
    """Mark a session as completed. It still takes saves. For the main agent only."""
    _, redactions = sessions.end(ctx, id, summary=summary)
    lines = [f'Session "{id}" completed', *text.redaction_lines(redactions)]
    return Reply("\n".join(lines), data={"id": id, "redactions": data.redactions(redactions)})


@tool(title="Read a memory", profile="agent", role="read", is_read_only=True)
def mem_get_observation(
    ctx: Context,
    *,
    id: Annotated[str, Id("Number (12 or #12) or UUID.")],  # noqa: A002 - the contract's name
    history: Annotated[bool, Bool("Also the newest 10 versions.")] = False,
    offset: Annotated[int, Int("First character.", minimum=0)] = 0,
    max_characters: Annotated[int | None, Int("Most characters; default: all.", minimum=1)] = None,
) -> Reply:
    """The full text of a memory that mem_search or mem_context showed, and where it comes from."""
    whole = browse.whole(ctx, id, versions_max=10 if history else 0)
    return Reply(text.whole_text(whole, offset=offset, characters_max=max_characters), data=data.whole(whole))


@tool(title="Suggest a topic key", profile="agent", role="any", is_read_only=True)
def mem_suggest_topic_key(
    ctx: Context,
    *,
    type: Annotated[str, Text("Type of the memory.", chars_max=KIND_CHARS_MAX)] = "",  # noqa: A002 - as above
    title: Annotated[str, Text("Its title.", chars_max=TITLE_CHARS_MAX)] = "",
    content: Annotated[str, Text("Its text, if there is no title.", chars_max="body")] = "",
) -> Reply:
    """A stable topic_key for a subject that will evolve; pass it to mem_save now and at each later change."""
    del ctx  # the same input gives the same key, whoever asks
    if not title.strip() and not content.strip():
        raise Invalid("title and content are both missing", hint="Give one of them")
    key = topics.suggest(type, title, content)
    return Reply(f"Suggested topic_key: {key}", data={"topic_key": key})


@tool(title="Capture learnings", profile="agent", role="rw")
def mem_capture_passive(
    ctx: Context,
    *,
    content: Annotated[str, Text("Text with a section ## Key Learnings.", chars_max="body")],
    session_id: Session = "",
    project: Project = "",
    source: Annotated[str, Text("Where the text is from.", chars_max=SOURCE_CHARS_MAX)] = "mcp-passive",
) -> Reply:
    """Save every item that a text lists under Key Learnings, each once per project. Give it the final report of a
    sub-agent or of yourself."""
    got = capture.capture(ctx, content, source=source, where=memories.Where(project=project, session=session_id))
    lines = [
        (
            f"Passive capture complete: extracted={got.extracted} saved={got.saved} duplicates={got.duplicates}"
            f" skipped={got.skipped}"
        ),
        *text.redaction_lines(got.redactions),
    ]
    if got.private:
        lines.append(f"Left out: {got.private} items that held nothing but private parts")
    return Reply("\n".join(lines), notes=got.notes, data=data.captured(got))


@tool(title="Save a prompt", profile="agent", role="any")
def mem_save_prompt(
    ctx: Context,
    *,
    content: Annotated[str, Text("What the user asked.", chars_max="body")],
    session_id: Session = "",
    project: Project = "",
) -> Reply:
    """Keep what the user asked, for them alone, so that a later session knows their goals."""
    saved = capture.save_prompt(ctx, content, memories.Where(project=project, session=session_id))
    shown = markers.escape(names.cut_text(names.tidy_title(saved.memory.body), 80))
    lines = [f'Prompt saved: "{shown}" {saved.label}', *_after_save(saved)]
    return Reply("\n".join(lines), notes=saved.notes, data=data.saved(saved))


@tool(title="Correct a memory", profile="agent", role="rw", is_idempotent=True)
def mem_update(
    ctx: Context,
    *,
    id: Annotated[str, Id("Number (12 or #12) or UUID.")],  # noqa: A002 - the contract's name
    title: Annotated[str | None, Text("New title.", chars_max=TITLE_CHARS_MAX, keeps_empty=True)] = None,
    content: Annotated[str | None, Text("New text.", chars_max="body", keeps_empty=True)] = None,
    type: Annotated[str | None, Text("New type.", chars_max=KIND_CHARS_MAX, keeps_empty=True)] = None,  # noqa: A002
    project: Annotated[str | None, Text("New project.", chars_max=PLACE_CHARS_MAX, keeps_empty=True)] = None,
    scope: Annotated[Literal["project", "personal"] | None, Choice("New scope.", ("project", "personal"))] = None,
    topic_key: Annotated[
        str | None,
        Text("New key; empty clears it.", chars_max=TOPIC_KEY_CHARS_MAX, keeps_empty=True, may_be_blank=True),
    ] = None,
    find: Annotated[
        str | None, Text("Text that occurs exactly once, for replace.", chars_max="body", keeps_empty=True)
    ] = None,
    replace: Annotated[
        str | None, Text("What to put in its place.", chars_max="body", keeps_empty=True, may_be_blank=True)
    ] = None,
) -> Reply:
    """Correct a memory whose id you know: give only what changes, or find with replace for one place in the
    text. The earlier text stays in its history. For an evolving topic use mem_save with its topic_key."""
    change = memories.Change(
        title=title,
        body=content,
        kind=type,
        project=project,
        scope=scope,
        topic_key=topic_key,
        find=find,
        replace=replace,
    )
    _check_change(change)
    saved = memories.update(ctx, id, change)
    mark = " [unchanged]" if saved.what == memories.UNCHANGED else ""
    first = f'Memory updated: {saved.label} "{text.title_of(saved.memory)}" ({saved.memory.kind}){mark}'
    lines = [first, *text.redaction_lines(saved.redactions)]
    return Reply("\n".join(lines), notes=saved.notes, data=data.saved(saved))


def _check_change(change: Change) -> None:
    for name, value in (
        ("title", change.title),
        ("content", change.body),
        ("type", change.kind),
        ("project", change.project),
    ):
        if value is not None and names.is_blank(value):
            raise Invalid(f"{name} is blank", hint="Leave it out to keep it as it is")
    if (change.find is None) != (change.replace is None):
        raise Invalid("find and replace belong together", hint="Give both")
    if change.find is not None and (change.body is not None or not change.find):
        raise Invalid("find must hold text and excludes content", hint="Give find with replace, or content")
    given = (change.title, change.body, change.kind, change.project, change.scope, change.topic_key, change.find)
    if all(value is None for value in given):
        raise Invalid(
            "nothing to change was given",
            hint="Give title, content, type, project, scope, topic_key, or find with replace",
        )


@tool(title="Delete a memory", profile="admin", role="rw", is_destructive=True, is_idempotent=True)
def mem_delete(
    ctx: Context,
    *,
    id: Annotated[str, Id("Number (12 or #12) or UUID.")],  # noqa: A002 - the contract's name
    hard_delete: Annotated[bool, Bool("Erase it with its history and every copy, for good.")] = False,
) -> Reply:
    """Take a memory out of search, context and statistics; `engram restore` brings it back. With hard_delete
    nothing is left of it."""
    removed = lifecycle.delete(ctx, id, is_hard=hard_delete)
    what = "permanently deleted" if removed.is_erased else "already deleted" if removed.was_already else "deleted"
    return Reply(f"Memory {removed.label} {what}", data={"label": removed.label, "what": what})


@tool(title="Memory statistics", profile="admin", role="read", is_read_only=True)
def mem_stats(ctx: Context) -> Reply:
    """How much is remembered: sessions, observations by type and by project, prompts, size of the database."""
    stats = browse.stats(ctx)
    lines = [
        "Memory stats",
        f"Sessions: {stats.sessions}",
        f"Observations: {stats.observations} (archived: {stats.archived})",
        f"Prompts: {stats.prompts}",
        f"By type: {_counts(stats.by_kind)}",
        f"By project: {_counts(stats.by_project)}",
        f"Database size: {stats.bytes_used / 1_048_576:.1f} MiB",
    ]
    return Reply("\n".join(lines), data=data.stats(stats))


def _counts(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{markers.escape(name)} {count}" for name, count in counts) or "none"


@tool(title="Timeline of a memory", profile="admin", role="read", is_read_only=True)
def mem_timeline(
    ctx: Context,
    *,
    observation_id: Annotated[str, Id("Number (12 or #12) or UUID.")],
    before: Annotated[int, Int("Most memories before it.", minimum=0, maximum=50, is_capped=True)] = 5,
    after: Annotated[int, Int("Most memories after it.", minimum=0, maximum=50, is_capped=True)] = 5,
) -> Reply:
    """What came just before and after a memory in its session: how it came about and what followed."""
    line = browse.timeline(ctx, observation_id, before=before, after=after)
    focus = line.focus.memory
    cut = names.cut_text(focus.body, text.FOCUS_CHARS_MAX)
    more = f"... ({len(focus.body)} characters in all)" if len(cut) < len(focus.body) else ""
    body = [
        *([f"Session: {markers.escape(line.session.name)}"] if line.session else [f"Project: {line.focus.project}"]),
        *(["Before:"] if line.before else []),
        *(text.list_line(item) for item in line.before),
        f">>> {line.focus.label} [{text.kind_of(focus)}] {text.title_of(focus)}",
        f"{markers.escape(cut)}{more}",
        *(["After:"] if line.after else []),
        *(text.list_line(item) for item in line.after),
    ]
    shown = len(line.before) + 1 + len(line.after)
    whose = "session" if line.session else "project"
    totals = f"Shown: {shown} | In the {whose}: {line.total}"
    lines = [f"Timeline around {line.focus.label}", text.fenced(body), totals]
    return Reply("\n".join(lines), data=data.timeline(line))
