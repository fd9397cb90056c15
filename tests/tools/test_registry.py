"""One declaration gives a tool its schema, its documentation and its call."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from engram.errors import Invalid, NotFound, Unavailable
from engram.tools import registry
from engram.tools.params import Bool, Choice, Id, Int, Num, Text, TextList
from engram.tools.registry import TOOLS, Profile, Reply, Tool, tool

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _only_our_tools() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - used by pytest
    """The registry is one a process; what a test declares must not be seen by another."""
    kept = dict(TOOLS)
    TOOLS.clear()
    yield
    TOOLS.clear()
    TOOLS.update(kept)


def declare(name: str = "toy_find", profile: Profile = "agent") -> Tool:
    def find(
        ctx: Any,
        *,
        query: Annotated[str, Text("What to find.", chars_max=50)],
        scope: Annotated[str, Choice("Where | how.", ("project", "personal"))] = "project",
        limit: Annotated[int, Int("Most hits.", minimum=1, maximum=20, is_capped=True)] = 10,
        weight: Annotated[float | None, Num("Weight.", minimum=0, maximum=1)] = None,
        exact: Annotated[bool, Bool("Word for word.")] = False,
        tags: Annotated[tuple[str, ...], TextList("Any of these.", chars_max=9, entries_max=5)] = (),
    ) -> Reply:
        """Find things.

        In words.
        """
        hits = [query, scope, str(weight), str(exact), *tags][:limit]
        return Reply(f"{ctx}: {' '.join(hits)}", notes=("a note",), shown=len(hits))

    find.__name__ = name
    tool(title="Find", profile=profile, role="read", is_read_only=True)(find)
    return TOOLS[name]


def failing(error: BaseException, output: dict[str, Any] | None = None) -> Tool:
    def toy_fail(ctx: Any) -> Reply:
        """Fail."""
        del ctx
        raise error

    tool(title="Fail", profile="admin", role="rw", is_destructive=True, output=output)(toy_fail)
    return TOOLS["toy_fail"]


def test_a_schema_is_flat_and_complete() -> None:
    """Every parameter has a type and a description, numbers their range, choices their words, no union."""
    assert registry.schema(declare()) == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to find."},
            "scope": {
                "type": "string",
                "description": "Where | how.",
                "enum": ["project", "personal"],
                "default": "project",
            },
            "limit": {"type": "integer", "description": "Most hits.", "minimum": 1, "maximum": 20, "default": 10},
            "weight": {"type": "number", "description": "Weight.", "minimum": 0, "maximum": 1},
            "exact": {"type": "boolean", "description": "Word for word.", "default": False},
            "tags": {"type": "array", "description": "Any of these.", "items": {"type": "string"}},
        },
        "required": ["query"],
    }


def test_a_tool_without_parameters_has_properties_all_the_same() -> None:
    """Some clients reject a schema without the key."""
    assert registry.schema(failing(ValueError())) == {"type": "object", "properties": {}}


def test_hints_are_always_explicit() -> None:
    """What the protocol would assume in silence is said."""
    assert registry.hints(declare()) == {
        "title": "Find",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert registry.hints(failing(ValueError()))["destructiveHint"] is True


def test_the_docstring_is_one_paragraph() -> None:
    """Line breaks of the source are not the model's business."""
    assert declare().description == "Find things. In words."


def test_a_sound_tool_has_no_problems() -> None:
    """The lint agrees with a correct declaration."""
    assert registry.lint(declare()) == []


def test_the_lint_finds_what_clients_reject() -> None:
    """Each kind of mistake in a declaration is a problem."""

    def toy_bad(ctx: Any, *, limit: Annotated[int, Int("", minimum=1, maximum=5)] = 9) -> Reply:
        raise NotImplementedError(ctx, limit)

    def toy_twice(
        ctx: Any,
        *,
        a_b: Annotated[str, Text("One.", chars_max=1)],
        scope: Annotated[str, Choice("Two.", ("x",), aliases=("aB",))] = "y",
    ) -> Reply:
        """Have two names for one thing."""
        raise NotImplementedError(ctx, a_b, scope)

    tool(title="", profile="agent", role="rw", is_read_only=True, is_destructive=True)(toy_bad)
    tool(title="Twice", profile="agent", role="rw")(toy_twice)
    problems = "\n".join(registry.lint(TOOLS["toy_bad"]))
    for part in ("title", "description: missing", "limit: no description", "out of range", "destructive", "role"):
        assert part in problems
    assert registry.lint(TOOLS["toy_twice"]) == ["ab: two parameters", "scope: its default is none of its choices"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#/x"}}}},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": False},
    ],
)
def test_the_schema_lint_is_recursive(schema: dict[str, Any]) -> None:
    """A forbidden keyword is found wherever it stands."""
    assert list(registry._lint_schema(schema, "schema"))


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    """Names of parameters are data: `not` or `format` is a fine name."""
    schema = {"type": "object", "properties": {"not": {"type": "string"}, "format": {"type": "string"}}}
    assert list(registry._lint_schema(schema, "schema")) == []


def test_two_tools_cannot_have_one_name() -> None:
    """A name taken twice fails at import, not at a call."""
    declare()
    with pytest.raises(ValueError, match="toy_find"):
        declare()


def test_a_parameter_without_a_marker_fails_at_import() -> None:
    """A parameter without a description and a limit cannot be declared."""

    def toy_bare(ctx: Any, *, text: str) -> Reply:
        return Reply(f"{ctx}{text}")

    with pytest.raises(ValueError, match="text"):
        tool(title="Bare", profile="agent", role="any")(toy_bare)


def test_profiles_and_names_are_selected_in_order_of_declaration() -> None:
    """Profiles, their unions and single tools mix; what is named twice is loaded once."""
    for name, profile in {"a": "agent", "b": "admin", "c": "team", "d": "extra"}.items():
        declare(name, profile)  # pyright: ignore[reportArgumentType] - the literals above

    def names(spec: str) -> str:
        return "".join(one.name for one in registry.select(spec))

    assert names("agent") == "a"
    assert names("mem") == "ab"
    assert names("all") == "abc"
    assert names(" b , a,, agent ") == "ab"
    assert names("all,extra") == "abcd"


@pytest.mark.parametrize("spec", ["nothing", "agent,nothing", "", " , ", "neural", "Agent"])
def test_an_unknown_selection_lists_the_valid_ones(spec: str) -> None:
    """A profile without tools is as unknown as a word that was never one."""
    declare()
    with pytest.raises(Invalid) as caught:
        registry.select(spec)
    line = caught.value.line()
    assert "agent, mem, all" in line
    assert "toy_find" in line


def test_a_call_returns_the_text_and_says_what_it_did_not_do() -> None:
    """Ignored keys, a lowered limit and notes are the last lines."""
    answer = registry.call(declare(), "me", {"query": "x", "limit": 50, "tags": ["t"], "cwd": "/"})
    assert not answer.is_error
    assert answer.structured is None
    assert answer.text.splitlines() == [
        "me: x project None False t",
        "Ignored: cwd",
        "Showing 5 of at most 20",
        "Note: a note",
    ]


def test_a_lowered_limit_is_a_note_where_nothing_was_counted() -> None:
    """Without a count of what is shown, the answer names the number that was too large."""

    def toy_around(ctx: Any, *, before: Annotated[int, Int("B.", minimum=0, maximum=50, is_capped=True)] = 5) -> Reply:
        """Look around."""
        return Reply(f"{ctx} {before}")

    tool(title="Around", profile="admin", role="read")(toy_around)
    text = registry.call(TOOLS["toy_around"], "me", {"before": 51}).text
    assert text == "me 50\nNote: before 51 is over 50, answered with 50"


def test_a_json_tool_answers_one_object_and_its_text() -> None:
    """Structured content and text are the same; warnings are a field."""

    def toy_count(ctx: Any, *, id: Annotated[str, Id("Which.")]) -> dict[str, Any]:  # noqa: A002 - the name is the contract's
        """Count."""
        del ctx
        return {"count": 2, "id": id, "name": "é"}

    tool(title="Count", profile="team", role="read", output={"type": "object"})(toy_count)
    answer = registry.call(TOOLS["toy_count"], None, {"id": 7, "x": 1})
    assert answer.structured == {"count": 2, "id": "7", "name": "é", "warnings": ["Ignored: x"]}
    assert json.loads(answer.text) == answer.structured
    assert "é" in answer.text


def test_a_known_error_is_an_answer_with_its_hint() -> None:
    """The caller gets code, message and hint as the tool raised them."""
    answer = registry.call(failing(NotFound("no memory #5", hint="Use mem_search.")), None, {})
    assert answer.is_error
    assert answer.code == "not_found"
    assert answer.text == "not_found: no memory #5. Use mem_search."


def test_unavailable_says_when_to_come_back() -> None:
    """In a text tool as text, in a JSON tool as a field."""
    error = Unavailable("busy", hint="Wait", retry_after=2.5)
    assert "2.5" in registry.call(failing(error), None, {}).text
    TOOLS.clear()
    answer = registry.call(failing(error, output={"type": "object"}), None, {})
    assert answer.structured == {"code": "unavailable", "retry_after": 2.5}


def test_an_unknown_error_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    """The log tells where it happened; neither it nor the answer tells what was to be remembered."""
    error = RuntimeError("my diary")
    error.__cause__ = KeyError("my password")
    with caplog.at_level(logging.ERROR):
        answer = registry.call(failing(error), None, {})
    assert answer.code == "internal"
    assert answer.text.startswith("internal: Internal error. ")
    assert "RuntimeError" in caplog.text
    assert "KeyError" in caplog.text
    assert "test_registry.py" in caplog.text
    assert "diary" not in caplog.text + answer.text
    assert "password" not in caplog.text + answer.text


def test_a_destructive_tool_is_not_run_with_an_unknown_key() -> None:
    """Refusing comes before running."""
    answer = registry.call(failing(AssertionError("it ran")), None, {"x": 1})
    assert answer.code == "invalid"


def test_the_body_limit_is_the_settings() -> None:
    """A body may be as long as the settings say, to the character."""

    def toy_save(ctx: Any, *, content: Annotated[str, Text("Text.", chars_max="body")]) -> Reply:
        """Save."""
        return Reply(f"{ctx} {len(content)}")

    tool(title="Save", profile="agent", role="rw")(toy_save)
    saved = TOOLS["toy_save"]
    assert registry.call(saved, "me", {"content": "x" * 7}, body_chars_max=7).text == "me 7"
    assert registry.call(saved, "me", {"content": "x" * 8}, body_chars_max=7).code == "invalid"


def test_the_reference_page_has_a_row_for_each_parameter() -> None:
    """Documentation comes from the same declaration, and a bar does not break its table."""
    page = registry.markdown([declare(), failing(ValueError())])
    assert "## toy_find" in page
    assert "| `query` |" in page
    assert "Where \\| how." in page
    assert "No parameters." in page
    assert "destructive" in page
