"""Times in and out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.rules import times

property_test = settings(deadline=None, max_examples=200)
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999


@pytest.mark.parametrize(
    ("text", "shown", "has_zone"),
    [
        ("2026-12-01", "2026-12-01T00:00:00.000Z", False),
        ("20261201", "2026-12-01T00:00:00.000Z", False),
        (" 2026-12-01T01:02 ", "2026-12-01T01:02:00.000Z", False),
        ("2026-12-01 01:02:03.0049Z", "2026-12-01T01:02:03.004Z", True),
        ("2026-12-01t01:02:03,5z", "2026-12-01T01:02:03.500Z", True),
        ("2026-12-01T01:02:03+05:30", "2026-11-30T19:32:03.000Z", True),
        ("2026-12-01T01:02:03-08", "2026-12-01T09:02:03.000Z", True),
        ("20261201T010203Z", "2026-12-01T01:02:03.000Z", True),
        ("2024-02-29", "2024-02-29T00:00:00.000Z", False),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z", True),
        ("2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00.000Z", True),
        ("0001-01-01", "0001-01-01T00:00:00.000Z", False),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999Z", True),
    ],
)
def test_a_time_is_read_and_shown_in_utc(text: str, shown: str, has_zone: bool) -> None:  # noqa: FBT001 - a column
    """Dates, both forms, fractions, offsets, leap seconds; and whether the zone was said."""
    ms, zone_was_given = times.parse_time(text)
    assert (times.format_time(ms), zone_was_given) == (shown, has_zone)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026",
        "2026-12",
        "2026-13-01",
        "2026-02-29",
        "2026-1-1",
        "12/01/2026",
        "1764547200",
        "0000-01-01",
        "2026-12-01T",
        "2026-12-01T24:00",
        "2026-12-01T01:60",
        "2026-12-01T01:02:61",
        "2026-12-01T12:00:60Z",
        "2026-12-01T01:02+24:00",
        "2026-12-01T01:02+01:60",
        "2026-12-01Z",
        "2026-W49-1",
        "٢٠٢٦-12-01",
        "2026-1201",
        "0001-01-01T00:00+00:01",
        "9999-12-31T23:59:00-00:01",
        "9999-12-31T23:59:60Z",
        "2026-12-01T01:02:03." + "1" * 999,
    ],
)
def test_anything_else_is_no_time(text: str) -> None:
    """What is malformed, ambiguous, or beyond the years 1..9999 is refused."""
    with pytest.raises(Invalid):
        times.parse_time(text)


@property_test
@given(st.integers(FIRST, LAST))
def test_what_is_shown_can_be_read_back(ms: int) -> None:
    """Every millisecond of the years 1..9999."""
    shown = times.format_time(ms)
    assert len(shown) == 24
    assert times.parse_time(shown) == (ms, True)
    assert times.show_date(ms) == shown.partition("T")[0]


@property_test
@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-1439, 1439))  # noqa: DTZ001 - zone is drawn
def test_offsets_agree_with_the_standard_library(moment: datetime, minutes: int) -> None:
    """An offset means what datetime takes it to mean."""
    text = moment.replace(tzinfo=timezone(timedelta(minutes=minutes))).isoformat()
    wanted = (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert times.parse_time(text) == (wanted, True)


@property_test
@given(st.text())
def test_reading_a_time_gives_one_or_says_invalid(text: str) -> None:
    """No text makes it fail in another way."""
    try:
        ms, _ = times.parse_time(text)
    except Invalid:
        return
    assert FIRST <= ms <= LAST
