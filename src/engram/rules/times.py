"""Times: ISO 8601 outside, integer milliseconds UTC inside."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from engram.errors import Invalid

_TIME_CHARS_MAX = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_ISO = re.compile(
    r"""
    ([0-9]{4}) (-?) ([0-9]{2}) \2 ([0-9]{2})                         # 1 year, 3 month, 4 day; 2: extended form
    (?: [Tt\ ] ([0-9]{2}) (?: (:?) ([0-9]{2}) (?: \6 ([0-9]{2}) (?: [.,] ([0-9]+) )? )? )   # 5 h, 7 min, 8 s, 9 part
        (?: ([Zz]) | ([+-]) ([0-9]{2}) (?: :? ([0-9]{2}) )? )?       # 10 zulu, 11 sign, 12 hours, 13 minutes
    )?
    """,
    re.VERBOSE,
)


def parse_time(text: str) -> tuple[int, bool]:
    """Read an ISO 8601 date or time of the years 1..9999.

    A date alone is its first moment; without a zone it is UTC. The 60th second is taken only where UTC can
    have one (23:59:60) and is the first of the next minute, as in POSIX. Parts of a millisecond are dropped.

    Returns:
        (milliseconds UTC, whether the text said its zone).

    Raises:
        Invalid: it is no such text, or no such moment.
    """
    found = _ISO.fullmatch(text.strip()) if len(text) <= _TIME_CHARS_MAX else None
    if not found:
        raise _invalid()
    has_zone = found[10] is not None or found[11] is not None
    try:
        moment = _local_moment(found) - _offset(found)
    except (ValueError, OverflowError) as error:
        raise _invalid() from error
    if found[8] == "60":
        if (moment.hour, moment.minute) != (23, 59):
            raise _invalid()
        moment = _plus_second(moment)
    part = int((found[9] or "0")[:3].ljust(3, "0"))
    return (moment - _EPOCH) // _MS + part, has_zone


def _local_moment(found: re.Match[str]) -> datetime:
    second = 59 if found[8] == "60" else int(found[8] or 0)
    return datetime(
        int(found[1]), int(found[3]), int(found[4]), int(found[5] or 0), int(found[7] or 0), second, tzinfo=UTC
    )


def _offset(found: re.Match[str]) -> timedelta:
    hours, minutes = int(found[12] or 0), int(found[13] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("offset")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if found[11] == "-" else offset


def _plus_second(moment: datetime) -> datetime:
    try:
        return moment + timedelta(seconds=1)
    except OverflowError as error:
        raise _invalid() from error


def _invalid() -> Invalid:
    return Invalid("a time is ISO 8601, such as 2026-12-01 or 2026-12-01T09:30:00Z, of the years 1 to 9999")


def format_time(ms: int) -> str:
    """The time as answers show it: ``2026-12-01T01:02:03.004Z``.

    Args:
        ms: Milliseconds UTC, of the years 1..9999.
    """
    return (_EPOCH + timedelta(milliseconds=ms)).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def show_date(ms: int) -> str:
    """The date in UTC: ``2026-12-01``."""
    return format_time(ms)[:10]
