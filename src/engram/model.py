"""The nouns, each a frozen dataclass with one valid state, and their limits.

Times are integer milliseconds UTC. Ids are text: UUIDs (version 7 for memories) in lower case.
Standard library only; everything above imports this, this imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

BODY_CHARS_MAX = 1_000_000
QUERY_CHARS_MAX = 10_000
DIRECTORY_CHARS_MAX = 4_096
SUMMARY_CHARS_MAX = 2_000
CHUNK_CHARS_MAX = 2_000
CHUNK_TOKENS_MAX = 512
TITLE_CHARS_MAX = 500
EMAIL_CHARS_MAX = 254
SESSION_CHARS_MAX = 200
TOPIC_KEY_CHARS_MAX = 200
CONCEPT_CHARS_MAX = 200
NAME_CHARS_MAX = 128
SOURCE_CHARS_MAX = 100
KIND_CHARS_MAX = 40
PATTERN_CHARS_MAX = 1_000
REASON_CHARS_MAX = 2_000
INSIGHT_CHARS_MAX = 10_000
TAG_CHARS_MAX = 100
TAGS_MAX = 50  # of a memory
IDS_MAX = 1_000  # in one call
FILTER_ENTRIES_MAX = 50
SHOWN_VALUE_CHARS_MAX = 80

DAY_MS = 86_400_000
DUPLICATE_WINDOW_MS = 15 * 60 * 1000
SESSION_IDLE_MS = 24 * 60 * 60 * 1000

SCOPE_PROJECT = "project"
SCOPE_PERSONAL = "personal"
KIND_PROMPT = "prompt"
KIND_MEMORY = "memory"
KIND_REFLECTION = "reflection"
KIND_CONSOLIDATED = "consolidated"
KIND_SUMMARY = "session_summary"
KIND_PASSIVE = "passive"
PERSONAL_LIBRARY = "Personal"
DEFAULT_NAMESPACE = "default"  # of neural memories that name none

REFLECTION_TYPES = ("pattern", "knowledge_gap", "trend", "contradiction_summary")
MEMORY_TYPES = ("episodic", "semantic", "procedural")
TAG_PINNED = "pinned"
TAG_PROTECTED = "protected"

SUPERSEDES = "supersedes"
CONTRADICTS = "contradicts"
DERIVED_FROM = "derived_from"
AUTO_SIMILAR = "auto_similar"
OWN_RELATIONS = frozenset({SUPERSEDES, CONTRADICTS, DERIVED_FROM, AUTO_SIMILAR})
BY_CONTRADICTIONS = "system:contradictions"
BY_AUTO_LINK = "system:auto_link"
BY_CONSOLIDATION = "system:consolidation"

SEMANTIC_KINDS = frozenset({"decision", "architecture", "config", "learning", "preference", "document"})
PROCEDURAL_KINDS = frozenset({"pattern"})
# Archived for one of these reasons, a memory is in no list and `not_found` by id; superseded is shown.
SUPERSEDED = "superseded"
HIDDEN_REASONS = frozenset({"forgotten", "deleted", "decayed", "consolidated"})


class Role(IntEnum):
    """What an actor may do in a library; a higher role includes the lower ones."""

    NONE = 0
    READ = 1
    WRITE = 2
    OWNER = 3


def memory_type_of(kind: str) -> str:
    """The memory type that a kind has when none was given: semantic, procedural or episodic."""
    if kind in SEMANTIC_KINDS:
        return "semantic"
    return "procedural" if kind in PROCEDURAL_KINDS else "episodic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person, by whatever token they came."""

    id: str
    name: str
    created_at: int
    email: str = ""
    email_folded: str = ""
    is_operator: bool = False
    disabled_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a caller shows instead of a password; only a keyed hash of it is stored."""

    id: str
    actor_id: str
    name: str
    scope: str  # user: every role of the person; group: one library; admin: the person's own libraries
    library_id: str | None
    role: int
    hash: bytes
    made_by: str | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Who may see it: the unit of access, numbering, statistics and audit."""

    id: str
    name: str
    folded: str  # for comparing
    owner_id: str
    made_by: str
    created_at: int
    description: str = ""
    audit: str = "on"  # off, on, forced_on
    archived_at: int | None = None
    erase_at: int | None = None
    seq: int = 0  # last event
    number: int = 0  # last memory number
    leaves: int = 0  # leaves of the audit log
    live: int = 0  # memories not archived
    acc: int = 0  # sum modulo 2^48 of the live memories' seals
    seal: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A named part of a library: a project, a collection."""

    id: str
    library_id: str
    name: str  # as first written
    folded: str  # for comparing
    created_at: int
    merged_into: str | None = None  # the namespace that its name stands for
    takes_from: str | None = None  # while memories move between the two: reads cover both


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMerge:
    """One library's part of a merge of two projects: what it moved can be moved back."""

    library_id: str
    id: str  # the same in the other library that the merge touched
    from_id: str
    into_id: str
    actor_id: str
    at: int
    state: str  # merging, merged, unmerging


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller wants remembered, before it has an id. Text is already redacted."""

    title: str  # 1..TITLE_CHARS_MAX characters, one line
    body: str  # 1..BODY_CHARS_MAX characters, as sent
    kind: str = "manual"
    memory_type: str = ""  # empty: by kind
    concept: str = ""
    topic_key: str = ""  # normalised; same place and key: a revision, not a new memory
    scope: str = SCOPE_PROJECT
    format: str = "markdown"
    source: str = ""
    importance: float | None = None  # 0..1; None: by memory type
    confidence: float = 1.0
    trigger_pattern: str = ""
    action_pattern: str = ""
    decays: bool = False
    event_at: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The one noun: observation, document, prompt, summary, reflection, by its kind."""

    id: str
    number: int  # counted per library
    library_id: str
    namespace_id: str
    session_id: str | None
    kind: str
    memory_type: str
    type_given: bool
    title: str
    body: str
    format: str
    concept: str
    topic_key: str | None
    scope: str
    importance: float
    confidence: float
    source: str
    author_id: str
    trigger_pattern: str
    action_pattern: str
    content_hash: str  # sha256 of the body, hex
    same_hash: str  # sha256 of the body, white space collapsed and folded, hex
    salt: bytes
    revision: int  # from 1
    decays: bool
    event_at: int | None
    valid_from: int | None
    valid_to: int | None
    created_at: int
    updated_at: int
    archived_at: int | None = None
    archived_why: str | None = None
    erase_at: int | None = None
    head_sha: str | None = None  # commit id of the newest version, once there is a history
    seal: bytes = b""

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    @property
    def is_hidden(self) -> bool:
        """Whether it reads as not found: archived for any reason but a successor."""
        return self.archived_why in HIDDEN_REASONS

    @property
    def happened_at(self) -> int:
        """When it happened, else when it was saved."""
        return self.created_at if self.event_at is None else self.event_at

    def holds_at(self, at: int) -> bool:
        """Whether what it says was valid then: half-open, from valid_from (else when it happened) to valid_to."""
        begin = self.happened_at if self.valid_from is None else self.valid_from
        return begin <= at and (self.valid_to is None or at < self.valid_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One state of a memory's text, with the commit id that Git computes for it."""

    library_id: str
    memory_id: str
    n: int  # from 1; the order, whatever the clock did
    commit_sha: str
    parent_sha: str | None
    author_id: str
    message: str
    at: int
    title: str
    body: str | None  # None: the text of this version was erased
    kind: str
    salt: bytes
    seal: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One memory's relation to another: what a person linked, a successor, evidence, a contradiction, a likeness."""

    library_id: str
    from_id: str
    to_id: str
    to_library_id: str
    relation: str
    weight: float  # over 0, at most 1
    created_by: str  # an actor's id, or system:...
    created_at: int
    note: str = ""  # JSON of what made it
    settled_at: int | None = None  # a contradiction that somebody decided
    seal: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A stretch of work of one actor in one library, named by the client."""

    id: str
    library_id: str
    namespace_id: str
    actor_id: str
    name: str
    directory: str
    token_id: str
    started_at: int
    active_at: int
    ended_at: int | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One writing verb in one library: the row that audit, webhooks and caches read."""

    library_id: str
    seq: int
    leaf_index: int | None
    at: int
    actor_id: str
    token_id: str
    verb: str
    target: str
    detail: str  # compact JSON; ids, counts and salted hashes, never text
    leaf_hash: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactions:
    """What redaction took out of one call's texts."""

    private: int = 0
    secrets: int = 0
    kinds: tuple[str, ...] = ()
    unclosed_characters: int = 0

    def __bool__(self) -> bool:
        return bool(self.private or self.secrets)

    def plus(self, other: Redactions) -> Redactions:
        """Both together, the kinds each once in order."""
        return Redactions(
            private=self.private + other.private,
            secrets=self.secrets + other.secrets,
            kinds=tuple(dict.fromkeys(self.kinds + other.kinds)),
            unclosed_characters=self.unclosed_characters + other.unclosed_characters,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A chunk of a body: characters start..end (end excluded)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerm:
    """One word of a query: found where any of its variants stands in the index."""

    text: str  # folded surface form
    variants: tuple[str, ...]  # index terms, the surface form first
    is_prefix: bool = False  # matches every index term that begins with the text
    is_identifier: bool = False  # code identifier, path, version, number
    is_compound: bool = False  # its parts follow as terms of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that a search found, with the score that ordered it (0..1)."""

    memory: Memory
    score: float
    keyword: float
    similarity: float | None  # None: no vector was compared
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found and what it could not do."""

    hits: tuple[Hit, ...]
    pending: int = 0  # memories' chunks without a vector yet, in scope
    words_only: bool = False  # the model did not come, or cannot read the query
    notes: tuple[str, ...] = field(default=())
