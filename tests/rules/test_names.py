"""Names, titles and keys."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.rules import names

property_test = settings(deadline=None, max_examples=150)
texts = st.text(st.characters(exclude_categories=["Cs"]))
FAMILY = "👨\u200d👩\u200d👧"
FLAG = "🇫🇷"


@property_test
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_ordinary_text_is_normalised_as_the_standard_says(text: str) -> None:
    """Breaking runs of marks changes nothing where no run is longer than 30."""
    runs = names._with_short_mark_runs(text)
    assert names.nfkc(text) == unicodedata.normalize("NFKC", runs)
    if runs == text:
        assert names.nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\u0344\u0316"])
def test_a_megabyte_of_marks_is_normalised_in_seconds(marks: str) -> None:
    """Sorting one run of a million marks would take minutes."""
    began = time.perf_counter()
    names.fold_text("a" + marks * (1_000_000 // len(marks)))
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize(
    "text", ["", " \t\n", "\u200b\ufeff", "\0\x1b", "\u2028\u3000", "\u3164", "\ufe0f", "\U000e0041"]
)
def test_what_nobody_can_see_is_blank(text: str) -> None:
    """White space, controls, zero-width and filler characters."""
    assert names.is_blank(text)


@pytest.mark.parametrize("text", ["a", " .", "\u200bя", "好", "🎉", "\u0301"])
def test_what_can_be_seen_is_not_blank(text: str) -> None:
    """One visible character is enough."""
    assert not names.is_blank(text)


@pytest.mark.parametrize(("text", "at"), [("ab\0", 2), ("\ud800", 0), ("é\udfffx", 1), ("a\n\x01🎉", None), ("", None)])
def test_bad_characters_are_found_with_their_place(text: str, at: int | None) -> None:
    """NUL and lone surrogates, and nothing else."""
    assert names.find_bad_character(text) == at


@property_test
@given(texts)
def test_a_tidy_title_is_one_trimmed_line(text: str) -> None:
    """No line break that Unicode knows is left, and tidying again changes nothing."""
    tidy = names.tidy_title(text)
    assert len(tidy.splitlines()) <= 1
    assert tidy == tidy.strip() == names.tidy_title(tidy)
    assert "  " not in tidy


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("Use WAL. It is faster.", "Use WAL."),
        ("Use\nWAL\n\nIt is faster", "Use WAL"),
        ("# Use WAL\nIt is faster.", "Use WAL"),
        ("- [x] done? Yes.", "[x] done?"),
        ("1. First thing. Second", "First thing."),
        ("```python\nx = 1\n```", "x = 1"),
        ("---\n**Bold** words! More", "**Bold** words!"),
        ("***all bold*** is text. More", "***all bold*** is text."),
        ("Takes e.g. this way. Next", "Takes e.g. this way."),
        ("Version 1.2.3 is out. Next", "Version 1.2.3 is out."),
        ("これは一文です。次の文。", "これは一文です。"),
        ("\u200b\n\n  Late start. More", "Late start."),
        ('He said "stop." Then left.', 'He said "stop."'),
        ("***", "***"),
        ("word " * 40, ("word " * 16).strip()),
        ("x" * 200, "x" * 80),
    ],
)
def test_the_title_of_an_untitled_body_is_its_first_sentence(body: str, title: str) -> None:
    """Markdown before it is passed over; a long one is cut at a word."""
    assert names.first_sentence_title(body) == title


@property_test
@given(texts, st.integers(1, 90))
def test_a_first_sentence_is_a_title(body: str, chars: int) -> None:
    """It fits, is one line, and is blank only where the body is."""
    title = names.first_sentence_title(body, chars)
    assert len(title) <= chars
    assert len(title.splitlines()) <= 1
    if not names.is_blank(body):
        assert title


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ﬁle", "FILE"),
        ("Ａｂ", "aB"),
        ("Team\u200b", "team"),
        ("Team\ufe0f", "team"),
        ("é", "É"),
    ],
)
def test_names_that_look_alike_fold_alike(one: str, other: str) -> None:
    """Case, compatibility forms and invisible characters do not tell names apart."""
    assert names.fold_name(one) == names.fold_name(other)


@pytest.mark.parametrize("name", ["a", "engram-2.0_x", "проект", "プロジェクト", "हिन्दी", "x" * 128, "..", "e\u0301"])
def test_names_of_any_script_are_namespaces(name: str) -> None:
    """Letters with their marks, digits, dots, hyphens, underscores."""
    assert names.is_namespace_name(name)
    assert names.fit_project_name(name) == name


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 129, "a\n", "🎉", "a\u200db", "\ufe0f", "½", "a\0"])
def test_other_names_are_no_namespaces(name: str) -> None:
    """Spaces, slashes, symbols, what is invisible, and too many characters."""
    assert not names.is_namespace_name(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my  cool/app!", "my-cool-app"),
        ("🎉🎉", "default"),
        ("", "default"),
        (" -a- ", "-a-"),
        ("a\0\ud800b", "a-b"),
        ("y" * 200, "y" * 128),
        ("y" * 127 + "e\u0301", "y" * 127),
    ],
)
def test_a_project_name_is_made_to_fit(text: str, name: str) -> None:
    """Runs of other characters become one hyphen, none at the ends; nothing left is the default."""
    assert names.fit_project_name(text) == name


@property_test
@given(st.text(max_size=300))
def test_what_was_made_to_fit_fits(text: str) -> None:
    """Whatever comes in, a namespace may be called what comes out, and again it stays as it is."""
    name = names.fit_project_name(text)
    assert names.is_namespace_name(name)
    assert names.fit_project_name(name) == name


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("Personal", True),
        ("Équipe 2: @home #1", True),
        ("チーム", True),
        ("x" * 128, True),
        ("", False),
        ("a/b", False),
        (" a", False),
        ("a\n", False),
        ("x" * 129, False),
        ("\ufe0f", False),
        ("a\x1b", False),
    ],
)
def test_a_library_has_a_printable_name_without_a_slash(name: str, fits: bool) -> None:  # noqa: FBT001 - a column
    """Anything that can be printed on one line, but the slash."""
    assert names.is_library_name(name) is fits


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("team/app", ("team", "app")),
        (" team / app ", ("team", "app")),
        ("app", (None, "app")),
        ("/app", (None, "/app")),
        ("team/", (None, "team/")),
        ("a/b/c", (None, "a/b/c")),
        ("", (None, "")),
    ],
)
def test_a_place_is_split_at_its_one_slash(text: str, place: tuple[str | None, str]) -> None:
    """Without exactly one slash between two names it is a bare name."""
    assert names.split_place(text) == place


@pytest.mark.parametrize(
    ("text", "key"),
    [("  Bug/Auth \t Model ", "bug/auth-model"), ("ＡＢ", "ab"), ("Ключ", "ключ"), ("k" * 200, "k" * 200)],
)
def test_a_topic_key_is_normalised(text: str, key: str) -> None:
    """NFKC, folded, trimmed, white space as one hyphen."""
    assert names.normalise_topic_key(text) == key


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "k" * 201])
def test_a_blank_or_long_topic_key_is_refused(text: str) -> None:
    """It is neither dropped nor cut."""
    with pytest.raises(Invalid):
        names.normalise_topic_key(text)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("bugfix", True),
        ("session_summary", True),
        ("a-1", True),
        ("решение", True),
        ("k" * 40, True),
        ("", False),
        ("Bug", False),
        ("a b", False),
        ("a.b", False),
        ("k" * 41, False),
        ("a/b", False),
    ],
)
def test_a_kind_is_a_short_lower_case_slug(text: str, fits: bool) -> None:  # noqa: FBT001 - a column
    """Letters, digits, underscore and hyphen, up to 40."""
    assert names.is_kind(text) is fits


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("engrm", ["engram"]),
        ("ENGRAM", ["engram", "engram-web"]),
        ("web", ["engram-web", "web-frontend-application"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_the_closest_names_are_offered(name: str, wanted: list[str]) -> None:
    """Misspelt and shortened names find what was meant; nothing near gives nothing."""
    known = ["web-frontend-application", "engram", "billing", "engram-web", "engram"]
    assert names.closest(name, known)[: len(wanted) or None] == wanted


def test_only_so_many_are_offered_and_always_the_same() -> None:
    """Equal ones come in order of their text."""
    assert names.closest("app", [f"app-{n}" for n in range(9, 0, -1)], most=2) == ["app-1", "app-2"]


@pytest.mark.parametrize(
    ("text", "chars", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("ae\u0301b", 2, "a"),
        ("a" + FAMILY, 4, "a"),
        ("a👍🏽", 2, "a"),
        (FLAG * 3, 3, FLAG),
        ("a" + FLAG * 2, 4, "a" + FLAG),
        ("a\r\nb", 2, "a"),
        ("한국어\u1112\u1161\u11ab", 4, "한국어"),
        ("가\u11a8b", 1, "가"),
        ("a\ud83d\ude00", 2, "a"),
        ("a" + "\u0301" * 50, 10, "a" + "\u0301" * 9),
        ("abc", 0, ""),
    ],
)
def test_a_cut_never_parts_what_is_seen_as_one(text: str, chars: int, cut: str) -> None:
    """Accents, joined emoji, flags, Hangul, line ends and surrogate pairs stay whole; one endless cluster does not."""
    assert names.cut_text(text, chars) == cut


@property_test
@given(st.text(max_size=60), st.integers(1, 60))
def test_a_cut_text_is_a_beginning_that_fits(text: str, chars: int) -> None:
    """Both cuts give a beginning of the text, not longer than asked for, and nothing only for nothing."""
    cut, at_word = names.cut_text(text, chars), names.cut_at_word(text, chars)
    assert text.startswith(cut)
    assert text.startswith(at_word)
    assert len(at_word) <= len(cut) <= chars or len(text) <= chars
    assert bool(cut) == bool(text)


@pytest.mark.parametrize(
    ("text", "chars", "cut"),
    [
        ("one two three", 9, "one two"),
        ("one two three", 7, "one two"),
        ("one two", 7, "one two"),
        ("a verylongwordwithoutend", 10, "a verylong"),
        ("漢字だけの文章です", 4, "漢字だけ"),
        ("one two  three", 8, "one two"),
    ],
)
def test_a_cut_at_a_word_keeps_whole_words(text: str, chars: int, cut: str) -> None:
    """But where less than half would be left, the word is cut."""
    assert names.cut_at_word(text, chars) == cut


def test_words_are_found_in_any_script() -> None:
    """Folded, with their marks, divided by everything else."""
    assert names.words_of("Don't snake_case हिन्दी 日本語、Ünï ½") == [
        *("don", "t", "snake", "case", "हिन्दी", "日本語", "ünï", "1", "2"),
    ]
