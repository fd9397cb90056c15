"""What a start may import: the SDK and the standard library, nothing that waits for the first call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench import starting

pytestmark = pytest.mark.timeout(120)

LIGHT = frozenset({"argparse", "asyncio", "json", "pathlib", "re", "typing", "importlib.metadata", "mcp", "engram.app"})


def test_tools_are_listed_with_nothing_imported_that_a_bare_server_of_the_sdk_has_not(tmp_path: Path) -> None:
    """No database, model or command line library before the first call."""
    assert starting.imported_beyond(tmp_path) == []


def test_the_version_is_told_without_the_command_line(tmp_path: Path) -> None:
    """It is what shells and installers ask for."""
    program = "import sys; from engram.surfaces import cli; status = cli.run(['--version']); print(*sys.modules); sys.exit(status)"
    run = [sys.executable, "-S", "-c", program]
    source = Path(__file__).parent.parent / "src"
    done = subprocess.run(
        run, capture_output=True, text=True, check=True, cwd=tmp_path, env={"PYTHONPATH": str(source), "PATH": ""}
    )
    version, modules = done.stdout.splitlines()
    assert version.startswith("engram ")
    assert LIGHT.isdisjoint(modules.split())


def test_the_engine_is_not_imported_for_the_list_of_tools(tmp_path: Path) -> None:
    """A client waits for the list; database, model and verbs come behind it."""
    loaded = starting.imported("engram", tmp_path)
    assert (
        not {f"engram.{name}" for name in ("engine.memories", "engine.search", "store.base", "embed", "app")} & loaded
    )
