"""What the pages say is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from bench import tools as tools_page

from engram import __version__
from engram.surfaces import agents, assistants, commands, console, doctor, projects, upkeep

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "engram"
MCP_OPTIONS = {"--tools", "--project"}
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_page_of_tools_is_the_registrys() -> None:
    """docs/tools.md was made after the last change of a tool."""
    assert tools_page.PAGE.read_text(encoding="utf-8") == tools_page.page()


def test_the_changelog_names_this_version() -> None:
    """Users find what they have."""
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_local_link_of_a_page_leads_somewhere(page: Path) -> None:
    """No page points at a file that is not there."""
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_public_function_and_class_says_what_it_is(path: Path) -> None:
    """Hooks of a backend are described once, where they are declared."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path.name}: {node.name} has no docstring"


COMMAND = re.compile(
    r"(?:^\$ |/|`|&& )engram ([a-z]+(?: (?:add|list|merge|unmerge|use)\b)?)((?: [^`\n|&]*)?)", re.MULTILINE
)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_and_option_of_a_page_exists(page: Path) -> None:
    """A reader can type what is written."""
    for name, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
        known = MCP_OPTIONS if name == "mcp" else options_of(name.split())
        for option in re.findall(r"(?<=\s)--[a-z-]+", re.sub(r'"[^"]*"', "", rest)):
            assert option in known, f"engram {name} has no {option}"


def options_of(name: list[str]) -> set[str]:
    """The options of a command; a name that is none fails."""
    assert commands.save
    assert projects.merge
    assert agents.call
    assert assistants.recall
    assert upkeep.compact
    assert doctor.doctor
    parser = console.parser
    for word in name:
        assert word in parser, f"there is no command engram {' '.join(name)}"
        parser = parser[word]
    return {option for argument in parser.assemble_argument_collection() for option in argument.names}


def test_the_architecture_names_every_module() -> None:
    """A module that ARCHITECTURE.md does not know has no place yet."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in SOURCE.glob("*/*.py"):
        if path.parent.name in {"engine", "surfaces", "tools"} and not path.name.startswith("__"):
            assert f"`{path.name}`" in text, path.name
