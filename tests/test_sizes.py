"""Small functions, small files: a limit is a place to stop and split."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINES_A_FUNCTION_MAX = 70  # without its docstring
LINES_A_FILE_MAX = 600
FILES = sorted(path for folder in ("src", "bench", "tests") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    """Files up to 600 lines, functions up to 70."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES_A_FILE_MAX
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            size = node.end_lineno - node.lineno + 1 - len((ast.get_docstring(node) or "").splitlines())
            assert size <= LINES_A_FUNCTION_MAX, f"{node.name} has {size} lines"
