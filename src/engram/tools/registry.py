"""The registry of tools: one declaration gives the schema, the annotations, the documentation and the call.

Arguments are validated here, once; a tool function gets values that fit its signature.
"""

from __future__ import annotations

import inspect
import json
import logging
import re
import traceback
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from engram.errors import EngramError, Invalid, Unavailable
from engram.model import BODY_CHARS_MAX
from engram.tools import params
from engram.tools.params import Bool, Choice, Int, Marker, Num, Parameter, TextList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

logger = logging.getLogger(__name__)

Profile = Literal["agent", "admin", "neural", "team", "extra"]
Role = Literal["rw", "read", "any", "owner", "op", "group"]
Function = TypeVar("Function", bound="Callable[..., Reply | dict[str, Any]]")

# Profiles that are made of others. What is in `extra` is loaded only when asked for by name.
COMPOSED: Mapping[str, tuple[str, ...]] = {"mem": ("agent", "admin"), "all": ("agent", "admin", "neural", "team")}
FORBIDDEN_KEYWORDS = frozenset(
    {"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "definitions", "$schema", "additionalProperties", "format"}
)
TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
PARAMETER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
INTERNAL_HINT = "Try again; if it stays, its cause is in the log of the server (stderr)."


@dataclass(frozen=True, slots=True)
class Reply:
    """What a text tool answers.

    Attributes:
        text: The answer, or, where the length of the whole is limited, what makes the whole from its last lines.
        notes: What should be known, a line each.
        shown: How many entries the text lists, told where a limit was over its maximum.
        data: The same as values, for a surface that is asked for them; a client's model reads the text.
    """

    text: str | Callable[[Sequence[str]], str]
    notes: tuple[str, ...] = ()
    shown: int | None = None
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a call, ready for any surface."""

    text: str
    structured: dict[str, Any] | None = None
    is_error: bool = False
    code: str = ""  # of the error: a surface may have its own word for it
    data: dict[str, Any] | None = None  # a text tool's answer as values


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: what is declared about it, and the function behind it."""

    name: str
    title: str
    description: str
    profile: Profile
    role: Role
    is_read_only: bool
    is_destructive: bool
    is_idempotent: bool
    is_open_world: bool
    parameters: tuple[Parameter, ...]
    function: Callable[..., Reply | dict[str, Any]]
    output: Mapping[str, Any] | None = None  # schema of a JSON answer; None: a text tool


TOOLS: dict[str, Tool] = {}


def tool(
    *,
    title: str,
    profile: Profile,
    role: Role,
    is_read_only: bool = False,
    is_destructive: bool = False,
    is_idempotent: bool = False,
    is_open_world: bool = False,
    output: Mapping[str, Any] | None = None,
) -> Callable[[Function], Function]:
    """Register a function as a tool: its name, its docstring as description, its keyword arguments as parameters.

    Raises:
        ValueError: the name is taken, or a parameter has no marker.
    """

    def register(function: Function) -> Function:
        name = function.__name__
        if name in TOOLS:
            raise ValueError(f"there are two tools named {name}")
        TOOLS[name] = Tool(
            name=name,
            title=title,
            description=" ".join((function.__doc__ or "").split()),
            profile=profile,
            role=role,
            is_read_only=is_read_only,
            is_destructive=is_destructive,
            is_idempotent=is_idempotent,
            is_open_world=is_open_world,
            parameters=_parameters(function),
            function=function,
            output=output,
        )
        return function

    return register


def call(tool: Tool, ctx: Any, arguments: object, *, body_chars_max: int = BODY_CHARS_MAX) -> Answer:  # noqa: ANN401 - the engine's context passes through unread
    """Validate the arguments, run the tool, and put its answer or its error into words. Never raises an Exception."""
    try:
        return answer(tool, ctx, arguments, body_chars_max=body_chars_max)
    except EngramError as error:
        return failure(tool, error)
    except Exception as error:  # noqa: BLE001 - the last boundary: whatever it is, the caller gets an answer
        log_failure(f"Tool {tool.name}", error)
        return failure(tool, EngramError(hint=INTERNAL_HINT))


def answer(tool: Tool, ctx: Any, arguments: object, *, body_chars_max: int = BODY_CHARS_MAX) -> Answer:  # noqa: ANN401 - as above
    """Validate the arguments, run the tool, and put its answer into words.

    Raises:
        EngramError: the arguments do not fit, or the tool refused.
    """
    bound = params.bind(
        tool.parameters,
        arguments,
        tool=tool.name,
        is_destructive=tool.is_destructive,
        body_chars_max=body_chars_max,
    )
    value = tool.function(ctx, **bound.values)
    return _text_answer(value, bound) if isinstance(value, Reply) else _json_answer(value, bound)


def failure(tool: Tool, error: EngramError) -> Answer:
    """An error as an answer: ``code: message. hint``."""
    structured: dict[str, Any] | None = None
    if isinstance(error, Unavailable) and tool.output is not None:
        structured = {"code": error.code, "retry_after": error.retry_after}
    line = error_line(error, again=f"call {tool.name} again")
    return Answer(text=line, structured=structured, is_error=True, code=error.code)


def error_line(error: EngramError, *, again: str) -> str:
    """An error as one line; ``again`` says what to do once the input is corrected, where the error does not."""
    if isinstance(error, Invalid) and not error.hint:  # a rule does not know by which tool it was reached
        error = Invalid(str(error), hint=f"Correct it and {again}.")
    line = error.line()
    return f"{line.rstrip('.')}. Retry after {error.retry_after:g} s." if isinstance(error, Unavailable) else line


def log_failure(what: str, error: BaseException) -> None:
    """Log where an unknown error came from. Its own text is left out: it may quote what was to be remembered."""
    lines: list[str] = []
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        lines += [*traceback.format_tb(cause.__traceback__), f"{type(cause).__module__}.{type(cause).__qualname__}\n"]
        cause = cause.__cause__ or cause.__context__
    logger.error("%s failed:\n%s", what, "".join(lines))


def schema(tool: Tool) -> dict[str, Any]:
    """The flat JSON schema of a tool's arguments."""
    properties = {one.name: _property(one) for one in tool.parameters}
    result: dict[str, Any] = {"type": "object", "properties": properties}
    required = [one.name for one in tool.parameters if one.is_required]
    return {**result, "required": required} if required else result


def hints(tool: Tool) -> dict[str, Any]:
    """The hints of a tool, under the protocol's names. What the protocol assumes otherwise is always said."""
    return {
        "title": tool.title,
        "readOnlyHint": tool.is_read_only,
        "destructiveHint": tool.is_destructive,
        "idempotentHint": tool.is_idempotent or tool.is_read_only,
        "openWorldHint": tool.is_open_world,
    }


def select(spec: str) -> list[Tool]:
    """The tools that a list of profiles and tool names with commas means, in the order of the registry.

    Raises:
        Invalid: a name is unknown, or none is given; the text lists the valid ones.
    """
    parts = [part.strip() for part in spec.split(",") if part.strip()]
    members = _profiles()
    unknown = [part for part in parts if part not in members and part not in TOOLS]
    if unknown or not parts:
        wrong = f"unknown tools or profile: {params.show_keys(unknown)}" if unknown else "no tools are named"
        raise Invalid(
            f"{wrong}; valid are the profiles {', '.join(members)} and the tools {', '.join(TOOLS)}",
            hint="Give profiles and tool names with commas.",
        )
    chosen = {name for part in parts for name in members.get(part, (part,))}
    return [one for one in TOOLS.values() if one.name in chosen]


def lint(tool: Tool) -> list[str]:
    """What would make a client reject or misread a tool; empty when it is sound."""
    problems: list[str] = []
    if not TOOL_NAME.fullmatch(tool.name):
        problems.append("name: not of lower case letters, digits and underscores")
    problems += [f"{what}: missing" for what in ("title", "description") if not getattr(tool, what).strip()]
    if tool.is_read_only and tool.is_destructive:
        problems.append("annotations: read-only and destructive")
    if tool.is_read_only and tool.role in {"rw", "owner"}:
        problems.append("annotations: read-only, but its role is one of a writer")
    spellings = [spelling for one in tool.parameters for spelling in params.spellings(one)]
    problems += [f"{spelling}: two parameters" for spelling in sorted(set(spellings)) if spellings.count(spelling) > 1]
    for one in tool.parameters:
        problems += _lint_parameter(one)
    return problems + list(_lint_schema(schema(tool), "schema"))


def markdown(tools: Iterable[Tool]) -> str:
    """The reference page of these tools."""
    return "\n".join(["# Tools", "", *(line for one in tools for line in _markdown_of(one))])


def _parameters(function: Callable[..., object]) -> tuple[Parameter, ...]:
    """Read the keyword-only arguments of a function. Only these annotations are evaluated."""
    arguments = [
        one for one in inspect.signature(function).parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    # The context may be annotated with a name that is imported for type checkers alone.
    holder = types.SimpleNamespace(__annotations__={one.name: one.annotation for one in arguments})
    module = inspect.unwrap(function).__globals__
    found = typing.get_type_hints(holder, globalns=module, include_extras=True)
    return tuple(
        Parameter(
            name=one.name,
            marker=_marker(one.name, found[one.name]),
            is_required=one.default is inspect.Parameter.empty,
            default=None if one.default is inspect.Parameter.empty else one.default,
        )
        for one in arguments
    )


def _marker(name: str, hint: object) -> Marker:
    markers = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Marker)]
    if len(markers) != 1:
        raise ValueError(f"parameter {name} needs one marker, such as Annotated[str, Text(...)]")
    return markers[0]


def _profiles() -> dict[str, tuple[str, ...]]:
    """Every profile that has tools, with their names."""
    plain: dict[str, tuple[str, ...]] = {}
    for one in TOOLS.values():
        plain[one.profile] = (*plain.get(one.profile, ()), one.name)
    composed = {name: tuple(tool for part in parts for tool in plain.get(part, ())) for name, parts in COMPOSED.items()}
    return {**plain, **{name: names for name, names in composed.items() if names}}


def _warnings(bound: params.Bound, *, shown: int | None) -> tuple[list[str], list[str], list[str]]:
    """What the answer says about the call: keys that were ignored, limits that were over their maximum, notes."""
    ignored = [params.show_keys(bound.ignored)] if bound.ignored else []
    if shown is not None and len(bound.capped) == 1:
        return ignored, [f"Showing {shown} of at most {bound.capped[0].maximum}"], list(bound.notes)
    over = [
        f"{one.name} {params.show(one.given)} is over {one.maximum}, answered with {one.maximum}"
        for one in bound.capped
    ]
    return ignored, [], [*over, *bound.notes]


def _text_answer(reply: Reply, bound: params.Bound) -> Answer:
    ignored, showing, notes = _warnings(bound, shown=reply.shown)
    last = [
        *(f"Ignored: {keys}" for keys in ignored),
        *showing,
        *(f"Note: {note}" for note in (*notes, *reply.notes)),
    ]
    text = "\n".join([reply.text, *last]) if isinstance(reply.text, str) else reply.text(last)
    if reply.data is None:
        return Answer(text=text)
    return Answer(text=text, data={**reply.data, "warnings": last} if last else reply.data)


def _json_answer(value: dict[str, Any], bound: params.Bound) -> Answer:
    ignored, _, notes = _warnings(bound, shown=None)
    warnings = [*value.get("warnings", []), *(f"Ignored: {keys}" for keys in ignored), *notes]
    structured = {**value, "warnings": warnings} if warnings else value
    text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Answer(text=text, structured=structured)


def _property(parameter: Parameter) -> dict[str, Any]:
    marker = parameter.marker
    result: dict[str, Any] = {"type": _json_type(marker), "description": marker.description}
    match marker:
        case Choice():
            result["enum"] = list(marker.choices)
        case Int() | Num():
            result |= {"minimum": marker.minimum, "maximum": marker.maximum}
        case TextList():
            result["items"] = {"type": "string"}
        case _:
            pass
    default = parameter.default
    if default not in (None, "", ()):
        result["default"] = list(cast("tuple[str, ...]", default)) if isinstance(default, tuple) else default
    return result


def _json_type(marker: Marker) -> str:
    match marker:
        case Int():
            return "integer"
        case Num():
            return "number"
        case Bool():
            return "boolean"
        case TextList():
            return "array"
        case _:
            return "string"


def _lint_parameter(parameter: Parameter) -> list[str]:
    problems: list[str] = []
    marker = parameter.marker
    if not PARAMETER_NAME.fullmatch(parameter.name):
        problems.append(f"{parameter.name}: not a plain name")
    if not marker.description.strip():
        problems.append(f"{parameter.name}: no description")
    default = parameter.default
    if isinstance(marker, Choice) and default not in (None, "", *marker.choices):
        problems.append(f"{parameter.name}: its default is none of its choices")
    if isinstance(marker, Int | Num) and isinstance(default, int | float):
        is_inside = marker.minimum <= default <= marker.maximum
        problems += [] if is_inside else [f"{parameter.name}: its default is out of range"]
    return problems


def _lint_schema(node: object, path: str) -> Iterable[str]:
    """Problems anywhere in a schema. Names of properties are data, not keywords."""
    if isinstance(node, list):
        for position, entry in enumerate(cast("list[object]", node)):
            yield from _lint_schema(entry, f"{path}[{position}]")
    if not isinstance(node, dict):
        return
    keywords = cast("dict[str, Any]", node)
    for keyword in sorted(FORBIDDEN_KEYWORDS & keywords.keys()):
        yield f"{path}: {keyword}"
    kind = keywords.get("type")
    if not isinstance(kind, str) or kind == "null":
        yield f"{path}: its type is not one word"
    if kind == "object" and not isinstance(keywords.get("properties"), dict):
        yield f"{path}: no properties"
    if kind in ("integer", "number") and not {"minimum", "maximum"} <= keywords.keys():
        yield f"{path}: a number without minimum and maximum"
    for name, child in cast("dict[str, Any]", keywords.get("properties", {})).items():
        yield from _lint_schema(child, f"{path}.{name}")
    if "items" in keywords:
        yield from _lint_schema(keywords["items"], f"{path}.items")


def _markdown_of(tool: Tool) -> Sequence[str]:
    flags = {
        "read-only": tool.is_read_only,
        "destructive": tool.is_destructive,
        "idempotent": tool.is_idempotent,
        "open world": tool.is_open_world,
    }
    facts = [f"profile `{tool.profile}`", f"role `{tool.role}`", *(name for name, is_set in flags.items() if is_set)]
    lines = [f"## {tool.name}", "", f"{tool.title}: {', '.join(facts)}.", "", tool.description, ""]
    if not tool.parameters:
        return [*lines, "No parameters.", ""]
    rows = [_markdown_row(one) for one in tool.parameters]
    return [*lines, "| parameter | takes | default | meaning |", "|---|---|---|---|", *rows, ""]


def _markdown_row(parameter: Parameter) -> str:
    default = parameter.default
    shown = "required" if parameter.is_required else "" if default is None else json.dumps(default, ensure_ascii=False)
    also = "".join(f", also `{alias}`" for alias in parameter.marker.aliases)
    takes = params.wanted(parameter.marker, body_chars_max=BODY_CHARS_MAX)
    cells = [f"`{parameter.name}`{also}", takes, shown, parameter.marker.description]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
