"""Every promise and every pain names a test that is there, and every tool has a promise."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from engram.tools import families, registry
from pains import PAINS
from promises import PROMISES

ROOT = Path(__file__).parent.parent
families.load()


def names_of(file: str) -> set[str]:
    """The tests in a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_tool_has_a_promise() -> None:
    """A new tool brings its entry."""
    assert set(registry.TOOLS) <= set(PROMISES)


@pytest.mark.parametrize(
    "node", sorted({test for _, test in PROMISES.values()} | {t for tests in PAINS.values() for t in tests})
)
def test_a_named_test_is_there(node: str) -> None:
    """No promise without the test that holds it."""
    file, _, name = node.partition("::")
    assert name in names_of(file)


def test_the_pains_of_the_core_are_all_named() -> None:
    """The numbers that the issue lists."""
    go = {1, 5, 11, 12, 15, 16, *range(18, 30), 31, 32, 33, 34, 35, 36, 37, 50, 55}
    peers = {3, 4, 5, 6, 8, 11, 15, 16, 19, 22, 25, 26, 28, 31, 32, 33, 36, 38, 40, 42, 44, 46, 52}
    named = {pain.partition(":")[0] for pain in PAINS}
    assert named == {f"go {n}" for n in go} | {f"peers {n}" for n in peers}
