"""Passive capture, and the headings that it and the session summary go by."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.rules import headings, passive

property_test = settings(deadline=None, max_examples=150)
ONE = "The pool must be larger than the worker count"
TWO = "SQLite keeps one writer, whatever the mode is"
THREE = "Retries need an idempotency key to be safe"
LIST = f"- {ONE}\n- {TWO}\n"


@pytest.mark.parametrize(
    "heading",
    [
        "## Key Learnings",
        "## Key Learnings:",
        "### LEARNINGS",
        "#### lessons learned :",
        "## Aprendizajes",
        "## Aprendizajes Clave:",
        "## Key Learnings ##",
        "## **Key Learnings**",
        "## 🧠 3. Key  Learnings",
        "**Key Learnings**",
        "**Key Learnings:**",
        "__Lessons Learned__:",
        "  ## Learnings",
    ],
)
def test_a_section_is_known_by_its_heading(heading: str) -> None:
    """Levels 2 to 4 or a bold line, both languages, any case, colon or not, marks around it aside."""
    assert passive.extract(f"Done.\n\n{heading}\n{LIST}") == ([ONE, TWO], 0)


@pytest.mark.parametrize(
    "heading",
    [
        "# Key Learnings",
        "##### Key Learnings",
        "Key Learnings:",
        "##Key Learnings",
        "## Key Learnings from today",
        "## My Learnings",
        "**Key** **Learnings**",
        "    ## Key Learnings",
        "> ## Key Learnings",
        "## Key Learning",
    ],
)
def test_another_line_opens_no_section(heading: str) -> None:
    """Other levels, other words, plain text, code."""
    assert passive.extract(f"{heading}\n{LIST}") == ([], 0)


@pytest.mark.parametrize("end", ["## Next", "# Next", "**Next**", "**Next:**"])
def test_a_section_ends_at_a_heading_of_its_level_or_above_or_a_bold_line(end: str) -> None:
    """What stands below belongs to something else."""
    assert passive.extract(f"## Learnings\n- {ONE}\n{end}\n- {TWO}\n") == ([ONE], 0)


def test_a_section_goes_on_below_its_own_subheadings() -> None:
    """A lower heading divides the section; even one of the same name reads nothing twice."""
    text = f"## Learnings\n- {ONE}\n### Database\n- {TWO}\n### Lessons Learned\n- {THREE}\n"
    assert passive.extract(text) == ([ONE, TWO, THREE], 0)


def test_a_bold_section_ends_at_any_heading() -> None:
    """A bold line is below every heading."""
    assert passive.extract(f"**Learnings**\n- {ONE}\n###### Deep\n- {TWO}\n") == ([ONE], 0)


def test_every_section_is_read() -> None:
    """In the order of the text, whatever stands between."""
    text = f"## Learnings\n1. {ONE}\n## Other\n- no\n## Aprendizajes\n* {TWO}\n**Lessons Learned:**\n+ {THREE}\n"
    assert passive.extract(text) == ([ONE, TWO, THREE], 0)


@pytest.mark.parametrize("marker", ["-", "*", "+", "•", "1.", "2)", "10."])
def test_items_have_any_bullet_or_number(marker: str) -> None:
    """Bullets and numbers of both forms, indented or not."""
    assert passive.extract(f"## Learnings\n  {marker} {ONE}\n  {marker}   {TWO}") == ([ONE, TWO], 0)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_are_read(line_end: str) -> None:
    """The same items from the same text."""
    text = f"## Learnings\n- {ONE}\n  and more\n- {TWO}\n"
    assert passive.extract(text.replace("\n", line_end)) == ([f"{ONE}\nand more", TWO], 0)


def test_an_item_keeps_its_continuation_lines() -> None:
    """Wrapped text, a paragraph below, a nested list and a fence; without the indent that they share."""
    text = (
        f"## Learnings\n1. {ONE}\nwrapped\n   wrapped deeper\n\n   Its own paragraph.\n"
        "   - nested one\n     - nested two\n"
        f"   ```sh\n   ## Learnings\n     - run it\n   ```\n2. {TWO}\n\nNot an item.\n- {THREE}\n"
    )
    first = (
        f"{ONE}\nwrapped\nwrapped deeper\n\nIts own paragraph.\n- nested one\n  - nested two\n"
        "```sh\n## Learnings\n  - run it\n```"
    )
    assert passive.extract(text) == ([first, TWO, THREE], 0)


@pytest.mark.parametrize("end", ["---", "* * *", "### Sub", "\nplain text after an empty line"])
def test_an_item_ends_where_something_else_begins(end: str) -> None:
    """A rule, a heading, a paragraph of its own."""
    assert passive.extract(f"## Learnings\n- {ONE}\n{end}\nmore text\n- {TWO}\n") == ([ONE, TWO], 0)


@pytest.mark.parametrize("fence", ["```", "~~~~", "```markdown"])
def test_a_fence_holds_no_headings_and_no_items(fence: str) -> None:
    """A quoted example is no learning, and does not end the section around it."""
    close = fence.rstrip("markdown")
    quoted = f"{fence}\n## Learnings\n- {THREE}\n## Other\n{close}\n"
    assert passive.extract(quoted) == ([], 0)
    assert passive.extract(f"## Learnings\n{quoted}- {ONE}\n") == ([ONE], 0)


def test_a_fence_is_closed_by_its_own_kind_only() -> None:
    """Fewer marks, other marks, or marks with a word do not close it; an open one goes on to the end."""
    assert passive.extract(f"````\n```\n~~~~\n```` x\n## Learnings\n- {ONE}\n") == ([], 0)
    assert passive.extract(f"````\n`````\n## Learnings\n- {ONE}\n") == ([ONE], 0)
    assert passive.extract(f"``` a`b\n## Learnings\n- {ONE}\n") == ([ONE], 0)


def test_short_items_are_skipped_and_counted() -> None:
    """Under 20 characters, 8 where most are CJK; characters, not bytes, of the text on one line."""
    items = [
        "x" * 19,
        "x" * 20,
        "é" * 19,
        "必ず再試行する",
        "必ず再試行すること",
        "연결을 먼저 닫아라",
        "a b c 再 試",
        "",
    ]
    text = "## Learnings\n" + "".join(f"- {item}\n" for item in items) + "- a" + " " * 30 + "b\n"
    assert passive.extract(text) == (["x" * 20, "必ず再試行すること", "연결을 먼저 닫아라"], 6)


@pytest.mark.parametrize(
    "text", ["", "no list", "## Learnings", "## Learnings\nplain text that is long enough to keep"]
)
def test_where_there_is_no_item_there_is_nothing(text: str) -> None:
    """Neither an item nor a skipped one."""
    assert passive.extract(text) == ([], 0)


@property_test
@given(
    st.lists(
        st.sampled_from(
            ["## Learnings", "# A", "**B**", "```", "- item", "  - sub", "1. one", "", "text", "---", "   x"]
        ),
        max_size=25,
    )
)
def test_nothing_is_made_up_or_read_twice(lines: list[str]) -> None:
    """Each line of an item is a line of the text, and there are no more items than marked lines."""
    text = "\n".join(f"{line} number {at} of these" if line not in {"", "```", "---"} else line
                     for at, line in enumerate(lines))  # fmt: skip
    items, skipped = passive.extract(text.replace("## Learnings number", "## Learnings\n- number"))
    numbers = [word for item in items for word in item.split() if word.isdigit()]
    assert len(numbers) == len(set(numbers))
    assert len(items) + skipped <= len(lines)


@property_test
@given(st.text("#*-`~ \n1.)Learnigs:", max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    """Every item that comes out is trimmed and long enough."""
    items, skipped = passive.extract("## Learnings\n" + text)
    assert skipped >= 0
    assert all(item == item.strip() and passive.is_long_enough(item) for item in items)


@pytest.mark.parametrize("unit", ["- ", "# ", "**", "`", "```\n", "-\n", " ", "- - -\n", "1. a\n  ", "*a", "\n"])
def test_a_megabyte_is_read_in_seconds(unit: str) -> None:
    """The reading is linear, whatever the text repeats."""
    began = time.perf_counter()
    passive.extract("## Learnings\n- " + unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize(
    ("item", "title"),
    [
        (ONE, ONE),
        ("a\nb", "a b"),
        ("word " * 20, "word word word word word word word word word word word word"),
        ("x" * 70, "x" * 60),
    ],
)
def test_the_title_of_an_item_is_its_beginning(item: str, title: str) -> None:
    """The first 60 characters at a word, on one line."""
    assert passive.passive_title(item) == title


FULL = "## Goal\nx\n## Discoveries\n- x\n## Accomplished\n- x\n## Relevant Files\n- x\n"


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (FULL, []),
        (FULL.upper(), []),
        (FULL.replace("## Relevant Files", "#### files:"), []),
        (FULL.replace("## Goal", "**Goal**:").replace("## Discoveries", "# 🔍 Discoveries"), []),
        ("## Objetivo\n## Descubrimientos\n## Logros\n## Archivos relevantes\n", []),
        ("## Objetivos\n## Hallazgos\n## Completado\n## Ficheros\n", []),
        ("## Goal: ship it\n## Accomplished\n", ["Discoveries", "Relevant Files"]),
        ("Goal\nDiscoveries\n", ["Goal", "Discoveries", "Accomplished", "Relevant Files"]),
        (f"```\n{FULL}```\n## Goals of the team\n", ["Goal", "Discoveries", "Accomplished", "Relevant Files"]),
        ("", ["Goal", "Discoveries", "Accomplished", "Relevant Files"]),
    ],
)
def test_a_summary_is_told_which_headings_it_lacks(content: str, missing: list[str]) -> None:
    """Any level and case, bold lines, English or Spanish; not plain text, not fences."""
    assert headings.missing_headings(content) == missing


@pytest.mark.parametrize("name", ["", "**", "42", "_"])
def test_a_heading_without_a_letter_has_no_name(name: str) -> None:
    """It opens nothing and counts for nothing."""
    assert headings.fold_heading(name) == ""
