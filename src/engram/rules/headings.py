"""Headings of Markdown as agents write them: `#` lines and bold lines, outside of fences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BOLD_LEVEL = 7  # below every `#` heading

# What a session summary should tell, by the heading that is named where it lacks.
_SUMMARY_HEADINGS = {
    "Goal": {"goal", "goals", "objetivo", "objetivos", "meta", "metas"},
    "Discoveries": {"discoveries", "discovery", "descubrimientos", "hallazgos"},
    "Accomplished": {"accomplished", "accomplishments", "logros", "logrado", "completado", "realizado"},
    "Relevant Files": {
        "relevant files",
        "files",
        "archivos relevantes",
        "archivos",
        "ficheros relevantes",
        "ficheros",
    },
}
_ATX = re.compile(r"(#{1,6})(?:[ \t](.*))?", re.DOTALL)
_FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text and what it is there."""

    text: str  # without its line end
    level: int = 0  # 1..6 a heading, BOLD_LEVEL a bold line, 0 neither
    name: str = ""  # of a heading: without marks, folded
    is_fenced: bool = False  # a fence's own lines too


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a text in order. A fence that is never closed goes on to the end."""
    fence = ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        bare = line.strip()
        found = _FENCE.match(bare)
        if fence:
            yield Line(line, is_fenced=True)
            if found and found[0].startswith(fence) and bare == found[0]:
                fence = ""
        elif found:
            fence = found[0]
            yield Line(line, is_fenced=True)
        else:
            level, name = _heading_of(line, bare)
            yield Line(line, level, fold_heading(name) if level else "")


def _heading_of(line: str, bare: str) -> tuple[int, str]:
    if len(line) - len(line.lstrip(" ")) > 3 or line.startswith("\t"):
        return 0, ""  # indented: a part of what stands above
    found = _ATX.fullmatch(bare)
    if found:
        return len(found[1]), found[2] or ""
    is_bold, name = _bold_of(bare)
    return (BOLD_LEVEL, name) if is_bold else (0, "")


def _bold_of(bare: str) -> tuple[bool, str]:
    """Whether a whole line is bold, a colon after it aside."""
    if not bare.startswith(("**", "__")):
        return False, ""
    mark, inner = bare[:2], bare.removesuffix(":").rstrip()
    name = inner[2:-2]
    is_bold = len(inner) > 4 and inner.endswith(mark) and mark not in name
    return (is_bold and _LETTER.search(name) is not None), name


def fold_heading(name: str) -> str:
    """A heading for comparing: folded, single spaces, without numbers, marks, symbols and colon around it."""
    letters = [found.start() for found in (_LETTER.search(name), _LETTER.search(name[::-1])) if found]
    if len(letters) < 2:
        return ""
    return " ".join(name[letters[0] : len(name) - letters[1]].casefold().split())


def missing_headings(content: str) -> list[str]:
    """Which of Goal, Discoveries, Accomplished and Relevant Files a session summary lacks, in that order.

    A heading counts on any level or as a bold line, in any case, in English or Spanish, and with words after
    a colon (``## Goal: ship it``).
    """
    names: set[str] = set()
    for line in lines_of(content):
        if line.level:
            names |= {line.name, line.name.partition(":")[0].strip()}
    return [heading for heading, spellings in _SUMMARY_HEADINGS.items() if not names & spellings]
