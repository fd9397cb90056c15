"""Several processes that save at once: how much they do together, and whether each gets its share."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, Section
from bench.filling import FRESH, opened, texts
from bench.wired import ROOT, environment
from engram.tools import registry

PROCESSES = 8
SECONDS = 8.0


def together() -> Section:
    """The saves of one process, and of eight at once, in the same time."""
    alone, many = counts(1), counts(PROCESSES)
    one, total = sum(alone) / SECONDS, sum(many) / SECONDS
    return Section(
        name="Processes",
        says=(
            f"Each saves real words for {SECONDS:g} s, one after the other, into one database; vectors are left for later. "
            "A save counts when its answer came: then it is durable."
        ),
        figures=[
            Figure(
                what=f"{PROCESSES} processes saving at once",
                measured=f"{total:.0f} saves/s",
                baseline=f"{one:.0f} saves/s (one process)",
                compared=f"{total / one:.2f} times",
            ),
            Figure(
                what="the slowest of them",
                measured=f"{min(many)} saves",
                baseline=f"{max(many)} saves (the fastest)",
                compared=f"{min(many) / max(many):.2f} times",
                target="at least 1/3",
                is_met=min(many) * 3 >= max(many),
            ),
        ],
    )


def counts(processes: int) -> list[int]:
    """How many saves each of so many processes had acknowledged in the time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opened(folder).close()
        command = [sys.executable, "-m", "bench.processes", name]
        running = [
            subprocess.Popen(
                [*command, str(i)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment(folder)
            )
            for i in range(processes)
        ]
        for process in running:
            assert process.stdout
            process.stdout.readline()  # it is ready
        for process in running:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.flush()
        return [int(process.communicate(timeout=SECONDS + 60)[0]) for process in running]


def child(folder: Path, which: int) -> None:
    """Save until the time is over; print how many."""
    app = opened(folder)
    tool = registry.TOOLS["mem_save"]
    pairs = texts(1_000_000, start=FRESH + which * 1_000_000)
    app.call(tool, dict(zip(("title", "content"), next(pairs), strict=True)))
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + SECONDS
    count = 0
    for title, body in pairs:
        if time.monotonic() > until:
            break
        answer = app.call(tool, {"title": title, "content": body})
        count += not answer.is_error and time.monotonic() <= until
    print(count)
    app.close()


if __name__ == "__main__":
    child(Path(sys.argv[1]), int(sys.argv[2]))
