"""The layers of ARCHITECTURE.md: a module imports only from rows below its own, SQL and event loops stay where they belong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "engram"
ROWS = {
    "errors": 0, "model": 0, "settings": 1, "rules": 2, "embed": 3, "store": 3, "engine": 4, "tools": 5,
    "surfaces": 6, "app": 7,
}  # fmt: skip
# A surface opens the composition root when a call needs it, lazily; commands are a process of their own.
LAZY = {
    ("surfaces/cli.py", "app"),
    ("surfaces/console.py", "app"),
    ("surfaces/doctor.py", "app"),
    ("surfaces/upkeep.py", "app"),
    ("__main__.py", "surfaces"),
}
SQL = re.compile(
    r"^\s*(select\s.+\sfrom\s|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|create\s+table\s)",
    re.IGNORECASE | re.DOTALL,
)
FILES = sorted(SOURCE.rglob("*.py"))


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Every engram module that a file imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import hides its row"
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "engram":
            parts = node.module.split(".")
            yield from ([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("engram."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_its_own_row_and_below(path: Path) -> None:
    """Nothing reaches up; store and embed do not know each other."""
    name = path.relative_to(SOURCE).as_posix()
    own = name.split("/")[0].removesuffix(".py")
    for imported in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
        if imported.startswith("__") or own.startswith("__") or (name, imported) in LAZY:
            continue
        assert imported in ROWS, f"{name} imports {imported}, which has no row"
        assert ROWS[imported] <= ROWS[own], f"{name} reaches up to {imported}"
        assert {own, imported} != {"store", "embed"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_store_contains_sql_and_drivers_and_only_surfaces_start_loops(path: Path) -> None:
    """A statement, a driver or an event loop elsewhere is a leak."""
    folder = path.relative_to(SOURCE).as_posix().split("/")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and folder != "store":
            assert not SQL.match(node.value), f"{path.name}:{node.lineno} holds SQL"
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for module in (name.split(".")[0] for name in names):
            assert module not in {"apsw", "psycopg", "psycopg_pool", "sqlite3"} or folder == "store"
            assert module not in {"asyncio", "anyio", "mcp"} or folder == "surfaces"
