"""``python -m bench.kill``: processes that save and search while one of them is killed each second.

Each child writes the number of a memory to its own log only after the answer came. Afterwards every logged
memory must be found, and the database must be whole.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engram import settings as configuration
from engram.app import App
from engram.rules import seal
from engram.settings import Settings
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was acknowledged, and what of it is there."""

    acknowledged: int
    missing: int
    errors: int
    kills: int
    seconds: float
    problems: tuple[str, ...]


def child(log: Path, each: int, settings: Settings) -> None:
    """Save until ``each`` saves are acknowledged in the log, over all lives of this child."""
    app = App(settings, folder=log.parent)
    done = len(log.read_text().splitlines()) if log.exists() else 0
    dice = random.Random(os.getpid())
    with log.open("a") as file:
        while done < each:
            word = f"{log.stem}x{done}x{dice.randrange(10**9)}"
            answer = app.call(registry.TOOLS["mem_save"], {"title": f"Note {word}", "content": body(word)})
            if answer.is_error:
                file.write(f"error {answer.text}\n")
            else:
                number = answer.text.split("#")[1].split(" ")[0]
                file.write(f"{number} {word}\n")
                done += 1
            file.flush()
            if dice.random() < 0.05:
                found = app.call(registry.TOOLS["mem_search"], {"query": word})
                if body(word) not in found.text:
                    file.write(f"error search {word}: {found.text[:200]!r}\n")
                    file.flush()
    app.close()


def body(word: str) -> str:
    """The text that is saved; a search that finds nothing repeats the word, but not this."""
    return f"About {word}"


def run(settings: Settings, folder: Path, *, processes: int, each: int, kill_every_s: float = 1.0) -> Outcome:
    """Run the children, killing one at a time, until all have their number; then check."""
    logs = [folder / f"p{i}.log" for i in range(processes)]
    for log in logs:
        log.touch()

    def start(log: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "bench.kill", "--child", str(log), "--each", str(each)], env=env)

    env = {
        **os.environ,
        **environment(settings),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }
    began = time.monotonic()
    running = {log: start(log) for log in logs}
    size = dict.fromkeys(logs, 0)  # of each log when its child was started
    dice, kills, last = random.Random(7), 0, began
    while running:
        time.sleep(0.02)
        for log, process in list(running.items()):
            if process.poll() is not None:
                if process.returncode not in (0, -signal.SIGKILL):
                    log.write_text(log.read_text() + f"error exit {process.returncode}\n")
                    del running[log]
                elif len(acknowledged(log)) >= each:
                    del running[log]
                else:
                    size[log] = log.stat().st_size
                    running[log] = start(log)
        # Only one that is at work: where starting takes longer than the pause, none would ever save anything.
        at_work = [log for log in sorted(running) if log.stat().st_size > size[log]]
        if at_work and time.monotonic() - last >= kill_every_s:
            last = time.monotonic()
            victim = dice.choice(at_work)
            running[victim].send_signal(signal.SIGKILL)
            running[victim].wait()
            kills += 1
    return check(settings, logs, kills=kills, seconds=time.monotonic() - began)


def environment(settings: Settings) -> dict[str, str]:
    """The settings as a child reads them."""
    return {
        "ENGRAM_DATA_DIR": str(settings.data_dir),
        "ENGRAM_DATABASE_URL": settings.database_url,
        "ENGRAM_TOKEN": settings.token,
        "ENGRAM_PROJECT": "kill",
    }


def acknowledged(log: Path) -> list[tuple[str, str]]:
    """(number, unique word) of what a child was told is saved."""
    lines = [line.split() for line in log.read_text().splitlines()]
    return [(line[0], line[1]) for line in lines if len(line) == 2 and line[0].isdigit()]


def check(settings: Settings, logs: list[Path], *, kills: int, seconds: float) -> Outcome:
    """Look for every acknowledged memory, by number and by its word, and check the library's totals."""
    errors = [line for log in logs for line in log.read_text().splitlines() if line.startswith("error")]
    app = App(
        replace(settings, project="kill"), folder=logs[0].parent
    )  # its worker keeps the vectors that searches make
    saved = [line for log in logs for line in acknowledged(log)]
    missing = 0
    for number, word in saved:
        read = app.call(registry.TOOLS["mem_get_observation"], {"id": number})
        found = app.call(registry.TOOLS["mem_search"], {"query": word})
        missing += body(word) not in read.text or body(word) not in found.text
    problems = (*errors[:5], *wholeness(app))
    app.close()
    return Outcome(
        acknowledged=len(saved), missing=missing, errors=len(errors), kills=kills, seconds=seconds, problems=problems
    )


def wholeness(app: App) -> list[str]:
    """What is wrong with the database: its file, and each library's totals against its rows."""
    from engram.store import health  # noqa: PLC0415 - only the check needs it

    found: list[str] = []
    with app.store.reading() as tx:
        if app.store.dialect == "sqlite" and (state := tx.value("pragma integrity_check")) != "ok":
            found.append(f"integrity_check: {state}")
        if missing := health.missing_words(tx):
            found.append(f"{missing} chunks are not in the word index")
        for library_id, seq, number, leaves, live, acc in tx.all(
            "select id, seq, number, leaves, live, acc from library"
        ):
            seals = [row[0] for row in tx.all(
                "select seal from memory where library_id = :id and archived_at is null", id=library_id)]  # fmt: skip
            events = tx.all("select seq, leaf_index from event where library_id = :id order by seq", id=library_id)
            numbers = [row[0] for row in tx.all(
                "select number from memory where library_id = :id order by number", id=library_id)]  # fmt: skip
            checks: dict[str, Callable[[], bool]] = {
                "live": lambda: live == len(seals),  # noqa: B023 - called at once, below
                "acc": lambda: acc == sum(map(seal.seal48, seals)) % (1 << 48),  # noqa: B023 - as above
                "seq": lambda: [row[0] for row in events] == list(range(1, seq + 1)),  # noqa: B023 - as above
                "leaves": lambda: [row[1] for row in events] == list(range(leaves)),  # noqa: B023 - as above
                "number": lambda: numbers == list(range(1, number + 1)),  # noqa: B023 - as above
            }
            found += [f"library {name} does not agree with its rows" for name, holds in checks.items() if not holds()]
    return found


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", type=Path)
    parser.add_argument("--each", type=int, default=500)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--database-url", default="", help="PostgreSQL; needs ENGRAM_TOKEN and ENGRAM_DATA_DIR (key)")
    given = parser.parse_args()
    settings = configuration.read(os.environ)
    if given.child:
        child(given.child, given.each, settings)
        return
    with tempfile.TemporaryDirectory() as name:
        if given.database_url:
            settings = replace(settings, database_url=given.database_url)
        else:
            settings = replace(settings, data_dir=Path(name) / "data")
        outcome = run(settings, Path(name), processes=given.processes, each=given.each)
    print(f"{given.processes} processes, {given.each} saves each, one killed with -9 a second: {outcome}")
    sys.exit(1 if outcome.missing or outcome.errors or outcome.problems else 0)


if __name__ == "__main__":
    main()
