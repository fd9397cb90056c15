"""Names, titles and keys: what a text may be called, and where it may be cut.

All of it is linear in its input, for a title may arrive as a million hostile characters.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from typing import TYPE_CHECKING

from engram.errors import Invalid
from engram.model import KIND_CHARS_MAX, NAME_CHARS_MAX, TOPIC_KEY_CHARS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PROJECT = "default"
TITLE_FROM_BODY_CHARS_MAX = 80

_MARK_RUN_MAX = 30  # the stream-safe format of UAX 15
_GRAPHEME_JOINER = "\u034f"  # invisible, and no mark is sorted across it
_BAD = re.compile("[\0\ud800-\udfff]")
# Default ignorable code points whose category does not give them away: fillers and variation selectors.
_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_ZERO_WIDTH_JOINER = "\u200d"
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[」』”）]*")
_MARKDOWN_LEAD = re.compile(r"[ \t]*(?:#{1,6}|>|[-*+•]|[0-9]{1,9}[.)])[ \t]+")
_FENCE_OR_RULE = re.compile(r"(?:`{3,}|~{3,})[^`]*|[-=*_ \t]{3,}")


def nfkc(text: str) -> str:
    """The text in NFKC, in linear time.

    ``unicodedata.normalize`` sorts each run of combining marks by insertion: a megabyte of them takes
    minutes. Runs of more than 30 are broken by an invisible joiner first, as UAX 15 (stream-safe text) does.
    """
    return unicodedata.normalize("NFKC", text if text.isascii() else _with_short_mark_runs(text))


def _with_short_mark_runs(text: str) -> str:
    marks = "".join(sorted(char for char in set(text) if _begins_with_mark(char)))
    if not marks:
        return text
    any_mark = f"[{re.escape(marks)}]"
    return re.sub(f"({any_mark}{{{_MARK_RUN_MAX}}})(?={any_mark})", rf"\1{_GRAPHEME_JOINER}", text)


def _begins_with_mark(char: str) -> bool:
    return char > "\u02ff" and unicodedata.combining(unicodedata.normalize("NFKD", char)[0]) != 0


def fold_text(text: str) -> str:
    """The text for caseless comparison: NFKC, then case folded."""
    return nfkc(text).casefold()


def fold_name(name: str) -> str:
    """A name for comparing: caseless after NFKC, and without what nobody can see.

    Source: NFKC_Casefold of the Unicode standard, section 3.13; so two names that look alike for lack of
    a visible difference are one.
    """
    if name.isascii() and name.isprintable():  # the usual name holds nothing to fold but case
        return name.lower()
    visible = "".join(char for char in name if char.isspace() or not _is_invisible(char))
    return nfkc(fold_text(visible))


def _is_invisible(char: str) -> bool:
    if " " < char < "\x7f":
        return False
    return (
        unicodedata.category(char) in {"Cc", "Cf", "Zs", "Zl", "Zp"}
        or char in _INVISIBLE_LETTERS
        or "\u180b" <= char <= "\u180f"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0000" <= char <= "\U000e0fff"
    )


def is_blank(text: str) -> bool:
    """Whether nothing in the text can be seen: white space, controls, invisible format characters."""
    return all(_is_invisible(char) for char in text)


def find_bad_character(text: str) -> int | None:
    """The position of the first NUL or lone surrogate, which no database keeps."""
    found = _BAD.search(text)
    return found.start() if found else None


def tidy_title(text: str) -> str:
    """The text on one line: line breaks of every kind and runs of white space become one space, ends trimmed."""
    return " ".join(text.split())


def first_sentence_title(body: str, chars_max: int = TITLE_FROM_BODY_CHARS_MAX) -> str:
    """A title from a body that came without one: its first sentence, or as many words of it as fit.

    Args:
        body: Not blank. Markdown before the sentence (headings, bullets, fences) is passed over.
        chars_max: The most characters, 1 and more.
    """
    start = next((at for at, char in enumerate(body) if not _is_invisible(char)), 0)
    window = body[start : start + chars_max * 8 + 200]
    sentence = tidy_title(_first_sentence(_first_paragraph(window)))
    return cut_at_word(sentence or tidy_title(window), chars_max)


def _first_paragraph(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    is_text = [bool(line.strip()) and not _FENCE_OR_RULE.fullmatch(line.strip()) for line in lines]
    if True not in is_text:
        return ""
    start = is_text.index(True)
    lines = lines[start : is_text.index(False, start) if False in is_text[start:] else None]
    lead = _MARKDOWN_LEAD.match(lines[0])
    if lead:
        is_heading = lead.group().strip().startswith("#")
        lines = [lines[0][lead.end() :], *([] if is_heading else lines[1:])]
    return "\n".join(lines)


def _first_sentence(paragraph: str) -> str:
    for end in _SENTENCE_END.finditer(paragraph):
        rest = paragraph[end.end() :].lstrip()[:1]
        if not rest.islower():  # "e.g. this" and "etc. and" go on
            return paragraph[: end.end()]
    return paragraph


def is_word_character(char: str) -> bool:
    """Whether a character belongs to a word of its script: a letter, one of its marks, a decimal digit."""
    category = unicodedata.category(char)
    return category == "Nd" or (category[0] in "LM" and not _is_invisible(char))


def words_of(text: str) -> list[str]:
    """The words of a text in order, folded; whatever is no letter, mark or digit divides them."""
    folded = nfkc(fold_text(text))
    return folded.translate({ord(char): " " for char in set(folded) if not is_word_character(char)}).split()


def _is_name_character(char: str) -> bool:
    return char in "._-" or is_word_character(char)


def is_namespace_name(name: str) -> bool:
    """Whether a namespace may be called so: 1..128 letters, digits, dots, hyphens, underscores of any script."""
    return 1 <= len(name) <= NAME_CHARS_MAX and all(_is_name_character(char) for char in name)


def fit_project_name(text: str) -> str:
    """The nearest name that a namespace may have.

    Runs of other characters become one hyphen (none at the ends), the rest is cut at 128 characters, and
    where nothing is left the name is ``default``.
    """
    others = {ord(char): " " for char in set(text) if not _is_name_character(char)}
    return cut_text("-".join(text.translate(others).split()), NAME_CHARS_MAX) or DEFAULT_PROJECT


def is_library_name(name: str) -> bool:
    """Whether a library or a group may be called so: 1..128 printable characters without ``/``, ends trimmed."""
    fits = 1 <= len(name) <= NAME_CHARS_MAX and name.isprintable()
    return fits and "/" not in name and name == name.strip() and not is_blank(name)


def split_place(text: str) -> tuple[str | None, str]:
    """``library/name`` in its two parts; any other text is a bare name: (None, text)."""
    library, slash, name = (part.strip() for part in text.partition("/"))
    if not slash or not library or not name or "/" in name:
        return None, text.strip()
    return library, name


def normalise_topic_key(text: str) -> str:
    """A topic key as it is kept: NFKC, folded, trimmed, white space as one hyphen.

    Raises:
        Invalid: nothing is left, or more than 200 characters.
    """
    key = "-".join(nfkc(fold_text(text)).split())
    if is_blank(key):
        raise Invalid("topic_key is blank")
    if len(key) > TOPIC_KEY_CHARS_MAX:
        raise Invalid(f"topic_key has {len(key)} characters, at most {TOPIC_KEY_CHARS_MAX}")
    return key


def is_kind(text: str) -> bool:
    """Whether a kind may be called so: 1..40 lower-case letters, digits, ``_`` and ``-``."""
    fits = 1 <= len(text) <= KIND_CHARS_MAX and text == text.lower()
    return fits and all(char in "_-" or is_word_character(char) for char in text)


def closest(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """The candidates that were most likely meant, best first; equal ones in order of their text.

    Args:
        name: What was asked for; compared folded, by its first 128 characters.
        candidates: Names of which each is returned once at most.
        most: The most that are returned.
    """
    wanted = fold_name(name[:NAME_CHARS_MAX])
    matcher = difflib.SequenceMatcher(None, "", wanted, autojunk=False)
    scored = [(-_likeness(matcher, wanted, fold_name(other)), other) for other in set(candidates)]
    return [other for score, other in sorted(scored) if score][:most]


def _likeness(matcher: difflib.SequenceMatcher[str], wanted: str, other: str) -> float:
    """0 where too far, up to 1. A name that holds the other is near, however long the rest is."""
    least = 0.6
    holds = len(min(wanted, other, key=len)) > 1 and (wanted in other or other in wanted)
    matcher.set_seq1(other)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return least if holds else 0.0
    ratio = matcher.ratio()
    return max(ratio, least) if holds else ratio if ratio >= least else 0.0


def cut_text(text: str, chars: int) -> str:
    """The first characters of a text, never ending inside what is seen as one character.

    A single cluster that alone is longer (a letter under hundreds of marks) is cut hard.
    """
    if len(text) <= chars:
        return text
    end = chars
    while end > 0 and _is_inside_cluster(text, end):
        end -= 1
    return text[: end or chars]


def _is_inside_cluster(text: str, at: int) -> bool:
    """Whether a border before ``at`` would part a grapheme cluster (the rules of UAX 29 that matter here)."""
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    return (
        unicodedata.category(after)[0] == "M"
        or _ZERO_WIDTH_JOINER in {before, after}
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= after <= "\U000e007f"  # tags, in flags of regions
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or _is_hangul_pair(before, after)
        or (_is_flag_letter(after) and _flag_letters_before(text, at) % 2 == 1)
    )


def _is_hangul_pair(before: str, after: str) -> bool:
    follows_lead = "\u1100" <= before <= "\u115f" and ("\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3")
    follows_syllable = ("\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3") and (
        "\u1160" <= after <= "\u11ff"
    )
    return follows_lead or follows_syllable


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start


def cut_at_word(text: str, chars: int) -> str:
    """The first characters of a text, ending with a whole word where that keeps at least half of them."""
    if len(text) <= chars:
        return text
    head = cut_text(text, chars)
    if text[len(head)].isspace() or head[-1:].isspace():
        return head.rstrip()
    words = head.rsplit(None, 1)
    is_enough = len(words) > 1 and len(words[0]) * 2 >= chars
    return (words[0] if is_enough else head).rstrip()
