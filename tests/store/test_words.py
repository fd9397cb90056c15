"""The word index against a plain scan over what was indexed, on both backends."""

from __future__ import annotations

import random

import apsw
import pytest

from engram.engine import lifecycle, memories
from engram.engine.context import Context
from engram.engine.memories import Where, remember
from engram.model import Draft, QueryTerm
from engram.rules import analyse
from engram.store import fts5
from engram.store.base import PLACES, Facets, Filter, Place

VOCABULARY = (
    "cache", "caching", "login", "retry", "C++", "N+1", "3.11.7", "getUserName", "src/auth.ts", "café", "naïve",
    "数据库缓存", "缓存", "ошибка", "ошибки", "ชำระเงิน", "결제", "it's", 'say"so', "back\\slash", "100%", "🎉", "a:b", "x_y", "AND", "NOT",
)  # fmt: skip
COUNT = 60

Indexed = dict[int, tuple[str, str, str, frozenset[str]]]  # chunk id -> (namespace, scope, kind, index terms)


@pytest.fixture
def filled(ctx: Context) -> Indexed:
    """Memories of random words in two projects and both scopes, some of them deleted, moved or revised."""
    dice = random.Random(3)
    for i in range(COUNT):
        text = " ".join(dice.choices(VOCABULARY, k=6))
        where = Where(project=dice.choice(("one", "two")), scope=dice.choice(("project", "personal")))
        remember(ctx, Draft(title=f"t{i}", body=text, kind=dice.choice(("manual", "decision"))), where)
    for i in range(1, COUNT, 7):
        lifecycle.delete(ctx, str(i), is_hard=i % 2 == 0)
    for i in range(3, COUNT, 7):
        memories.update(ctx, str(i), memories.Change(body="cache retry", project="two"))
    return scan(ctx)


def scan(ctx: Context) -> Indexed:
    """What the index should hold, from the memories themselves."""
    with ctx.engine.store.reading() as tx:
        found = tx.all(
            "select c.id, m.namespace_id, m.scope, m.kind, m.title, m.body from chunk c"
            " join memory m on m.id = c.memory_id where m.archived_at is null"
        )
    return {
        row[0]: (row[1], row[2], row[3], frozenset(analyse.index_terms(row[4]) + analyse.index_terms(row[5])))
        for row in found
    }


def holds(words: frozenset[str], term: QueryTerm) -> bool:
    """Whether a text holds a term, as the contract of ``QueryTerm`` says."""
    is_begun = term.is_prefix and any(word.startswith(term.text) for word in words)
    return is_begun or any(variant in words for variant in term.variants)


def questions() -> list[tuple[QueryTerm, ...]]:
    """Every word alone, and pairs of them."""
    texts = [*VOCABULARY, *(f"{a} {b}" for a, b in zip(VOCABULARY, VOCABULARY[5:], strict=False))]
    found = [tuple(analyse.query_terms(text)) for text in texts]
    return [terms for terms in found if terms]


def test_words_are_found_where_a_plain_scan_finds_them(ctx: Context, filled: Indexed) -> None:
    """Any of the terms, all of them, and how many hold each: the same sets as by a loop."""
    with ctx.engine.store.reading() as tx:
        library_id: str = tx.value("select library_id from memory limit 1")
        everywhere = Filter(places=tuple(Place(library_id=library_id, place=p) for p in ("project", "personal")))
        for terms in questions():
            holders = [{i for i, item in filled.items() if holds(item[3], term)} for term in terms]
            ones = [1.0] * len(terms)
            assert set(tx.words(everywhere, terms, ones, COUNT)) == set.union(*holders), terms
            assert set(tx.phrase(everywhere, terms, COUNT)) == set.intersection(*holders), terms
            assert [tx.count_words([library_id], term) for term in terms] == [len(each) for each in holders], terms


def test_a_filter_leaves_out_what_it_does_not_cover(ctx: Context, filled: Indexed) -> None:
    """By namespace, scope and kind, inside the query."""
    term = analyse.query_terms("cache")
    with ctx.engine.store.reading() as tx:
        library_id: str = tx.value("select library_id from memory limit 1")
        for namespace, scope in {(item[0], item[1]) for item in filled.values()}:
            for types in ((), ("decision",), ("decision", "manual"), ("nothing",)):
                where = Filter(places=(Place(library_id=library_id, namespace_id=namespace, place=scope),), types=types)
                wanted = {
                    i
                    for i, item in filled.items()
                    if item[:2] == (namespace, scope) and (not types or item[2] in types) and holds(item[3], term[0])
                }
                assert set(tx.words(where, term, [1.0], COUNT)) == wanted


def test_a_word_is_no_scope_and_a_scope_no_word(ctx: Context) -> None:
    """Text that spells an index's scope term reaches nothing of another place."""
    saved = remember(ctx, Draft(title="T", body="plain"), Where(project="one")).memory
    spell = f"l:{saved.library_id} n:{saved.namespace_id} s:project k:manual"
    with ctx.engine.store.reading() as tx:
        where = Filter(places=(Place(library_id=saved.library_id),))
        for text in spell.split(" "):
            term = QueryTerm(text=text, variants=(text,))
            assert tx.words(where, [term], [1.0], 5) == []


ROWS = 120
LIBRARIES = ("L1", "L2", "L3")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_filter_covers_the_same_rows_however_it_is_said(count: int) -> None:
    """Any places of any libraries, against a loop: scope terms that most rows have are left out or turned round."""
    dice = random.Random(count)
    libraries = LIBRARIES[:count]
    connection = apsw.Connection(":memory:")
    connection.execute(
        "create virtual table words using fts5 (title, body, keys, scope, tokenize = \"unicode61 categories 'L* M* N* P* S* Co'\")"
    )
    rows: list[tuple[Facets, str]] = []
    for i in range(ROWS):
        library, place = dice.choice(libraries), dice.choice(PLACES)
        facets = Facets(
            library_id=library, namespace_id=f"{library}n{dice.randrange(3)}", place=place, kind=dice.choice("ab"), memory_type=dice.choice("xy")
        )  # fmt: skip
        rows.append((facets, dice.choice(["cache", "retry", "cache retry", "s:project"])))
        connection.execute(
            "insert into words (rowid, title, body, keys, scope) values (?, '', ?, '', ?)",
            (i, rows[i][1], " ".join(facets.tokens())),
        )
    asked = fts5.term(QueryTerm(text="cache", variants=("cache", "cached")))
    spaces = ["", "n0", "n1"]
    every = [
        Place(library_id=lib, namespace_id=lib + n if n else "", place=p)
        for lib in libraries
        for n in spaces
        for p in PLACES
    ]
    wide = [place for place in every if not place.namespace_id]
    filters = [dice.sample(every, dice.randint(1, 4)) for _ in range(150)] + [
        dice.sample(wide, dice.randint(1, len(wide))) for _ in range(80)
    ]
    for places in [*filters, wide]:
        where = Filter(places=tuple(places), types=dice.choice([(), ("a",), ("b", "x")]))
        match = fts5.matching(where, asked, libraries)
        found = {row[0] for row in connection.execute("select rowid from words where words match ?", (match,))}
        assert found == {i for i, (facets, text) in enumerate(rows) if "cache" in text and where.covers(facets)}, match
    for wanted in (libraries, libraries[:1]):
        match = fts5.in_libraries(wanted, asked, libraries)
        found = {row[0] for row in connection.execute("select rowid from words where words match ?", (match,))}
        assert found == {i for i, (facets, text) in enumerate(rows) if "cache" in text and facets.library_id in wanted}
