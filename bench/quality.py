"""``python -m bench.quality --devbench FILE [--locomo FILE] [--cosqa FILE]``: how well search ranks, and when it declines.

Every text goes in by ``mem_save`` and every question through ``mem_search``, in a folder of its own that is gone
afterwards. The data is for development and not part of the project. Questions without an answer count for the
refusals alone.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram.app import App
from engram.rules import names
from engram.settings import Settings
from engram.tools import mem, registry

assert mem.mem_save  # the module registers its tools
DEPTH = 20  # the most that one search shows
COSQA_FUNCTIONS = 1_000
VECTORS_S_MAX = 1_200.0
_HIT = re.compile(r"^\[\d+\] (#\d+) \(", re.MULTILINE)  # previews are indented: no text can look like a hit
_SAVED = re.compile(r"\) (#\d+) \[")
_TURN = re.compile(r"D(\d+):0*(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, what answers it (nothing: it has no answer), and what came back, best first."""

    text: str
    wanted: frozenset[str]
    found: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Place of the first right one from 1; 0 where there is none."""
        return next((place for place, label in enumerate(self.found, 1) if label in self.wanted), 0)


@contextmanager
def store() -> Generator[App]:
    """An empty store with its worker."""
    with tempfile.TemporaryDirectory() as name:
        app = App(Settings(data_dir=Path(name), project="bench"), folder=Path(name))
        try:
            yield app
        finally:
            app.close()


def call(app: App, tool: str, **arguments: object) -> str:
    """The answer of a tool, which must be none of its errors."""
    answer = app.call(registry.TOOLS[tool], arguments)
    assert not answer.is_error, answer.text
    return answer.text


def fill(app: App, texts: Sequence[tuple[str, str, str]]) -> list[str]:
    """Save each (title, text, type) and wait for the vectors; the labels in the same order."""
    labels = [
        _SAVED.findall(call(app, "mem_save", title=title, content=text, type=kind).partition("\n")[0])[-1]
        for title, text, kind in texts
    ]
    assert app.worker.finish(VECTORS_S_MAX), "the vectors are not ready"
    return labels


def ask(app: App, text: str, wanted: Iterable[str]) -> Asked:
    """Put one question to mem_search."""
    found = _HIT.findall(call(app, "mem_search", query=text, limit=DEPTH))
    return Asked(text=text, wanted=frozenset(wanted), found=tuple(found))


def ndcg(asked: Asked, depth: int = 10) -> float:
    """Discounted gain of the first ``depth`` over the best that was possible, 0..1."""
    gains = (1 / math.log2(place + 1) for place, label in enumerate(asked.found[:depth], 1) if label in asked.wanted)
    most = sum(1 / math.log2(place + 1) for place in range(1, min(len(asked.wanted), depth) + 1))
    return sum(gains) / most


def report(name: str, questions: Sequence[Asked]) -> None:
    """Print the figures of one set in a line."""
    answerable = [asked for asked in questions if asked.wanted]
    others = [asked for asked in questions if not asked.wanted]

    def mean(value: Callable[[Asked], float]) -> str:
        return f"{sum(map(value, answerable)) / len(answerable):.3f}"

    figures = [
        f"MRR {mean(lambda asked: 1 / asked.rank if asked.rank else 0.0)}",
        *(f"any@{depth} {mean(lambda asked, depth=depth: float(1 <= asked.rank <= depth))}" for depth in (1, 5, 10)),
        f"nDCG@10 {mean(ndcg)}",
        f"answered {sum(bool(asked.found) for asked in answerable)} of {len(answerable)}",
    ]
    if others:
        figures.append(f"refused {sum(not asked.found for asked in others)} of {len(others)}")
    print(f"{name}: {', '.join(figures)}", flush=True)


def devbench(path: Path) -> None:
    """Notes of a developer; five questions are about nothing in them."""
    data = json.loads(path.read_text(encoding="utf-8"))
    notes = data["memories"]
    with store() as app:
        labels = fill(app, [(title_of(note["content"]), note["content"], note["memory_type"]) for note in notes])
        of_tag = {tag: label for note, label in zip(notes, labels, strict=True) for tag in note["tags"]}
        questions = [
            ask(app, query["question"], (of_tag[tag] for tag in query["expected_tags"])) for query in data["queries"]
        ]
    report("DevBench", questions)
    for asked in questions:
        if asked.rank != 1 and (asked.wanted or asked.found):
            print(f"  {asked.rank or '-'} {asked.text} wanted {sorted(asked.wanted)} got {list(asked.found[:4])}")


def title_of(text: str) -> str:
    """The title that the product itself gives a text that came without one."""
    return names.first_sentence_title(text)


def locomo(path: Path) -> None:
    """Turns of long conversations, each conversation a store; also what the conversation before was asked."""
    own: list[Asked] = []
    before: list[str] = []
    for sample in json.loads(path.read_text(encoding="utf-8")):
        turns = list(turns_of(sample["conversation"]))
        with store() as app:
            labels = fill(app, [(title_of(text), text, "manual") for _, text in turns])
            of_turn = {turn: label for (turn, _), label in zip(turns, labels, strict=True)}
            asked = [
                ask(app, qa["question"], (of_turn[turn] for turn in evidence(qa) if turn in of_turn))
                for qa in sample["qa"]
                if any(turn in of_turn for turn in evidence(qa))
            ]
            foreign = [ask(app, text, ()) for text in before]
        own += [*asked, *foreign]
        before = random.Random(1).sample([each.text for each in asked], 40)
    report("LoCoMo turns", own)


def turns_of(conversation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Id and text of each turn, the speaker before and the picture behind it."""
    for key, session in conversation.items():
        if isinstance(session, list):
            assert key.startswith("session_"), key
            for turn in session:
                picture = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                yield turn["dia_id"], f"{turn['speaker']}: {turn['text']}{picture}"


def evidence(qa: dict[str, Any]) -> list[str]:
    """The turns that answer; some entries of the data hold several, or a stray zero."""
    return [f"D{session}:{turn}" for entry in qa["evidence"] for session, turn in _TURN.findall(entry)]


def cosqa(path: Path, count: int) -> None:
    """Questions of the web about Python functions, beside the vectors alone, which rank the same functions."""
    data = json.loads(path.read_text(encoding="utf-8"))
    queries = random.Random(1).sample(data["queries"], min(len(data["queries"]), count // 4))
    chosen = {query["function"] for query in queries}
    rest = [index for index in range(len(data["functions"])) if index not in chosen]
    order = sorted([*chosen, *random.Random(2).sample(rest, min(len(rest), count - len(chosen)))])
    texts = [data["functions"][index] for index in order]
    with store() as app:
        labels = fill(app, [(title_of(text), text, "pattern") for text in texts])
        of_function = dict(zip(order, labels, strict=True))
        ours = [ask(app, query["query"], [of_function[query["function"]]]) for query in queries]
        embedder = app.embedder
        vectors = np.stack([embedder.embed_passage(text) for text in texts])
        alone = [by_vectors(asked, vectors @ embedder.embed_query(asked.text), labels) for asked in ours]
    report(f"CoSQA, {len(texts)} functions", ours)
    report("  vectors alone", alone)


def by_vectors(asked: Asked, cosines: NDArray[np.float32], labels: list[str]) -> Asked:
    """The same question, answered by the nearest vectors and nothing else."""
    nearest = np.argsort(-cosines)[:DEPTH]
    return Asked(text=asked.text, wanted=asked.wanted, found=tuple(labels[int(index)] for index in nearest))


def main() -> None:
    """Measure what was named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devbench", type=Path)
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--cosqa", type=Path)
    parser.add_argument("--functions", type=int, default=COSQA_FUNCTIONS, help="how many of CoSQA's functions")
    given = parser.parse_args()
    if given.devbench:
        devbench(given.devbench)
    if given.cosqa:
        cosqa(given.cosqa, given.functions)
    if given.locomo:
        locomo(given.locomo)


if __name__ == "__main__":
    main()
