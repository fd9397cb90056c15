"""Passive capture: the learnings that an agent listed under a heading of its own accord."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from engram.rules.headings import BOLD_LEVEL, Line, lines_of
from engram.rules.names import cut_at_word, tidy_title

ITEM_CHARS_MIN = 20
ITEM_CHARS_MIN_CJK = 8
PASSIVE_TITLE_CHARS_MAX = 60

_NAMES = frozenset({"key learnings", "learnings", "lessons learned", "aprendizajes", "aprendizajes clave"})
_LEVELS = frozenset({2, 3, 4, BOLD_LEVEL})
_ITEM = re.compile(r"([ \t]*)((?:[-*+•]|[0-9]{1,9}[.)])(?:[ \t]+|\Z))(.*)", re.DOTALL)
_CJK_NAMES = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "HALFWIDTH")


@dataclass(slots=True)
class _Reader:
    """Where the reading of a text stands: the open section, its items, and the lines of the open one."""

    items: list[str]
    skipped: int = 0
    level: int = 0  # of the open section's heading; 0: none is open
    lines: list[str] | None = None  # of the open item; None: none is open
    marker_indent: int = 0
    text_indent: int = 0
    is_after_blank: bool = False

    def close_item(self) -> None:
        if self.lines is None:
            return
        text = "\n".join(self.lines).strip()
        if is_long_enough(text):
            self.items.append(text)
        else:
            self.skipped += 1
        self.lines = None


def extract(text: str) -> tuple[list[str], int]:
    """The items of every learnings section, in order, and how many were too short to keep.

    A section begins at a heading of level 2 to 4 or a bold line that is called Key Learnings, Learnings,
    Lessons Learned, Aprendizajes or Aprendizajes Clave, and ends before the next heading of its level or above
    or the next bold line. An item keeps its continuation lines, nested lists and fences included, without their
    common indent.
    """
    reader = _Reader(items=[])
    for line in lines_of(text):
        if line.level:
            _read_heading(reader, line)
        elif reader.level:
            _read_line(reader, line)
    reader.close_item()
    return reader.items, reader.skipped


def _read_heading(reader: _Reader, line: Line) -> None:
    reader.close_item()
    is_end = line.level == BOLD_LEVEL or line.level <= reader.level
    if is_end:
        reader.level = 0
    if not reader.level and line.level in _LEVELS and line.name in _NAMES:
        reader.level = line.level


def _read_line(reader: _Reader, line: Line) -> None:
    bare = line.text.strip()
    indent = _indent_of(line.text)
    if not bare:
        reader.is_after_blank = True
        if reader.lines is not None:
            reader.lines.append("")
        return
    if line.is_fenced:
        _read_fenced(reader, line.text, indent)
    elif _is_rule(bare):
        reader.close_item()
    else:
        _read_text(reader, line.text, bare, indent)
    reader.is_after_blank = False


def _read_fenced(reader: _Reader, text: str, indent: int) -> None:
    if reader.lines is not None:
        reader.lines.append(_without_indent(text, min(indent, reader.text_indent)))


def _read_text(reader: _Reader, text: str, bare: str, indent: int) -> None:
    is_open = reader.lines is not None
    found = _ITEM.fullmatch(text)
    if found and not (is_open and indent >= reader.marker_indent + 2):
        reader.close_item()
        reader.lines = [found[3]]
        reader.marker_indent, reader.text_indent = indent, indent + len(found[2].expandtabs(4))
    elif reader.lines is not None and (not reader.is_after_blank or indent >= reader.marker_indent + 2):
        reader.lines.append(_without_indent(text, min(indent, reader.text_indent)) if found else bare)
    else:
        reader.close_item()


def _indent_of(text: str) -> int:
    """Columns before the first character; a tab goes to the next fourth."""
    expanded = text[: len(text) - len(text.lstrip())].expandtabs(4)
    return len(expanded)


def _without_indent(text: str, columns: int) -> str:
    bare = text.lstrip()
    return " " * (_indent_of(text) - columns) + bare.rstrip()


def _is_rule(bare: str) -> bool:
    """A thematic break: three or more of one mark, and nothing else."""
    marks = "".join(bare.split())
    return len(marks) >= 3 and marks[0] in "-*_" and marks == marks[0] * len(marks)


def is_long_enough(item: str) -> bool:
    """Whether an item says something: 20 characters, 8 where most of them are CJK; shorter ones are labels."""
    tidy = tidy_title(item)
    if len(tidy) >= ITEM_CHARS_MIN:
        return True
    visible = [char for char in tidy if char != " "]
    cjk = sum(unicodedata.name(char, "").startswith(_CJK_NAMES) for char in visible if char.isalpha())
    return len(tidy) >= ITEM_CHARS_MIN_CJK and cjk * 2 > len(visible)


def passive_title(item: str) -> str:
    """The title of a captured item: its first 60 characters, cut at a word, on one line."""
    return cut_at_word(tidy_title(item), PASSIVE_TITLE_CHARS_MAX)
