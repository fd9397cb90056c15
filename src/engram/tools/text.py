"""Answers as text for a model: exact first lines, stored text between markers, within a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.rules import markers, times
from engram.tools.later import Later

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.engine import index
    from engram.engine.browse import Recent, SessionShown, Shown, Whole
    from engram.engine.search import Hit
    from engram.model import Memory, Redactions
else:
    index = Later("engram.engine.index")

LINE_TOKENS_MAX = 80
FOCUS_CHARS_MAX = 500
HISTORY_CHARS_MAX = 20_000
CHARS_A_TOKEN_MAX = 4  # no text counts less than a quarter of its UTF-8 bytes
LAST_LINE_SHARE = 8  # of a limited answer each of its last lines takes at most this part of the tokens


def kind_of(memory: Memory) -> str:
    """How a memory's kind is shown; a neural one with its memory type."""
    return f"memory/{memory.memory_type}" if memory.kind == "memory" else memory.kind


def title_of(memory: Memory) -> str:
    """A title that can't be read as a marker."""
    return markers.escape(memory.title)


def redaction_lines(redactions: Redactions) -> list[str]:
    """What redaction took, where it took something."""
    lines: list[str] = []
    if redactions:
        lines.append(f"Redacted: {redactions.private} private, {redactions.secrets} secrets")
    if redactions.unclosed_characters:
        lines.append(f"unclosed <private>: {redactions.unclosed_characters} characters")
    return lines


def one_line(text: str, tokens_max: int = LINE_TOKENS_MAX) -> str:
    """The beginning of a text on one line, cut at a word, marked where cut."""
    chars_max = tokens_max * CHARS_A_TOKEN_MAX
    line = " ".join(text.split(None, chars_max))[: chars_max + 1]  # a body may have a million characters
    count = index.tokens().count
    if len(line) <= chars_max and count(line) <= tokens_max:
        return line
    low, high = 0, min(len(line), chars_max)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(line[:middle]) <= tokens_max else (low, middle - 1)
    cut = line.rfind(" ", max(0, low - 40), low)
    return f"{line[: cut if cut > 0 else low]}..."


def fenced(lines: Iterable[str]) -> str:
    """Stored text between the markers that label it as data."""
    return markers.fence("\n".join(lines))


def hit_lines(number: int, hit: Hit, *, is_elsewhere: bool = False) -> list[str]:
    """One search hit: what it is, the words around the match, where it is from; twice said where that is elsewhere."""
    memory = hit.memory
    project = f"{hit.library}/{hit.project}" if hit.library else hit.project
    facts = [times.show_date(memory.updated_at), project, memory.scope, f"{hit.score:.2f}"]
    if memory.revision > 1:
        facts.append(f"revision {memory.revision}")
    if memory.is_archived and not any(mark.startswith("superseded") for mark in hit.marks):
        facts.append("superseded")
    facts += hit.marks
    place = f" [project {hit.project}, library {hit.library_name}]" if is_elsewhere else ""
    return [
        f"[{number}] {hit.label} ({kind_of(memory)}) - {title_of(memory)}{markers.escape(place)}",
        f"    {markers.escape(hit.preview)}",
        f"    {markers.escape(' | '.join(facts))}",
    ]


def list_line(shown: Shown, tokens_max: int = LINE_TOKENS_MAX) -> str:
    """One memory in a list: id, date, type, title and the beginning of its text."""
    memory = shown.memory
    head = f"- {shown.label} {times.show_date(memory.created_at)} [{kind_of(memory)}] {title_of(memory)}"
    head += "".join(f" [{markers.escape(mark)}]" for mark in shown.marks)
    body = one_line(memory.body, tokens_max)
    if body.rstrip(".") == memory.title.rstrip("."):
        return head
    return f"{head}: {markers.escape(body)}"


def prompt_line(shown: Shown) -> str:
    """One prompt in a list: it has no title but its own words."""
    memory = shown.memory
    date = times.show_date(memory.created_at)
    return f"- {shown.label} {date} [{memory.kind}] {markers.escape(one_line(memory.body))}"


def session_line(shown: SessionShown) -> str:
    """One session in a list."""
    state = f"ended {times.show_date(shown.ended_at)}" if shown.ended_at is not None else "open"
    line = (
        f"- {markers.escape(shown.session.name)} ({shown.project}), started"
        f" {times.show_date(shown.session.started_at)}, {state}, {shown.count} memories"
    )
    return f"{line}: {markers.escape(one_line(shown.summary))}" if shown.summary else line


class Budget:
    """Lines up to a number of tokens; what does not fit is counted, not shown."""

    def __init__(self, tokens_max: int) -> None:
        self._left = tokens_max
        self.lines: list[str] = []
        self.left_out = 0

    def add(self, lines: Sequence[str], *, heading: str = "") -> None:
        """Add lines under a heading; the heading is left out if none fits."""
        taken: list[str] = []
        for line in lines:
            cost = index.tokens().count(line) + 1
            if not taken and heading:
                cost += index.tokens().count(heading) + 1
            if cost > self._left:
                self.left_out += 1
                continue
            self._left -= cost
            taken.append(line)
        if taken:
            self.lines += [heading, *taken] if heading else taken


def last_lines(lines: Sequence[str], tokens_max: int) -> list[str]:
    """The last lines of an answer of so many tokens, cut and marked where they would take too much of it."""
    return [one_line(line, tokens_max // LAST_LINE_SHARE) for line in lines]


def context_text(recent: Recent, tokens_max: int, last: Sequence[str]) -> str:
    """Recent sessions, prompts and memories within a token budget, the answer's last lines included."""
    if recent.is_empty:
        return "\n".join(["No previous session memories found.", *last_lines(last, tokens_max)])
    first = f"Memory context for {markers.escape(recent.name)}"
    after = last_lines(last, tokens_max)
    reserve = index.tokens().count(" ".join([first, markers.START, markers.END, *after])) + 60
    budget = Budget(max(tokens_max - reserve, 0))
    budget.add([list_line(item) for item in recent.pinned], heading="Pinned:")
    budget.add([session_line(item) for item in recent.sessions], heading="Recent sessions:")
    budget.add([prompt_line(item) for item in recent.prompts], heading="Recent prompts:")
    budget.add([list_line(item) for item in recent.memories], heading="Memories:")
    for name, items in recent.elsewhere:
        budget.add([list_line(item) for item in items], heading=f"Project {name}:")
    lines = [first, fenced(budget.lines)]
    if budget.left_out:
        lines.append(
            f"Cut at {tokens_max} tokens: {budget.left_out} entries are left out. "
            "Call mem_search with a question, or mem_context with a larger max_tokens."
        )
    return "\n".join([*lines, *after])


def whole_text(whole: Whole, *, offset: int, characters_max: int | None) -> str:
    """One memory with all that is known of it, and its text or the part of it that was asked for."""
    memory = whole.shown.memory
    start = min(offset, len(memory.body))
    end = len(memory.body) if characters_max is None else min(len(memory.body), start + characters_max)
    facts = [
        f"Project: {whole.shown.project} | Scope: {memory.scope}",
        *([f"Topic: {markers.escape(memory.topic_key)}"] if memory.topic_key else []),
        *([f"Session: {markers.escape(whole.session)}"] if whole.session else []),
        f"Created: {times.format_time(memory.created_at)} | Updated: {times.format_time(memory.updated_at)}",
        f"Duplicates: {whole.duplicates} | Revisions: {memory.revision}",
        *([f"Source: {markers.escape(memory.source)}"] if memory.source else []),
        *([f"Archived: {memory.archived_why}"] if memory.is_archived else []),
        *([f"Tags: {markers.escape(', '.join(whole.tags))}"] if whole.tags else []),
        *([f"Links: {markers.escape('; '.join(whole.marks))}"] if whole.marks else []),
        f"Total characters: {len(memory.body)}",
    ]
    if offset or end < len(memory.body):
        facts.append(f"Shown: characters {start} to {end}")
    lines = [f"{whole.shown.label} [{kind_of(memory)}] {title_of(memory)}", *facts]
    lines.append(fenced([markers.escape(memory.body[start:end]), *_history_lines(whole)]))
    return "\n".join(lines)


def _history_lines(whole: Whole) -> list[str]:
    if not whole.versions:
        return []
    lines = [f"History: {whole.versions_total} versions, newest first"]
    left = HISTORY_CHARS_MAX
    for version in whole.versions:
        lines.append(f"- {version.commit_sha[:12]} {times.format_time(version.at)} {markers.escape(version.message)}")
        if version.body is None:
            lines.append("  (erased)")
        elif len(version.body) <= left:
            left -= len(version.body)
            lines.append(markers.escape(version.body))
        else:
            lines.append(
                f"  (read it with `engram get {whole.shown.memory.number} --version {version.commit_sha[:12]}`)"
            )
    return lines


def closest_line(closest: Sequence[str]) -> str:
    """The nearest names of an unknown project."""
    return f"Closest projects: {', '.join(markers.escape(name) for name in closest)}" if closest else ""
