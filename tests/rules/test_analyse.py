"""One analyser for what is indexed and what is asked."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.model import QueryTerm
from engram.rules import analyse

TOKENIZE = """unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"""


def found_by(question: str, text: str) -> bool:
    """Whether every term of the question stands in the text's index."""
    terms = analyse.index_terms(text)
    return all(matches(term, terms) for term in analyse.query_terms(question) if not term.is_compound)


def matches(term: QueryTerm, terms: list[str]) -> bool:
    """Whether a query term stands among index terms."""
    return any(v in terms for v in term.variants) or (term.is_prefix and any(t.startswith(term.text) for t in terms))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("fix", "Fixed the login"),
        ("FIXING", "fix"),
        ("cafe", "Le café"),
        ("café", "le cafe"),
        ("user name", "getUserName()"),
        ("getusername", "call getUserName now"),
        ("http server", "class HTTPServer2"),
        ("snake", "snake_case_name"),
        ("auth middleware", "src/middleware/auth.ts"),
        ("auth.ts", "see src/middleware/auth.ts"),
        ("3.11", "Python 3.11.7"),
        ("C++", "written in C++"),
        ("C#", "written in C# mostly"),
        ("N+1", "an N+1 query"),
        ("redis", "使用Redis缓存"),
        ("缓存", "使用Redis缓存数据库"),
        ("库", "数据库"),
        ("数", "数据库"),
        ("데이터", "데이터베이스"),
        ("ชำระ", "ระบบชำระเงิน"),
        ("सर्वर", "सर्वर की भाषा"),
        ("сервера", "Сервер упал"),
        ("servidores", "los servidores de la red que en el"),
        ("STRASSE", "die Straße"),
        ("ﬁx", "fix"),
        ("user@example.org", "mail user@example.org"),
        ("😀", "great 😀 news"),
    ],
)
def test_a_word_is_found_in_the_forms_that_people_write(question: str, text: str) -> None:
    """Case, endings, accents, joined words, scripts without spaces."""
    assert found_by(question, text)


@given(st.text(max_size=60))
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    """Whatever the script: what is asked with the same words is there."""
    terms = analyse.index_terms(text)
    assert all(matches(term, terms) for term in analyse.query_terms(text))


@given(st.text(max_size=60))
def test_every_term_is_one_token_of_the_word_index(text: str) -> None:
    """FTS5 splits our terms at white space alone, so a term comes back whole; NUL never raises."""
    terms = list(dict.fromkeys(analyse.index_terms(text)))
    for term in terms:
        assert 1 <= len(term) <= analyse.TERM_CHARS_MAX
        assert not any(character.isspace() or character in '"\x00' for character in term)
    connection = apsw.Connection(":memory:")
    connection.execute(f'create virtual table w using fts5 (body, tokenize = "{TOKENIZE}")')
    connection.execute("insert into w (rowid, body) values (1, ?)", (" ".join(terms),))
    for term in terms:
        assert connection.execute("select count(*) from w where w match ?", (f'"{term}"',)).fetchall() == [(1,)], term
    connection.close()


def test_stop_words_are_asked_only_where_nothing_else_remains() -> None:
    """They carry no question, unless they are the question."""
    assert [term.text for term in analyse.query_terms("what is the plan")] == ["plan"]
    assert [term.text for term in analyse.query_terms("to be or not to be")] == ["to", "be", "or", "not"]


def test_one_ideograph_is_a_prefix_and_a_query_has_an_end() -> None:
    """At most 64 terms, the longest kept."""
    assert analyse.query_terms("库")[0].is_prefix
    many = analyse.query_terms(" ".join(f"word{i:03d}" for i in range(200)) + " extraordinarily")
    assert len(many) == analyse.QUERY_TERMS_MAX
    assert "extraordinarily" in [term.text for term in many]


@pytest.mark.parametrize("unit", ["a", "\u0301", ".", "😀", "数", "a.b", "aB", "a b ", "\x00", "_", "'", "ไ", "١"])
def test_hostile_text_is_read_in_linear_steps(unit: str) -> None:
    """Twice the text gives at most twice the terms and a few."""
    short, long = (analyse.index_terms(unit * count) for count in (5_000, 10_000))
    assert len(long) <= 2 * len(short) + 4


def test_titles_and_keys_weigh_more_than_the_body() -> None:
    """Three and two to one; stop words count nowhere."""
    weights = analyse.term_weights(["cache"], ["cache", "the", "log"], ["key"])
    assert weights == {"cache": 4.0, "log": 1.0, "key": 2.0}
    assert analyse.weighted_length("cache", "the log of it", "key") == 3.0 + 1.0 + 2.0


def test_a_language_is_told_by_its_function_words() -> None:
    """English where none stands out."""
    assert analyse.language_of(["el", "servidor", "de", "la", "red", "que", "no", "es"]) == "spanish"
    assert analyse.language_of(["der", "Server", "ist", "nicht", "zu", "erreichen"]) == "german"
    assert analyse.language_of(["cache"]) == "english"
