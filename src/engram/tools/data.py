"""The answers of text tools as values, for who reads them with a program: the command line's ``--json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.rules import times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.engine.browse import Recent, Shown, Stats, Timeline, Whole
    from engram.engine.capture import Captured
    from engram.engine.memories import Saved
    from engram.engine.search import Found
    from engram.model import Memory, Redactions

Data = dict[str, Any]


def memory(found: Memory, label: str, project: str, *, has_text: bool = True) -> Data:
    """A memory's fields."""
    return {
        "id": found.id,
        "number": found.number,
        "label": label,
        "type": found.kind,
        "title": found.title,
        "project": project,
        "scope": found.scope,
        "topic_key": found.topic_key,
        "revision": found.revision,
        "created_at": times.format_time(found.created_at),
        "updated_at": times.format_time(found.updated_at),
        "archived_why": found.archived_why,
        **({"text": found.body} if has_text else {}),
    }


def saved(done: Saved) -> Data:
    """What became of a save."""
    return {
        **memory(done.memory, done.label, done.project, has_text=False),
        "what": done.what,
        "times": done.times,
        "session": done.session,
        "redactions": redactions(done.redactions),
    }


def redactions(found: Redactions) -> Data:
    """What redaction took out."""
    return {"private": found.private, "secrets": found.secrets, "kinds": list(found.kinds)}


def hits(found: Found) -> Data:
    """What a search found."""
    return {
        "hits": [
            {
                **memory(hit.memory, hit.label, hit.project, has_text=False),
                "library": hit.library_name,
                "score": round(hit.score, 4),
                "preview": hit.preview,
            }
            for hit in found.hits
        ],
        "searched": found.name,
        "is_elsewhere": found.is_elsewhere,
        "pending": found.pending,
        "closest": list(found.closest),
    }


def recent(found: Recent) -> Data:
    """What happened lately."""
    return {
        "project": found.name,
        "sessions": [
            {
                "id": each.session.name,
                "project": each.project,
                "started_at": times.format_time(each.session.started_at),
                "ended_at": None if each.ended_at is None else times.format_time(each.ended_at),
                "memories": each.count,
                "summary": each.summary,
            }
            for each in found.sessions
        ],
        "prompts": _all(found.prompts),
        "memories": _all(found.memories),
        "elsewhere": [{"project": name, "memories": _all(memories)} for name, memories in found.elsewhere],
    }


def whole(found: Whole) -> Data:
    """One memory with where it comes from."""
    return {
        **memory(found.shown.memory, found.shown.label, found.shown.project),
        "session": found.session,
        "duplicates": found.duplicates,
        "versions": [
            {"commit_sha": each.commit_sha, "at": times.format_time(each.at), "title": each.title, "text": each.body}
            for each in found.versions
        ],
        "versions_total": found.versions_total,
    }


def timeline(found: Timeline) -> Data:
    """A memory's neighbourhood."""
    return {
        "session": found.session.name if found.session else None,
        "before": _all(found.before),
        "focus": memory(found.focus.memory, found.focus.label, found.focus.project),
        "after": _all(found.after),
        "total": found.total,
    }


def stats(found: Stats) -> Data:
    """How much is remembered."""
    return {
        "sessions": found.sessions,
        "observations": found.observations,
        "archived": found.archived,
        "prompts": found.prompts,
        "by_type": dict(found.by_kind),
        "by_project": dict(found.by_project),
        "bytes": found.bytes_used,
    }


def captured(got: Captured) -> Data:
    """What became of a text with learnings."""
    return {
        "extracted": got.extracted,
        "saved": got.saved,
        "duplicates": got.duplicates,
        "skipped": got.skipped,
        "private": got.private,
        "project": got.project,
        "redactions": redactions(got.redactions),
    }


def _all(found: Sequence[Shown]) -> list[Data]:
    return [memory(each.memory, each.label, each.project) for each in found]
