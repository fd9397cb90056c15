"""What the README and the tutorial show, run from their own text in this environment."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def blocks() -> list[str]:
    """The README's shell blocks."""
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_readme_has_two_commands_of_one_line() -> None:
    """One runs the main job, one passes the tests; both make their own environment."""
    found = blocks()
    assert len(found) == 2
    assert all(block.count("\n") == 1 and block.startswith("python3 -m venv ") for block in found)


def test_the_first_command_saves_a_note_and_finds_it_in_other_words(tmp_path: Path) -> None:
    """No word of the question but one stands in the note, and it is found on the first try."""
    outputs: list[str] = []
    for command in blocks()[0].split("&&"):
        words = shlex.split(command)
        if not words[0].endswith("/engram"):
            continue
        done = subprocess.run(
            [sys.executable, "-m", "engram", *words[1:]],
            env={**os.environ, "ENGRAM_DATA_DIR": str(tmp_path / "data")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert outputs[0].startswith('Memory saved: "SameSite cookies" (bugfix) #1 [new]')
    assert outputs[1].startswith("Found 1 memories:")
    assert "#1 (bugfix) - SameSite cookies" in outputs[1]


# What differs from run to run: folders, sizes, times, commit ids, scores.
CHANGING = re.compile(r"(?:/[\w.@+-]+)+|\d+\.\d+ GiB|\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\b[0-9a-f]{12}\b|\b0\.\d\d\b")


def test_the_tutorial_shows_what_its_commands_print(tmp_path: Path) -> None:
    """Its commands, run in their order in an empty folder `shop`, answer as written."""
    folder = tmp_path / "shop"
    folder.mkdir()
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ engram (.*)\n((?:(?!```|\$ ).*\n)+)", text, re.MULTILINE)
    assert len(shown) >= 8
    for command, expected in shown:
        done = subprocess.run(
            [sys.executable, "-m", "engram", *shlex.split(command)],
            env={**os.environ, "ENGRAM_DATA_DIR": str(tmp_path / "data"), "ENGRAM_PROJECT": ""},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert CHANGING.sub("~", done.stdout) == CHANGING.sub("~", expected), command
