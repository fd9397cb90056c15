"""Ids: UUIDs (version 7), references as callers write them, content hashes, and the ids that Git computes."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram.errors import Invalid
from engram.rules.names import fold_text, is_library_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.model import Actor

NUMBER_MAX = 2**63 - 1
SUFFIXES = {"markdown": ".md", "text": ".txt", "html": ".html", "json": ".json"}

_RANDOM_BITS = 74
_MS_MAX = 2**48 - 1
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBER = re.compile(r"#?([0-9]{1,19})(?:@(.*))?", re.DOTALL)
# What Git takes off both ends of a name or an address (`crud` in its ident.c).
_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
_NO_IDENT_CHARACTERS = str.maketrans("", "", "\0\n<>")


class Uuid7:
    """Makes UUIDs of version 7, each greater than the one before it, whatever the clock does.

    The time and the 74 random bits are one number. Where the clock stood still or went back, the next
    number is the last one and a random step of at most 2^32, so that ids of one millisecond cannot be guessed.

    Source: RFC 9562, 6.2, method 2.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = -1

    def __call__(self, now_ms: int, *, random_bytes: Callable[[int], bytes] = os.urandom) -> str:
        """The next id, in lower case.

        Args:
            now_ms: Milliseconds UTC, 0..2^48-1.
            random_bytes: Where randomness comes from: a count in, that many bytes out.

        Raises:
            ValueError: the time does not fit in 48 bits.
        """
        if not 0 <= now_ms <= _MS_MAX:
            raise ValueError(f"now_ms must be in 0..{_MS_MAX}, got {now_ms}")
        noise = int.from_bytes(random_bytes(10), "big") >> (80 - _RANDOM_BITS)
        fresh = now_ms << _RANDOM_BITS | noise
        with self._lock:
            is_later = now_ms > self._last >> _RANDOM_BITS
            self._last = fresh if is_later else self._last + 1 + (noise & 0xFFFFFFFF)
            value = self._last
        high, low = value >> 62, value & (2**62 - 1)
        high = (high >> 12) << 16 | 0x7000 | (high & 0xFFF)
        return str(uuid.UUID(int=high << 64 | 0b10 << 62 | low))


uuid7 = Uuid7()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A memory as a caller names it: by UUID, or by number in a library (None: the bound one)."""

    uuid: str | None = None
    number: int | None = None
    library: str | None = None


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID with its hyphens, in any case."""
    return _UUID.fullmatch(text) is not None


def parse_ref(text: str) -> Ref:
    """Read ``12``, ``#12``, ``#12@<library>`` or a UUID (any case, braces allowed).

    Raises:
        Invalid: it is none of them.
    """
    text = text.strip()
    bare = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    if is_uuid(bare):
        return Ref(uuid=bare.lower())
    found = _NUMBER.fullmatch(text)
    if found:
        number, library = int(found[1]), found[2] and found[2].strip()
        if 1 <= number <= NUMBER_MAX and (library is None or is_library_name(library)):
            return Ref(number=number, library=library)
    raise Invalid("an id is a UUID, or a number such as 12, #12 or #12@<library>")


def content_hash(body: str) -> str:
    """SHA-256 of the body as it is stored, hex."""
    return hashlib.sha256(body.encode()).hexdigest()


def same_hash(body: str) -> str:
    """SHA-256 of the body with white space collapsed and case folded, hex: equal for what reads the same."""
    return content_hash(" ".join(fold_text(body).split()))


def _git_object_id(kind: str, data: bytes) -> str:
    # Git names its objects by SHA-1; nothing here relies on it being hard to collide.
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def blob_id(data: bytes) -> str:
    """The id that Git gives a file's content, 40 hex digits."""
    return _git_object_id("blob", data)


def tree_id(files: Sequence[tuple[str, str]]) -> str:
    """The id of a tree of plain files, each (name, blob id), in any order."""
    rows = sorted((name.encode(), bytes.fromhex(blob)) for name, blob in files)
    return _git_object_id("tree", b"".join(b"100644 %s\0%s" % row for row in rows))


def commit_id(*, tree: str, parent: str | None, author: str, email: str, at_ms: int, message: str) -> str:
    """The id of a commit whose author is its committer, at +0000.

    Args:
        tree: A tree's id.
        parent: A commit's id; None for a first one.
        author: A name; made to fit as Git does, the address where nothing is left.
        email: An address, made to fit in the same way.
        at_ms: Milliseconds UTC; whole seconds count, nothing before 1970.
        message: Taken as it is.
    """
    address = _ident(email)
    who = f"{_ident(author) or address} <{address}> {max(at_ms, 0) // 1000} +0000"
    lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {who}", f"committer {who}"]
    return _git_object_id("commit", ("\n".join(lines) + f"\n\n{message}").encode())


def _ident(text: str) -> str:
    return text.strip(_CRUD).translate(_NO_IDENT_CHARACTERS)


def file_name(memory_id: str, body_format: str) -> str:
    """The name of a memory's file in its commits.

    Raises:
        Invalid: the format is none of markdown, text, html, json.
    """
    if body_format not in SUFFIXES:
        raise Invalid(f"format must be one of {', '.join(SUFFIXES)}")
    return memory_id + SUFFIXES[body_format]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A version's commit id, and the time that it was computed with: keep both."""

    sha: str
    at_ms: int


def author_address(actor: Actor) -> str:
    """The address under which a person's commits stand: the e-mail, else ``<id>@engram``."""
    return actor.email or f"{actor.id}@engram"


def version_commit(
    memory_id: str, *, body_format: str, body: str, author: Actor, at_ms: int, message: str, parent: Commit | None
) -> Commit:
    """The commit of one version of a memory: a tree of one file, on top of its parent.

    Args:
        memory_id: A UUID.
        body_format: markdown, text, html or json.
        body: The text as it is stored.
        author: Who wrote it.
        at_ms: When, milliseconds UTC; a time before the parent's becomes the parent's.
        message: One line, without its line end.
        parent: The version before; None for the first.

    Source: contracts/team.md, Objects; `git commit-tree -m` gives the same id.
    """
    at_ms = max(at_ms, parent.at_ms) if parent else at_ms
    sha = commit_id(
        tree=tree_id([(file_name(memory_id, body_format), blob_id(body.encode()))]),
        parent=parent.sha if parent else None,
        author=author.name,
        email=author_address(author),
        at_ms=at_ms,
        message=message + "\n",
    )
    return Commit(sha=sha, at_ms=at_ms)
