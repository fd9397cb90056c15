"""What is recalled: a score of relevance, age, importance and use; near-duplicates thinned; a token budget kept."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engram.model import DAY_MS
from engram.rules import markers
from engram.rules.names import fold_text

RELEVANCE, RECENCY, IMPORTANCE, USE = 0.45, 0.25, 0.20, 0.10
HALF_LIFE_DAYS = 7.0
USES_FULL = 100  # uses at which more of them count no more
HOP_DECAY = 0.5
ALIKE_MIN = 0.85  # shared words of two items that say the same
STANDING_SHARE = 3  # of the budget standing memories take at most this part
SECTIONS = (
    ("semantic", markers.NEURAL_KNOWLEDGE),
    ("procedural", markers.NEURAL_SKILLS),
    ("episodic", markers.NEURAL_EVENTS),
)
_WORD = re.compile(r"\w+")


def score(*, relevance: float, age_ms: int, importance: float, uses: int) -> float:
    """0..1.

    Args:
        relevance: 0..1, similarity fused with words.
        age_ms: Since it happened, else since it was saved.
        importance: 0..1, what is left of it.
        uses: How often it was recalled.
    """
    recency = 2.0 ** (-max(age_ms, 0) / DAY_MS / HALF_LIFE_DAYS)
    use = min(1.0, math.log1p(uses) / math.log1p(USES_FULL))
    return RELEVANCE * relevance + RECENCY * recency + IMPORTANCE * importance + USE * use


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A memory that may be told, with the lines that tell it."""

    id: str
    memory_type: str
    text: str  # escaped
    score: float
    words: frozenset[str]
    is_standing: bool = False


def words_of(text: str) -> frozenset[str]:
    """What two items are compared by."""
    return frozenset(_WORD.findall(fold_text(text)))


def is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two items say the same: nearly all words shared, and each number of one in the other."""
    both = one | other
    if not both or len(one & other) < ALIKE_MIN * len(both):
        return False
    return not any(any(c.isdigit() for c in word) for word in one ^ other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A context within its budget."""

    text: str
    items: tuple[Item, ...]
    standing_left_out: int


def tell(standing: Sequence[Item], found: Sequence[Item], *, tokens_max: int, count: Callable[[str], int]) -> Told:
    """The context: standing items first, then what was found, best first, under the headings of their types.

    Args:
        standing: In their order; they take at most a third of the budget.
        found: Best first; what is standing already is left out.
        tokens_max: Of the whole text, headings included.
        count: How many tokens a text has; of two texts together never more than the sum.
    """
    frame = count(markers.NEURAL_START) + count(markers.NEURAL_END) + 2
    left = tokens_max - frame
    held, left_out = _fill(standing, min(left, tokens_max // STANDING_SHARE), count, {}, [])
    spent = sum(count(item.text) + 1 for item in held)
    if held:
        spent += count(markers.NEURAL_STANDING) + 1
    headings = {kind: count(heading) + 1 for kind, heading in SECTIONS}
    known = {item.id for item in held}
    rest, _ = _fill([item for item in found if item.id not in known], left - spent, count, headings, held)
    if not held and not rest:
        return Told(text="", items=(), standing_left_out=len(left_out))
    lines = [markers.NEURAL_START]
    if held:
        lines += [markers.NEURAL_STANDING, *(item.text for item in held)]
    for kind, heading in SECTIONS:
        section = [item.text for item in rest if item.memory_type == kind]
        lines += [heading, *section] if section else []
    lines.append(markers.NEURAL_END)
    return Told(text="\n".join(lines), items=(*held, *rest), standing_left_out=len(left_out))


def _fill(
    items: Iterable[Item], budget: int, count: Callable[[str], int], headings: dict[str, int], said: Sequence[Item]
) -> tuple[list[Item], list[Item]]:
    """(what fits, what does not); one that does not fit makes way for a smaller one."""
    taken: list[Item] = []
    out: list[Item] = []
    opened: set[str] = set()
    for item in items:
        if not item.is_standing and any(is_alike(item.words, other.words) for other in (*said, *taken)):
            continue
        heading = headings.get(item.memory_type, 0) if item.memory_type not in opened else 0
        cost = count(item.text) + 1 + heading
        if cost <= budget:
            taken.append(item)
            opened.add(item.memory_type)
            budget -= cost
        else:
            out.append(item)
    return taken, out
