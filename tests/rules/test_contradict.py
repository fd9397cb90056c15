"""Contradictions: what is flagged, what is not, and why nobody can trick the rules into much work."""

from __future__ import annotations

import random

import pytest

from contradiction_pairs import FLAGGED, PLAIN
from engram.rules import contradict
from engram.rules.contradict import NEGATION, SENTIMENT, TEMPORAL, VALUE


def test_most_of_what_contradicts_is_flagged_and_little_else() -> None:
    """Our own pairs, in five languages; other pairs are measured by ``python -m bench contradictions``."""
    hits = [pair for pair in FLAGGED if contradict.compare(pair[1], pair[2]).is_flagged]
    noise = [pair for pair in PLAIN if contradict.compare(pair[1], pair[2]).is_flagged]
    assert len(hits) / (len(hits) + len(noise)) >= 0.9, noise
    assert len(hits) / len(FLAGGED) >= 0.85, [pair for pair in FLAGGED if pair not in hits]


@pytest.mark.parametrize(
    ("older", "newer", "kind"),
    [
        ("The door is locked at night", "The door is not locked at night", NEGATION),
        ("The door is locked at 22:00", "The door is locked at 23:30", VALUE),
        ("Lea works in the kitchen", "Lea no longer works in the kitchen", TEMPORAL),
        ("Visitors are allowed on the roof", "Visitors are forbidden on the roof", SENTIMENT),
    ],
)
def test_a_signal_says_what_it_saw(older: str, newer: str, kind: str) -> None:
    """By its type; the description quotes the words."""
    verdict = contradict.compare(older, newer)
    assert kind in [signal.type for signal in verdict.signals]
    assert all(signal.description and 0 < signal.weight <= 1 for signal in verdict.signals)
    assert verdict.strategy == contradict.KEEP_NEWEST


@pytest.mark.parametrize("pair", FLAGGED + PLAIN, ids=lambda pair: pair[1][:30])
def test_a_text_never_contradicts_itself(pair: tuple[str, str, str]) -> None:
    """Not with change words in it, not with another case or other spaces."""
    for text in pair[1:]:
        assert not contradict.compare(text, text).signals
        assert not contradict.compare(text, f"  {text.upper()} ").signals


def test_more_evidence_never_lowers_the_confidence() -> None:
    """Neither another signal nor a higher similarity."""
    for _, older, newer in FLAGGED:
        verdict = contradict.compare(older, newer)
        assert verdict.confidence >= max((signal.weight for signal in verdict.signals), default=0)
        assert contradict.compare(older, newer, similarity=0.95).confidence >= verdict.confidence
        assert contradict.compare(older, newer, similarity=0.0).confidence >= verdict.confidence


def test_an_apostrophe_is_read_as_people_type_it() -> None:
    """Straight, typographic, left out."""
    for negated in ("doesn't", "doesn’t", "doesnt", "does not"):
        assert contradict.compare("The lamp works in winter", f"The lamp {negated} work in winter").is_flagged


def test_a_claim_is_found_inside_a_longer_note() -> None:
    """Sentence by sentence; what both repeat is no news."""
    older = "# Servers\n\nThe proxy runs on host alpha. The timeout of the proxy is 30 seconds. Ask Ines for access."
    newer = "# Servers\n\nThe proxy runs on host alpha. The timeout of the proxy is 90 seconds. Ask Ines for access."
    verdict = contradict.compare(older, newer)
    assert [signal.description for signal in verdict.signals] == ['"30 seconds" became "90 seconds"']


def test_the_work_is_bounded_however_long_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most PAIRS_MAX pairs of sentences; any text is safe."""
    dice = random.Random(4)
    seen = 0
    judge = contradict._judge

    def counted(one: contradict.Claim, other: contradict.Claim) -> contradict.Verdict:
        nonlocal seen
        seen += 1
        return judge(one, other)

    monkeypatch.setattr(contradict, "_judge", counted)
    words = ["alpha", "beta", "不", "not", "3", "ms", "now", "é", "\u0301", "😀", "...", "a.b", "'"]
    texts = [". ".join(" ".join(dice.choices(words, k=8)) for _ in range(2_000)) for _ in range(2)]
    contradict.compare(*texts)
    assert 0 < seen <= contradict.PAIRS_MAX
    for _ in range(300):
        contradict.compare("".join(dice.choices(" .".join(words), k=40)), "".join(dice.choices(" .".join(words), k=40)))
