"""``python -m bench speed``: the numbers that we promise, each beside a baseline measured in the same run.

Words are cut from the standard library's docstrings and sources, so that it runs anywhere; vectors are random unit
vectors, one chunk a memory.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import os
import platform
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from bench import processes, saving, searching, starting
from bench.figures import Figure, Section
from bench.filling import fill, opened

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PARTS = ("start", "save", "search", "memory", "processes")
HEAD = (
    "# Benchmarks\n\nMade by `python -m bench speed --write`, which measures each figure beside its baseline in the same run and "
    "replaces the sections that it measured. Ratios compare medians. "
    + " ".join((__doc__ or "").split("\n\n")[1].split())
)
SAVE = (
    "`mem_save`, acknowledged and durable, in turn with a bare insert on the same connection: one row into each table to "
    "which a save adds one, with the same indexes, in the same durability mode (WAL, `synchronous = full`)."
)
SEARCH = (
    "`mem_search`, warm. The baseline is the sum, measured in the same run, of the query's own embedding, one float32 "
    "matrix product of that size and the bare FTS5 query (the best 300) for those of its words that ours asks for: rare ones."
)
MEMORY = "Resident memory. The baseline of the idle process is the bare server on the same SDK."


def main() -> None:
    """Measure what was asked for, print it, and with --write put it into docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in the store, with commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure, with commas")
    parser.add_argument("--write", action="store_true", help="put the sections into docs/benchmarks.md")
    given = parser.parse_args()
    parts, sizes = given.parts.split(","), sorted(map(int, given.sizes.split(",")))
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there are no parts {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    command = shlex.join(["python", "-m", "bench", "speed", *sys.argv[1:]])
    measured = f"{machine()}, {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, `{command}`"
    for section in measure(parts, sizes):
        text = f"{section.text()}\n\n{measured}.\n"
        print(text, flush=True)
        if given.write:
            write(section.name, text)


def measure(parts: list[str], sizes: list[int]) -> list[Section]:
    """The sections of these parts, in the order of PARTS."""
    sections: dict[str, Section] = {}
    if "start" in parts:
        sections["start"] = say(starting.start())
    sections |= growing(parts, sizes)
    if "processes" in parts:
        sections["processes"] = say(processes.together())
    return [sections[part] for part in PARTS if part in sections]


def growing(parts: list[str], sizes: list[int]) -> dict[str, Section]:
    """What is measured in a store at each of the sizes."""
    found: dict[str, list[Figure]] = {part: [] for part in ("save", "search", "memory") if part in parts}
    if not found:
        return {}
    if "memory" in found:
        found["memory"].append(starting.idle())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = opened(folder)
        gc.freeze()  # as the server does once it is open
        filled = 0
        acts: dict[str, Callable[[int], list[Figure]]] = {
            "save": lambda size: saving.save(app, size),
            "search": lambda size: searching.search(app, size),
            "memory": lambda size: [searching.held_after_a_search(folder, size)],
        }
        for size in sizes:
            began = time.perf_counter()
            fill(app, size, filled)
            print(f"filled to {size} in {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
            filled = size
            for part, figures in found.items():
                for figure in acts[part](size):
                    print(" | ".join(figure.row()), file=sys.stderr, flush=True)
                    figures.append(figure)
        app.close()
    medians = {figure.size: figure.value for figure in found.get("save", []) if figure.size and figure.value}
    if len(medians) > 1:
        found["save"] += saving.flat(medians)
    says = {"save": SAVE, "search": SEARCH, "memory": MEMORY}
    return {part: Section(name=part.capitalize(), says=says[part], figures=found[part]) for part in found}


def say(section: Section) -> Section:
    """Show on stderr how far it is."""
    for figure in section.figures:
        print(" | ".join(figure.row()), file=sys.stderr, flush=True)
    return section


def machine() -> str:
    """What it was measured on."""
    return (
        f"{processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, "
        f"SQLite {apsw.sqlite_lib_version()}"
    )


def processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    named = (
        re.search(r"^model name\s*: (.+)$", info.read_text(encoding="utf-8"), re.MULTILINE) if info.exists() else None
    )
    return named[1] if named else platform.machine()


def write(name: str, text: str) -> None:
    """Put a section into the page: in its place if it is there, else behind the others."""
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    pieces = re.split(r"^(?=## )", old, flags=re.MULTILINE)[1:]
    kept = {piece.removeprefix("## ").partition("\n")[0]: piece.strip() for piece in pieces}
    kept[name] = text.strip()
    order = [part.capitalize() for part in PARTS]
    ordered = sorted(kept, key=lambda one: order.index(one) if one in order else len(order))
    PAGE.write_text("\n\n".join([HEAD, *(kept[one] for one in ordered)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
