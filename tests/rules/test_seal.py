"""Seals: what changes a row changes its seal, and sums go up and down together."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.rules import seal as seals

KEY = bytes(range(32))
property_test = settings(deadline=None, max_examples=200)
value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=8),
)
rows = st.lists(value, max_size=6)


def same(one: list[seals.Value], other: list[seals.Value]) -> bool:
    """Equal as a database compares: by value, and text is never bytes."""
    kinds = [[type(v) if isinstance(v, (str, bytes)) else None for v in row] for row in (one, other)]
    return one == other and kinds[0] == kinds[1]


@property_test
@given(rows, rows)
def test_two_rows_have_the_same_bytes_only_where_they_are_equal(
    one: list[seals.Value], other: list[seals.Value]
) -> None:
    """The encoding is unambiguous."""
    assert (seals.encode(one) == seals.encode(other)) == same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["1"], [1]),
        (["a"], [b"a"]),
        ([None], [""]),
        ([None], [0]),
        ([""], []),
        ([1.5], [1]),
        (["é"], ["e\u0301"]),
        ([2**53], [float(2**53) + 2]),
        (["i" + "\0" * 7 + "\1"], [1]),
    ],
)
def test_rows_that_only_look_alike_have_different_seals(one: list[seals.Value], other: list[seals.Value]) -> None:
    """Borders between values, and their types, count."""
    assert seals.seal(KEY, "memory", one) != seals.seal(KEY, "memory", other)


@pytest.mark.parametrize(("given_", "stored"), [(True, 1), (False, 0), (1, 1.0), (-0.0, 0), (float(2**62), 2**62)])
def test_numbers_that_a_column_gives_back_in_another_type_have_one_seal(
    given_: seals.Value, stored: seals.Value
) -> None:
    """A boolean comes back as an integer, an integer from a real column as a float."""
    assert seals.seal(KEY, "memory", [given_]) == seals.seal(KEY, "memory", [stored])


@property_test
@given(value)
def test_a_value_that_went_through_sqlite_keeps_its_seal(stored: seals.Value) -> None:
    """Whatever type affinity the column has for it."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table t (any_value, real_value real)")
        database.execute("insert into t values (?, ?)", (stored, stored))
        plain, real = database.execute("select any_value, real_value from t").fetchone()
    assert seals.encode([plain]) == seals.encode([stored])
    if isinstance(stored, (int, float)) and float(stored) == stored:
        assert seals.encode([real]) == seals.encode([stored])


def test_a_seal_is_keyed_blake2b_under_the_table_s_name() -> None:
    """The bytes are fixed: seals outlive the version that wrote them."""
    written = b"s\0\0\0\2\xc3\xa9n" + b"i" + b"\0" * 7 + b"\7" + b"f?\xe0" + b"\0" * 6 + b"b\0\0\0\1\xff"
    assert seals.encode(["é", None, 7, 0.5, b"\xff"]) == written
    wanted = hashlib.blake2b(written, digest_size=16, key=KEY, person=b"memory").digest()
    assert seals.seal(KEY, "memory", ["é", None, 7, 0.5, b"\xff"]) == wanted


def test_another_key_or_table_gives_another_seal() -> None:
    """A row can be moved to no other table and made by nobody without the key."""
    made = {seals.seal(key, table, ["x"]) for key in (KEY, KEY[::-1]) for table in ("memory", "version")}
    assert len(made) == 4


@pytest.mark.parametrize("bad", [float("nan"), 2**63, -(2**63) - 1])
def test_numbers_that_no_column_holds_are_refused(bad: float) -> None:
    """A seal over them could never be checked."""
    with pytest.raises(ValueError, match="no value of a row"):
        seals.encode([bad])


@pytest.mark.parametrize(("key", "table"), [(b"", "memory"), (bytes(65), "memory"), (KEY, "a_table_of_17_char")])
def test_a_key_or_a_table_name_of_wrong_size_is_refused(key: bytes, table: str) -> None:
    """Above all an empty key, whose seals anybody could make."""
    with pytest.raises(ValueError):  # noqa: PT011 - ours and the hash's own
        seals.seal(key, table, [])


def test_a_value_of_another_type_is_refused() -> None:
    """A list is not guessed at."""
    with pytest.raises(TypeError):
        seals.encode([["x"]])  # pyright: ignore[reportArgumentType] - the point of the test


@property_test
@given(st.lists(st.binary(min_size=16, max_size=16), max_size=8), st.randoms(use_true_random=False))
def test_a_sum_does_not_depend_on_the_order_and_can_be_undone(made: list[bytes], random: object) -> None:
    """Rows come and go in any order; what is left is what SQL would add up."""
    total = 0
    for one in made:
        total = seals.add48(total, one)
    assert total == sum(int.from_bytes(one[:6], "big") for one in made) % 2**48
    random.shuffle(made)  # pyright: ignore[reportAttributeAccessIssue] - hypothesis gives a Random
    for one in made:
        assert 0 <= seals.seal48(one) < 2**48
        total = seals.subtract48(total, one)
    assert total == 0
