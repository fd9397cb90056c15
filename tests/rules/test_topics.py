"""Topic keys are stable, speak the title's script, and tell titles apart."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.rules import topics
from engram.rules.ids import same_hash
from engram.rules.names import normalise_topic_key, words_of

property_test = settings(deadline=None, max_examples=200)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=120)
words = st.lists(st.sampled_from(["alpha", "beta", "größe", "ключ", "設計", "x1"]), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("kind", "title", "content", "key"),
    [
        ("bugfix", "Token refresh", "", "bug/token-refresh"),
        ("architecture", "Auth architecture", "", "architecture/auth-architecture"),
        ("architecture", "Architecture of auth", "", "architecture/of-auth"),
        ("manual", "Fixed a crash in the design", "", "bug/fixed-a-crash-in-the-design"),
        ("manual", "We chose a convention", "", "decision/we-chose-a-convention"),
        ("", "Naming of branches", "", "pattern/naming-of-branches"),
        ("manual", "CI runs twice", "", "config/ci-runs-twice"),
        ("manual", "We FOUND it", "", "discovery/we-found-it"),
        ("manual", "What we learned", "", "learning/what-we-learned"),
        ("manual", "Plain", "a panic, in the design", "bug/plain"),
        ("manual", "The design", "a panic", "architecture/the-design"),
        ("preference", "Tabs", "or spaces", "topic/tabs"),
        ("manual", "Prefix handling of the quadratic solver", "", "topic/prefix-handling-of-the-quadratic-solver"),
        ("manual", "bug-fix: snake_case", "", "bug/fix-snake-case"),
        ("manual", "Corrección de sesión", "", "topic/corrección-de-sesión"),
        ("manual", "認証の設計", "", "topic/認証の設計"),
        ("manual", "ＡＢＣ Straße", "", "topic/abc-strasse"),
        ("manual", "", "Use WAL. It is faster.", "topic/use-wal"),
        ("manual", " \u200b", "The fix\nis in. More", "bug/the-fix-is-in"),
    ],
)
def test_a_key_is_a_family_and_the_titles_words(kind: str, title: str, content: str, key: str) -> None:
    """The family by type, title, content; whole words in any script; the family's own name not twice."""
    assert topics.suggest(kind, title, content) == key


@pytest.mark.parametrize("family", topics._FAMILIES)
def test_every_word_of_a_family_finds_it(family: str) -> None:
    """As a type, in the title and in the content; inside another word it does not."""
    for word in topics._FAMILIES[family]:
        assert topics.suggest(word, "zig", "zag").startswith(f"{family}/")
        assert topics.suggest("manual", f"zig {word.upper()}, zag", "").startswith(f"{family}/")
        assert topics.suggest("manual", "zig", f"zag ({word})").startswith(f"{family}/")
        assert topics.suggest("manual", f"zig{word}", f"{word}zag") == f"topic/zig{word}"


@pytest.mark.parametrize(("title", "slug"), [("Bug", ""), ("!!!", ""), ("🎉", "")])
def test_where_no_word_is_left_the_hash_of_the_title_stands(title: str, slug: str) -> None:
    """So that two such titles do not share a key."""
    assert topics.suggest("bug", title, "") == f"bug/{slug}-{same_hash(title)[:8]}"


def test_a_long_title_is_cut_at_a_word_and_told_apart_by_its_hash() -> None:
    """80 characters at most, then the hash of the whole title."""
    title = "word " * 16 + "end"
    assert topics.suggest("", title, "") == f"topic/{'-'.join(['word'] * 16)}-{same_hash(title)[:8]}"
    exact = "words" + " word" * 15
    assert topics.suggest("", f"{exact} end", "") == (
        f"topic/{exact.replace(' ', '-')}-{same_hash(f'{exact} end')[:8]}"
    )
    assert topics.suggest("", "x" * 81, "") == f"topic/{'x' * 80}-{same_hash('x' * 81)[:8]}"
    assert topics.suggest("", "x" * 80, "") == f"topic/{'x' * 80}"


@property_test
@given(texts, texts, texts)
def test_a_suggested_key_is_a_key(kind: str, title: str, content: str) -> None:
    """The same input gives the same key, and as a topic key it stays as it is."""
    key = topics.suggest(kind, title, content)
    assert key == topics.suggest(kind, title, content)
    assert normalise_topic_key(key) == key
    family, slug = key.split("/")
    assert family in {*topics._FAMILIES, topics.OTHER_FAMILY}
    assert len(slug) <= topics.SLUG_CHARS_MAX + 9
    assert re.fullmatch(r"\S+", slug)


@property_test
@given(words, words)
def test_different_titles_have_different_keys(one: list[str], other: list[str]) -> None:
    """However much of their beginning they share."""
    shared = ["shared"] * 13
    titles = " ".join(shared + one), " ".join(shared + other)
    keys = {topics.suggest("", title, "") for title in titles}
    assert (len(keys) == 1) == (words_of(titles[0]) == words_of(titles[1]))


def test_a_megabyte_of_content_is_looked_through_at_once() -> None:
    """The search for a family's word is linear."""
    began = time.perf_counter()
    assert topics.suggest("", "zig", "prefix" * 160_000 + " panic") == "bug/zig"
    assert time.perf_counter() - began < 10
