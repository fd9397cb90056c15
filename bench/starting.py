"""Start: how long until the tools are listed, what was imported for it, and what an idle process holds."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, Section, ratio, timed
from bench.wired import BARE, ENGRAM, Wired, environment

ROUNDS = 25
ROUNDS_IDLE = 3
IDLE_S = 3.0
PASS = [sys.executable, "-c", "pass"]
VERSION = [ENGRAM[0], "--version"]


def start() -> Section:
    """Process start to the answer of tools/list, and ``engram --version``, each in turn with its baseline."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm(folder)
        listed: dict[str, list[float]] = {"engram": [], "bare": []}
        plain: dict[str, list[float]] = {"engram": [], "bare": []}
        for _ in range(ROUNDS):
            for who, command in (("engram", ENGRAM), ("bare", BARE)):
                with Wired(command, folder) as server:
                    listed[who].append(server.listed_ms)
            for who, command in (("engram", VERSION), ("bare", PASS)):
                plain[who].append(timed(lambda run=command: _run(run, folder)))
        beyond = imported_beyond(folder)
    return Section(
        name="Start",
        says=(
            f"From the start of the process, {ROUNDS} times each in turn. The baseline of `engram mcp` is a server with "
            "one tool on the same SDK (`bench/bare.py`), that of `engram --version` is `python -c pass`."
        ),
        figures=[
            ratio(
                "`engram mcp` to the answer of `tools/list`",
                listed["engram"],
                statistics.median(listed["bare"]),
                most=1.25,
            ),
            ratio("`engram --version`", plain["engram"], statistics.median(plain["bare"]), most=3),
            Figure(
                what="modules imported before the first call, beyond the bare server's, the standard library's and ours",
                measured=f"{len(beyond)} {' '.join(beyond)}".strip(),
                target="0",
                is_met=not beyond,
            ),
        ],
    )


def warm(folder: Path) -> None:
    """Let the database be made, and modules be compiled."""
    for command in (ENGRAM, BARE):
        with Wired(command, folder):
            time.sleep(IDLE_S)
    _run(VERSION, folder)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, check=True, capture_output=True, env=environment(folder))


def imported_beyond(folder: Path) -> list[str]:
    """What ``engram mcp`` imported until tools are listed that neither the bare server nor Python itself has."""
    ours, bare = (imported(who, folder) for who in ("engram", "bare"))
    return sorted(name for name in ours - bare if name.partition(".")[0] not in {*sys.stdlib_module_names, "engram"})


def imported(who: str, folder: Path) -> set[str]:
    """The modules of ``engram`` or the ``bare`` server once it has listed its tools."""
    client = '"clientInfo": {"name": "bench", "version": "1"}'
    lines = (
        f'{{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {{"protocolVersion": "2025-11-25", "capabilities": {{}}, {client}}}}}\n'
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
        '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n'
    )
    program = [sys.executable, str(Path(__file__).with_name("imported.py")), who]
    done = subprocess.run(
        program, input=lines, capture_output=True, text=True, check=True, timeout=60, env=environment(folder)
    )
    assert '"tools"' in done.stdout, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def idle() -> Figure:
    """What a process holds that has listed its tools and waits, beyond the bare server."""
    held: dict[str, list[float]] = {"engram": [], "bare": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm(folder)
        for _ in range(ROUNDS_IDLE):
            for who, command in (("engram", ENGRAM), ("bare", BARE)):
                with Wired(command, folder) as server:
                    time.sleep(IDLE_S)
                    held[who].append(server.memory_mib()[0])
    ours, bare = statistics.median(held["engram"]), statistics.median(held["bare"])
    return Figure(
        what=f"idle stdio process, {IDLE_S:g} s after `tools/list`",
        measured=f"{ours:.1f} MiB",
        baseline=f"{bare:.1f} MiB",
        compared=f"{ours - bare:+.1f} MiB",
        target="at most +20 MiB",
        is_met=ours - bare <= 20,
    )
