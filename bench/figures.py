"""What a measurement is, how it is compared with its target, and how a page shows it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HEAD = ("what", "memories", "measured", "baseline", "compared", "target", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measurement, as the page shows it."""

    what: str
    size: int | None = None  # memories in the store
    measured: str
    baseline: str = ""
    compared: str = ""  # how the two compare
    target: str = ""
    is_met: bool | None = None  # None: there is no target
    value: float = 0.0  # what was measured, as a number, where it is compared with others

    def row(self) -> tuple[str, ...]:
        """Its cells, in the order of HEAD."""
        verdict = "" if self.is_met is None else "met" if self.is_met else "**not met**"
        size = "" if self.size is None else f"{self.size:,}"
        return (self.what, size, self.measured, self.baseline, self.compared, self.target, verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page: what was measured how, and the figures."""

    name: str
    says: str
    figures: Sequence[Figure]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """The section in Markdown."""
        rows = [HEAD, *(figure.row() for figure in self.figures)]
        table = [f"| {' | '.join(row)} |" for row in rows]
        table.insert(1, "|---" * len(HEAD) + "|")
        return "\n".join([f"## {self.name}", "", self.says, "", *table, *(f"\n{note}" for note in self.notes)])


def ratio(
    what: str, ours: Sequence[float], baseline: float, *, size: int | None = None, most: float | None = None
) -> Figure:
    """A figure of milliseconds beside a baseline's median, judged by the medians."""
    p50, p95 = percentiles(ours)
    is_met = None if most is None else p50 / baseline <= most
    return Figure(
        what=what,
        size=size,
        measured=f"{p50:.2f} ms (p95 {p95:.2f})",
        baseline=f"{baseline:.2f} ms",
        compared=f"{p50 / baseline:.2f} times",
        target="" if most is None else f"at most {most:g} times",
        is_met=is_met,
        value=p50,
    )


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """(p50, p95)."""
    return statistics.median(values), sorted(values)[int(len(values) * 0.95)]


def memory_mib(process: int) -> tuple[float, float]:
    """(resident now, most so far) of a process, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    found = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines) if name[:2] == "Vm"}
    return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024
