"""What callers send becomes what tools take, or is refused with a reason."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.tools import params
from engram.tools.params import Bool, Bound, Choice, Id, Int, Marker, Num, Parameter, Text, TextList, Time

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE = Parameter(name="title", marker=Text("Title.", chars_max=10), is_required=True)
BODY = Parameter(
    name="content", marker=Text("Text.", chars_max="body", aliases=("observation",)), is_required=False, default=""
)
LIMIT = Parameter(
    name="limit", marker=Int("Most.", minimum=1, maximum=20, is_capped=True), is_required=False, default=10
)
TOPIC = Parameter(name="topic_key", marker=Text("Key.", chars_max=10), is_required=False, default="")
TOOL = (TITLE, BODY, LIMIT, TOPIC)


def bind(arguments: object, parameters: Sequence[Parameter] = TOOL, *, is_destructive: bool = False) -> Bound:
    return params.bind(parameters, arguments, tool="toy", is_destructive=is_destructive, body_chars_max=1000)


def read(marker: Marker, value: object) -> Any:
    """The value of a single required parameter."""
    parameter = Parameter(name="it", marker=marker, is_required=True)
    return bind({"it": value}, [parameter]).values["it"]


def refusal(arguments: object, parameters: Sequence[Parameter] = TOOL, *, is_destructive: bool = False) -> str:
    with pytest.raises(Invalid) as caught:
        bind(arguments, parameters, is_destructive=is_destructive)
    return caught.value.line()


NUMBER = Int("Number.", minimum=-5, maximum=20)
SHARE = Num("Share.", minimum=0, maximum=1)
TAGS = TextList("Tags.", chars_max=5, entries_max=3)
WORDS = Text("Words.", chars_max=20)


@pytest.mark.parametrize(
    ("marker", "value", "expected"),
    [
        (NUMBER, 5, 5),
        (NUMBER, "5", 5),
        (NUMBER, " -5 ", -5),
        (NUMBER, 5.0, 5),
        (NUMBER, "5.0", 5),
        (NUMBER, "1e1", 10),
        (SHARE, "0.5", 0.5),
        (SHARE, 1, 1.0),
        (WORDS, 5, "5"),
        (WORDS, True, "true"),
        (WORDS, 0.5, "0.5"),
        (WORDS, '{"a": 1}', '{"a": 1}'),
        (WORDS, "  kept as sent\r\n", "  kept as sent\r\n"),
        (Bool("B."), "TRUE", True),
        (Bool("B."), "False", False),
        (Bool("B."), False, False),
        (Id("Id."), 12, "12"),
        (Id("Id."), 12.0, "12"),
        (Id("Id."), " #12@Team notes ", "#12@Team notes"),
        (Choice("C.", ("a", "b")), "b", "b"),
        (TAGS, ["a", 5, True], ("a", "5", "true")),
        (TAGS, '["a", "b"]', ("a", "b")),
        (TAGS, "a", ("a",)),
        (TAGS, "[dra", ("[dra",)),
        (TAGS, 5, ("5",)),
        (TAGS, ["a", None], ("a",)),
        (Time("T."), "1970-01-02", 86_400_000),
        (Time("T."), "1970-01-01T01:00:00.5+01:00", 500),
    ],
)
def test_values_are_read_kindly(marker: Marker, value: object, expected: object) -> None:
    """Each kind of parameter takes the spellings that clients really send."""
    result = read(marker, value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("marker", "value"),
    [
        (NUMBER, 5.5),
        (NUMBER, "five"),
        (NUMBER, "1_0"),
        (NUMBER, "٥"),
        (NUMBER, True),
        (NUMBER, "true"),
        (NUMBER, 21),
        (NUMBER, -6),
        (NUMBER, math.nan),
        (NUMBER, math.inf),
        (NUMBER, "inf"),
        (NUMBER, "1e999"),
        (NUMBER, [5]),
        (SHARE, 1.01),
        (SHARE, math.nan),
        (SHARE, False),
        (WORDS, {"a": 1}),
        (WORDS, ["a"]),
        (WORDS, math.inf),
        (WORDS, "x" * 21),
        (WORDS, "a\0b"),
        (WORDS, "a\ud800b"),
        (WORDS, ""),
        (WORDS, " \n\u200b\x07"),
        (Bool("B."), "yes"),
        (Bool("B."), 1),
        (Id("Id."), "  "),
        (Id("Id."), "9" * 201),
        (Choice("C.", ("a", "b")), "A"),
        (Choice("C.", ("a", "b")), ["a"]),
        (TAGS, "a, b"),
        (TAGS, ["a", "b", "c", "d"]),
        (TAGS, ["a", " "]),
        (TAGS, ["toolong"]),
        (TAGS, [["a"]]),
        (TAGS, []),
        (TAGS, {"a": 1}),
        (TAGS, '{"a": 1}'),
        (Time("T."), "yesterday"),
        (Time("T."), 5),
        (Time("T."), "2025-13-01"),
    ],
)
def test_what_does_not_fit_is_refused(marker: Marker, value: object) -> None:
    """Nothing is clamped, cut or guessed: a value fits or the call is invalid."""
    with pytest.raises(Invalid):
        read(marker, value)


def test_absent_parameters_have_their_defaults() -> None:
    """Left out, null and empty optional text are the same."""
    expected = {"title": "a", "content": "", "limit": 10, "topic_key": ""}
    assert bind({"title": "a"}).values == expected
    assert bind({"title": "a", "content": None, "limit": None, "topic_key": ""}).values == expected
    assert bind({"title": "a", "limit": ""}).values == expected


def test_an_empty_text_can_be_a_value() -> None:
    """A parameter that may be cleared tells an empty text from none."""
    key = Parameter(
        name="topic_key", marker=Text("Key.", chars_max=9, keeps_empty=True, may_be_blank=True), is_required=False
    )
    assert bind({}, [key]).values == {"topic_key": None}
    assert bind({"topic_key": None}, [key]).values == {"topic_key": None}
    assert bind({"topic_key": ""}, [key]).values == {"topic_key": ""}


def test_a_text_that_may_not_be_cleared_is_refused_empty() -> None:
    """Where empty is not absent, it is blank."""
    title = Parameter(name="title", marker=Text("Title.", chars_max=9, keeps_empty=True), is_required=False)
    for blank in ("", "   "):
        assert refusal({"title": blank}, [title]).startswith("invalid: title is ")


@pytest.mark.parametrize("key", ["topic_key", "topicKey", "topic-key", "TOPIC_KEY", "topickey"])
def test_keys_are_compared_without_case_and_separators(key: str) -> None:
    """A client's own spelling of a key is understood."""
    assert bind({"title": "a", key: "k"}).values["topic_key"] == "k"


def test_two_spellings_must_agree() -> None:
    """The same value twice is no harm, two values are."""
    assert bind({"title": "a", "topic_key": "k", "topicKey": "k"}).values["topic_key"] == "k"
    assert bind({"title": "a", "content": "c", "observation": "c"}).values["content"] == "c"
    assert bind({"title": "a", "content": None, "observation": "c"}).values["content"] == "c"
    assert "given twice" in refusal({"title": "a", "content": "c", "observation": "d"})


@pytest.mark.parametrize(
    "arguments",
    [
        '{"title": "a"}',
        {"arguments": {"title": "a"}},
        {"arguments": '{"title": "a"}'},
        '{"arguments": {"title": "a"}}',
    ],
)
def test_wrapped_arguments_are_unwrapped(arguments: object) -> None:
    """Some clients send the arguments as JSON text, or inside a key of that name."""
    assert bind(arguments).values["title"] == "a"


@pytest.mark.parametrize("arguments", ["title", "[1]", [1], 5, True, {"arguments": 5}, '{"title": "a"'])
def test_arguments_that_are_no_object_are_refused(arguments: object) -> None:
    """What is no object of parameters is said to be none."""
    assert "no JSON object" in refusal(arguments)


@pytest.mark.parametrize("arguments", [None, {}, "", "{}", {"arguments": None}])
def test_no_arguments_are_an_empty_object(arguments: object) -> None:
    """A tool without required parameters can be called with nothing."""
    assert bind(arguments, [LIMIT]).values == {"limit": 10}


def test_a_missing_parameter_is_named_with_the_keys_received() -> None:
    """The caller sees what was wanted and what arrived."""
    line = refusal({"content": "x", "foo": 1})
    assert line.startswith("invalid: title is missing")
    assert "keys received: content, foo" in line
    assert "at most 10 characters" in line
    assert refusal({}).count("keys received: none") == 1


def test_only_capped_numbers_are_answered_at_their_maximum() -> None:
    """A limit over its maximum becomes the maximum and is reported; below its minimum it is refused."""
    bound = bind({"title": "a", "limit": "50"})
    assert bound.values["limit"] == 20
    assert [(one.name, one.given, one.maximum) for one in bound.capped] == [("limit", 50, 20)]
    assert "1..20" in refusal({"title": "a", "limit": 0})


def test_unknown_keys_are_ignored_and_named() -> None:
    """A tool that destroys nothing goes on without what it does not know."""
    bound = bind({"title": "a", "cwd": "/", "x\ny": 1})
    assert bound.ignored == ("cwd", "x\\ny")


def test_a_destructive_tool_refuses_unknown_keys() -> None:
    """A misspelt key of a destructive tool does nothing, and the nearest parameter is named."""
    hard = Parameter(name="hard_delete", marker=Bool("For good."), is_required=False, default=False)
    identity = Parameter(name="id", marker=Id("Which."), is_required=True)
    line = refusal({"id": 1, "hard_delet": True}, [identity, hard], is_destructive=True)
    assert "hard_delet is no parameter of toy" in line
    assert "Did you mean hard_delete?" in line


def test_a_refused_value_is_shown_without_secrets_and_cut() -> None:
    """What is echoed is redacted first, then cut to 80 characters."""
    number = Parameter(name="n", marker=NUMBER, is_required=True)
    assert "hush" not in refusal({"n": "<private>hush</private> 5"}, [number])
    assert "[REDACTED]" in refusal({"n": "<private>hush</private> 5"}, [number])
    assert "[REDACTED]" in refusal({"n": 1, "<private>hush</private>": 2}, [number], is_destructive=True)
    shown = params.show("é" * 5000)
    assert len(shown) == 80
    assert shown.endswith('…"')


def test_positions_of_bad_characters_are_told() -> None:
    """NUL and lone surrogates are refused where they stand, and the answer can be written as UTF-8."""
    assert "NUL at position 2" in refusal({"title": "ab\0"})
    line = refusal({"title": "a\ud800"})
    assert "surrogate at position 1" in line
    assert line.encode()


def test_a_time_without_a_zone_is_said() -> None:
    """Reading a local time as UTC is a guess that the answer tells."""
    since = Parameter(name="since", marker=Time("When."), is_required=False)
    assert bind({"since": "2025-01-01T00:00:00Z"}, [since]).notes == ()
    assert len(bind({"since": "2025-01-01T00:00:00"}, [since]).notes) == 1


def test_deep_nesting_is_refused_not_followed() -> None:
    """A value of a thousand levels costs an error, not the stack."""
    deep: object = []
    for _ in range(100_000):
        deep = [deep]
    assert "no text" in refusal({"title": deep})
    assert "no text" in refusal({"title": "a", "topic_key": {"a": deep}})
    tags = Parameter(name="tags", marker=TAGS, is_required=False)
    assert "comma" not in refusal({"tags": "[" * 100_000}, [tags])


def test_many_keys_are_shown_in_part() -> None:
    """An error stays short however many keys came."""
    line = refusal({f"k{i}": i for i in range(10_000)})
    assert "and 9980 more" in line
    assert len(line) < 1000


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
EVERY = (
    *TOOL,
    Parameter(name="tags", marker=TAGS, is_required=False, default=()),
    Parameter(name="share", marker=SHARE, is_required=False),
    Parameter(name="since", marker=Time("When."), is_required=False),
    Parameter(name="id", marker=Id("Which."), is_required=False),
    Parameter(name="flag", marker=Bool("Flag."), is_required=False, default=False),
)


@given(arguments=JSON_VALUES | st.dictionaries(st.sampled_from([one.name for one in EVERY]), JSON_VALUES))
def test_any_input_is_bound_or_refused(arguments: object) -> None:
    """No input raises anything but Invalid, whose text can be written; what is bound is in range."""
    try:
        bound = bind(arguments, EVERY)
    except Invalid as error:
        error.line().encode()  # raises where a surrogate was left in it
        return
    assert bound.values.keys() == {one.name for one in EVERY}
    assert len(bound.values["title"]) <= 10
    assert 1 <= bound.values["limit"] <= 20
    assert json.dumps(bound.ignored).isascii()
