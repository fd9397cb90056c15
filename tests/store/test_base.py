"""Statements with lists, and what a filter covers."""

from __future__ import annotations

from itertools import product

from engram.store.base import Facets, Filter, Place, Store, expand


def test_a_list_is_written_out_and_what_is_no_parameter_is_left_alone() -> None:
    """Casts, longer names and a list that stands twice."""
    sql, params = expand("a in :ids and b = :ids_more and c::text in :ids", {"ids": [7, 8], "ids_more": 1})
    assert sql == "a in (:ids_0, :ids_1) and b = :ids_more and c::text in (:ids_0, :ids_1)"
    assert params == {"ids_0": 7, "ids_1": 8, "ids_more": 1}


def test_an_empty_list_holds_nothing(store: Store) -> None:
    """A valid statement on both backends, true for no row and false for none."""
    with store.reading() as tx:
        assert tx.value("select count(*) from setting where name in :names", names=[]) == 0
        every = tx.value("select count(*) from setting")
        assert every > 0
        assert tx.value("select count(*) from setting where name not in :names", names=[]) == every


def test_a_value_may_look_like_a_statement(store: Store) -> None:
    """Values are bound: quotes, colons, percent signs and backslashes come back as they went in."""
    for text in ("'; drop table memory; --", "100% :name %s", "a\\b'c\"d", "ü\u200b🎉"):
        with store.writing() as tx:
            tx.run("insert into setting (name, value) values (:name, :value)", name=text, value=text)
            assert tx.value("select value from setting where name in :names and name like '%'", names=[text]) == text


def test_covers_is_the_filter_that_the_queries_apply() -> None:
    """A chunk is covered where one place and, if any are given, one type fit."""
    where = Filter(
        places=(Place(library_id="a", namespace_id="n"), Place(library_id="b", place="personal")),
        types=("decision", "semantic"),
    )
    covered = {
        (library, namespace, place, kind, type_)
        for library, namespace, place, kind, type_ in product(
            "ab", "nm", ("project", "personal", "prompt"), ("decision", "manual"), ("semantic", "episodic")
        )
        if where.covers(Facets(library_id=library, namespace_id=namespace, place=place, kind=kind, memory_type=type_))
    }
    typed = {("decision", "semantic"), ("decision", "episodic"), ("manual", "semantic")}
    assert covered == {
        (*at, *t) for at in (("a", "n", "project"), ("b", "n", "personal"), ("b", "m", "personal")) for t in typed
    }
    assert where.library_ids == ("a", "b")
