"""Parameters of tools: how each is described, and how what a caller sent becomes a value.

A tool function says it in its signature: ``title: Annotated[str, Text("...", chars_max=500)]``. A parameter without
a default is required; one whose default is None stays None unless something was given.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from engram.errors import Invalid
from engram.model import SHOWN_VALUE_CHARS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

INT_MAX = 2**53 - 1  # the last whole number that every JSON reader keeps exact
ID_CHARS_MAX = 200  # a number, "@" and the longest library name, with room
KEYS_SHOWN_MAX = 20
REDACTED_CHARS_MAX = 50_000  # of a refused value, read before it is cut: longer than any secret
NUMBER = re.compile(r"[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Text:
    """Text, kept as it was sent. ``chars_max="body"`` is the limit that the settings give to a body.

    keeps_empty: an empty value is a value (it clears or erases); elsewhere empty optional text is absent.
    may_be_blank: text of white space alone is taken, where it would be refused.
    """

    description: str
    _: KW_ONLY
    chars_max: int | Literal["body"]
    aliases: tuple[str, ...] = ()
    keeps_empty: bool = False
    may_be_blank: bool = False


@dataclass(frozen=True, slots=True)
class Id:
    """A memory's number, ``#12``, ``#12@library`` or UUID, as trimmed text. The engine knows whether it exists."""

    description: str
    _: KW_ONLY
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words, spelt as they are."""

    description: str
    choices: tuple[str, ...]
    _: KW_ONLY
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number in minimum..maximum. is_capped: above the maximum it is read as the maximum, and said."""

    description: str
    _: KW_ONLY
    minimum: int
    maximum: int = INT_MAX
    is_capped: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Num:
    """A number in minimum..maximum."""

    description: str
    _: KW_ONLY
    minimum: float
    maximum: float
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bool:
    """true or false."""

    description: str
    _: KW_ONLY
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextList:
    """A list of texts, as a tuple."""

    description: str
    _: KW_ONLY
    chars_max: int
    entries_max: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Time:
    """A moment in ISO 8601, as milliseconds UTC; a date alone is its first moment."""

    description: str
    _: KW_ONLY
    aliases: tuple[str, ...] = ()


Marker = Text | Id | Choice | Int | Num | Bool | TextList | Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A named parameter of a tool."""

    name: str
    marker: Marker
    is_required: bool
    default: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """A number that was over its maximum and is answered at the maximum."""

    name: str
    given: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Arguments as the function takes them, and what the answer has to say about them."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    ignored: tuple[str, ...] = ()  # keys that no parameter has, safe to show
    capped: tuple[Capped, ...] = ()
    notes: tuple[str, ...] = ()


class Refused(Exception):  # noqa: N818 - it is a verdict on one value, turned into Invalid where the keys are known
    """A value does not fit its parameter; the text says why."""


def bind(
    parameters: Sequence[Parameter], arguments: object, *, tool: str, is_destructive: bool, body_chars_max: int
) -> Bound:
    """Read what a caller sent as the tool's parameters.

    Raises:
        Invalid: something is missing, does not fit, is given twice, or (destructive tools) is unknown. The text names
            parameter, limit, value and the keys received, without secrets.
    """
    names = {spelling: one for one in parameters for spelling in spellings(one)}
    sent = read_object(arguments, known=names)
    given, unknown = _sort_out(sent, names)
    if unknown and is_destructive:
        raise _unknown_key(unknown[0], parameters, tool=tool, keys=show_keys(sent))
    values: dict[str, Any] = {}
    capped: list[Capped] = []
    notes: list[str] = []
    for one in parameters:
        try:
            value = _one_value(one, given.get(one.name, []), body_chars_max=body_chars_max)
        except Refused as refused:
            hint = f"Call {tool} again with {one.name} as {wanted(one.marker, body_chars_max=body_chars_max)}"
            raise Invalid(f"{one.name} {refused}; keys received: {show_keys(sent)}", hint=f"{hint}.") from None
        marker = one.marker
        if isinstance(marker, Int) and isinstance(value, int) and value > marker.maximum:
            capped.append(Capped(name=one.name, given=value, maximum=marker.maximum))
            value = marker.maximum
        elif isinstance(marker, Time) and isinstance(value, tuple):
            value, has_zone = cast("tuple[int, bool]", value)
            notes += [] if has_zone else [f"{one.name} has no zone, read as UTC"]
        values[one.name] = value
    return Bound(values=values, ignored=tuple(unknown), capped=tuple(capped), notes=tuple(notes))


def read_object(arguments: object, *, known: Mapping[str, Parameter]) -> dict[str, object]:
    """The arguments as an object: also where a client sent them as JSON text, or wrapped in a key of that name.

    Raises:
        Invalid: they are something else.
    """
    for _ in range(3):  # text around an object around text: no client was seen to go further
        if arguments is None:
            return {}
        if isinstance(arguments, str):
            arguments = _parsed(arguments, "{") if arguments.strip() else {}
        if not isinstance(arguments, dict):
            break
        sent = cast("dict[str, object]", arguments)
        wrapped = next(iter(sent)) if len(sent) == 1 else ""
        if _fold(wrapped) != "arguments" or "arguments" in known:
            return sent
        arguments = sent[wrapped]
    raise Invalid(
        f"arguments are {show(arguments)}, which is no JSON object", hint="Send an object with a key per parameter."
    )


def wanted(marker: Marker, *, body_chars_max: int) -> str:
    """What fits a parameter, in words."""
    match marker:
        case Text():
            words = f"text of at most {_chars_max(marker, body_chars_max)} characters"
        case Id():
            words = "an id: a number, #number, #number@library or a UUID"
        case Choice():
            words = f"one of {', '.join(marker.choices)}"
        case Int():
            words = f"a whole number in {marker.minimum}..{marker.maximum}"
        case Num():
            words = f"a number in {marker.minimum:g}..{marker.maximum:g}"
        case Bool():
            words = "true or false"
        case TextList():
            words = f"a list of at most {marker.entries_max} texts of at most {marker.chars_max} characters"
        case Time():
            words = "a time in ISO 8601, such as 2025-03-01T12:00:00Z"
    return words


def show(value: object) -> str:
    """A refused value as it may be shown: without secrets, on one line, at most SHOWN_VALUE_CHARS_MAX characters."""
    if isinstance(value, str):
        return f'"{_clean(value, chars_max=SHOWN_VALUE_CHARS_MAX - 2)}"'
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError, TypeError):
        text = f"a nested {type(value).__name__}"
    return _clean(text, chars_max=SHOWN_VALUE_CHARS_MAX)


def show_keys(keys: Iterable[str]) -> str:
    """The keys that were received, in their order, as far as they fit a line."""
    names = [show_key(key) for key in keys]
    rest = len(names) - KEYS_SHOWN_MAX
    shown = ", ".join(names[:KEYS_SHOWN_MAX]) or "none"
    return f"{shown} and {rest} more" if rest > 0 else shown


def show_key(key: str) -> str:
    """A key as it may be shown."""
    return _clean(key, chars_max=SHOWN_VALUE_CHARS_MAX)


def spellings(parameter: Parameter) -> list[str]:
    """Every key that is this parameter, folded."""
    return [_fold(name) for name in (parameter.name, *parameter.marker.aliases)]


def _fold(key: str) -> str:
    return key.casefold().replace("_", "").replace("-", "")


def _sort_out(sent: Mapping[str, object], names: Mapping[str, Parameter]) -> tuple[dict[str, list[object]], list[str]]:
    """The values sent for each parameter under any of its spellings, and the keys that are none."""
    given: dict[str, list[object]] = {}
    unknown: list[str] = []
    for key, value in sent.items():
        parameter = names.get(_fold(key))
        if parameter is None:
            unknown.append(show_key(key))
        elif value is not None:
            given.setdefault(parameter.name, []).append(value)
    return given, unknown


def _unknown_key(key: str, parameters: Sequence[Parameter], *, tool: str, keys: str) -> Invalid:
    from engram.rules.names import closest  # noqa: PLC0415 - start-up is measured; no call, no rules

    near = closest(key, [one.name for one in parameters], most=1)
    meant = f"Did you mean {near[0]}?" if near else f"It takes {', '.join(one.name for one in parameters) or 'none'}."
    return Invalid(
        f"{key} is no parameter of {tool}; keys received: {keys}", hint=f"{meant} Nothing was done: call {tool} again."
    )


def _one_value(parameter: Parameter, given: list[object], *, body_chars_max: int) -> object:
    """The value of a parameter from all that was sent for it; its default where nothing was."""
    values = [value for value in given if not _is_absent(parameter, value)]
    if not values:
        if not parameter.is_required:
            return parameter.default
        raise Refused("is missing" if not given else "is empty")
    read = [_read(parameter, value, body_chars_max=body_chars_max) for value in values]
    if any(other != read[0] for other in read[1:]):
        raise Refused(f"is given twice with different values: {show(values[0])} and {show(values[1])}")
    return read[0]


def _is_absent(parameter: Parameter, value: object) -> bool:
    if value != "":
        return False
    return not (isinstance(parameter.marker, Text) and parameter.marker.keeps_empty)


def _read(parameter: Parameter, value: object, *, body_chars_max: int) -> object:
    match parameter.marker:
        case Text() as marker:
            read = _read_text(marker, value, is_required=parameter.is_required, body_chars_max=body_chars_max)
        case Id():
            read = _read_id(value)
        case Choice() as marker:
            read = _read_choice(marker, value)
        case Int() as marker:
            read = _read_int(marker, value)
        case Num() as marker:
            read = _read_num(marker, value)
        case Bool():
            read = _read_bool(value)
        case TextList() as marker:
            read = _read_list(marker, value, is_required=parameter.is_required)
        case Time():
            read = _read_time(value)
    return read


def _chars_max(marker: Text, body_chars_max: int) -> int:
    return body_chars_max if marker.chars_max == "body" else marker.chars_max


def _read_text(marker: Text, value: object, *, is_required: bool, body_chars_max: int) -> str:
    text = _as_text(value, chars_max=_chars_max(marker, body_chars_max))
    if (is_required or marker.keeps_empty) and not marker.may_be_blank:
        _refuse_blank(text)
    return text


def _read_id(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = _as_text(value, chars_max=ID_CHARS_MAX).strip()
    _refuse_blank(text)
    return text


def _read_choice(marker: Choice, value: object) -> str:
    if not isinstance(value, str) or value not in marker.choices:
        raise Refused(f"is {show(value)}, which is none of {', '.join(marker.choices)}")
    return value


def _read_int(marker: Int, value: object) -> int:
    number = _as_number(value)
    if isinstance(number, float):
        if not number.is_integer():
            raise Refused(f"is {show(value)}, which is no whole number")
        number = int(number)
    if number < marker.minimum or (number > marker.maximum and not marker.is_capped):
        raise Refused(f"is {show(value)}, out of {marker.minimum}..{marker.maximum}")
    return number


def _read_num(marker: Num, value: object) -> float:
    number = _as_number(value)
    if not marker.minimum <= number <= marker.maximum:
        raise Refused(f"is {show(value)}, out of {marker.minimum:g}..{marker.maximum:g}")
    return float(number)


def _read_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in {"true", "false"}:
        raise Refused(f"is {show(value)}, which is neither true nor false")
    return word == "true"


def _read_list(marker: TextList, value: object, *, is_required: bool) -> tuple[str, ...]:
    entries = _as_list(value)
    if is_required and not entries:
        raise Refused("is an empty list")
    if len(entries) > marker.entries_max:
        raise Refused(f"has {len(entries)} entries, over {marker.entries_max}: {show(entries)}")
    texts: list[str] = []
    for position, entry in enumerate(entries):
        try:
            text = _as_text(entry, chars_max=marker.chars_max)
            _refuse_blank(text)
        except Refused as refused:
            raise Refused(f"has an entry {position} that {refused}") from None
        texts.append(text)
    return tuple(texts)


def _read_time(value: object) -> tuple[int, bool]:
    """Milliseconds UTC, and whether the text said its zone."""
    from engram.rules.times import parse_time  # noqa: PLC0415 - start-up is measured; no call, no rules

    try:
        return parse_time(value if isinstance(value, str) else "")
    except Invalid:
        raise Refused(f"is {show(value)}, which is no time in ISO 8601") from None


def _as_list(value: object) -> list[object]:
    if isinstance(value, str):
        value = _parsed(value, "[{")
    if isinstance(value, list):
        return [entry for entry in cast("list[object]", value) if entry is not None]
    if isinstance(value, dict):
        raise Refused(f"is {show(cast('object', value))}, which is no list")
    if isinstance(value, str) and "," in value:
        raise Refused(f"is {show(value)}, one text with a comma where a list is wanted")
    return [value]


def _as_text(value: object, *, chars_max: int) -> str:
    """Text, also from a number or a boolean; never too long, never with characters that no database keeps."""
    from engram.rules.names import find_bad_character  # noqa: PLC0415 - start-up is measured; no call, no rules

    if isinstance(value, bool):
        value = "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        value = str(value)
    if not isinstance(value, str):
        raise Refused(f"is {show(value)}, which is no text")
    if len(value) > chars_max:
        raise Refused(f"has {len(value)} characters, over {chars_max}: {show(value)}")
    position = find_bad_character(value)
    if position is not None:
        what = "NUL" if value[position] == "\0" else "a lone surrogate"
        raise Refused(f"has {what} at position {position}: {show(value)}")
    return value


def _refuse_blank(text: str) -> None:
    from engram.rules.names import is_blank  # noqa: PLC0415 - start-up is measured; no call, no rules

    if is_blank(text):
        raise Refused(f"is {'blank' if text else 'empty'}: {show(text)}")


def _as_number(value: object) -> int | float:
    if isinstance(value, str):
        text = value.strip()
        if NUMBER.fullmatch(text):
            value = int(text) if text.lstrip("+-").isdigit() else float(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise Refused(f"is {show(value)}, which is no number")
    return cast("int | float", value)


def _parsed(text: str, openings: str) -> object:
    """The object or list that a text is the JSON of, else the text."""
    trimmed = text.strip()
    if not trimmed or trimmed[0] not in openings:
        return text
    try:
        return json.loads(trimmed)
    except (ValueError, RecursionError):
        return text


def _clean(text: str, *, chars_max: int) -> str:
    """Text without secrets, on one line, cut."""
    from engram.rules.redact import redact  # noqa: PLC0415 - needed by a refused call only, and start-up is measured

    redacted, _ = redact(text[:REDACTED_CHARS_MAX])
    # Control and format characters could forge lines of an answer; a surrogate could not be written at all.
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in redacted[: chars_max + 1])
    return line if len(line) <= chars_max else f"{line[: chars_max - 1]}…"
