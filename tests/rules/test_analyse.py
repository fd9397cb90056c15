"""One analyser for what is indexed and what is asked."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.model import QueryTerm
from engram.rules import analyse

property_test = settings(deadline=None)  # a busy machine is no failure

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
        ("1.2.3", "release v1.2.3"),
        ("2.0", "V2.0 is out"),
        ("v1.2.3", "release 1.2.3"),
        ("std::vector", "a std::vector<int>"),
        ("vector", "a std::vector<int>"),
        ("größe wert", "größeWert"),
        ("email", "e-mail"),
        ("reindex", "we re-index"),
        ("nodejs", "Node.js"),
        ("dont", "I don't"),
        ("authtoken", "AUTH_TOKEN"),
        ("auth-token", "auth_token"),
        ("get_user_name", "getUserName"),
        ("1000", "1,000 items"),
        ("1,000", "1000 items"),
        ("lodz", "Łódź"),
        ("istanbul", "ISTANBUL ıstanbul İstanbul"),
        ("елка", "ёлка"),
        ("שלום", "שָׁלוֹם"),
        ("میخواهم", "می\u200cخواهم"),
        ("خواهم", "می\u200cخواهم"),
        ("foo\u00adbar", "foobar"),
        ("😀", "great 😀 news"),
    ],
)
def test_a_word_is_found_in_the_forms_that_people_write(question: str, text: str) -> None:
    """Case, endings, accents, joined words, scripts without spaces."""
    assert found_by(question, text)


@property_test
@given(st.text(max_size=60))
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    """Whatever the script: what is asked with the same words is there."""
    terms = analyse.index_terms(text)
    assert all(matches(term, terms) for term in analyse.query_terms(text))


@property_test
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


def test_no_character_of_unicode_is_read_otherwise_by_the_word_index() -> None:
    """Each alone, of the upper planes by samples: FTS5 folds or divides none of our terms."""
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 97)]
    terms = [term for code in codes for term in analyse.index_terms(chr(code))]
    connection = apsw.Connection(":memory:")
    connection.execute(f'create virtual table w using fts5 (body, tokenize = "{TOKENIZE}")')
    connection.execute("create virtual table v using fts5vocab (w, 'instance')")
    connection.execute("insert into w (body) values (?)", (" ".join(terms),))
    assert [row[0] for row in connection.execute("select term from v order by offset")] == terms
    connection.close()


def test_marks_alone_are_no_words() -> None:
    """A variation selector beside an emoji is not what anybody asks for."""
    assert analyse.index_terms("❤\ufe0f") == ["❤"]


@pytest.mark.parametrize(
    "text", ["getUserName", "snake_case", "auth.ts", "src/a", "std::vector", "k8s", "42", "3.11", "1,000"]
)
def test_an_identifier_is_told(text: str) -> None:
    """By its inner case, its joints, its digits."""
    assert analyse.query_terms(text)[0].is_identifier
    assert not analyse.query_terms("plain")[0].is_identifier


def test_a_contraction_of_a_stop_word_is_one() -> None:
    """With any apostrophe."""
    assert [term.text for term in analyse.query_terms("what's the port? it’s where we don't look")] == ["port", "look"]


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
    assert (
        analyse.weighted_length(*(analyse.read(text)[1] for text in ("cache", "the log of it", "key")))
        == 3.0 + 1.0 + 2.0
    )


def test_a_language_is_told_by_its_function_words() -> None:
    """English where none stands out."""
    assert analyse.language_of(["el", "servidor", "de", "la", "red", "que", "no", "es"]) == "spanish"
    assert analyse.language_of(["der", "Server", "ist", "nicht", "zu", "erreichen"]) == "german"
    assert analyse.language_of(["cache"]) == "english"
