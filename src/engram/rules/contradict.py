"""Whether a newer statement contradicts an older one: by negation, changed value, change in time, opposites.

The two are compared sentence by sentence. What carries a claim is put side by side in order: the same frame with one
other value is a change, the same words with another sign a negation. Anything that differs in two places speaks of
something else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from engram.rules import analyse, cues
from engram.rules.names import fold_text, nfkc

SENTENCES_MAX = 40  # of a text: a note's claims; beyond them the first ones decide
SENTENCE_WORDS_MAX = 60
PAIRS_MAX = 400
CHARS_MAX = 20_000
FLAGGED_MIN = 0.5
SLOT_WORDS_MAX = 4
SHARED_MIN = 0.5  # of the longer claim

NEGATION, VALUE, TEMPORAL, SENTIMENT = "negation", "value_change", "temporal_override", "opposite_sentiment"
WEIGHTS = {NEGATION: 0.75, VALUE: 0.7, TEMPORAL: 0.8, SENTIMENT: 0.75}
KEEP_NEWEST, KEEP_BOTH, MANUAL = "keep_newest", "keep_both", "manual"

_SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s+|(?<=[。！？；])|\n+")
# A number before its unit (5s), else a word with what joins it.
_WORD = re.compile(r"[0-9]+(?:[.,:][0-9]+)*(?=[a-zA-Zµ%]{1,3}\b)|\w+(?:[.\-/:@_'’+#]\w+)*(?:\+\+|#)?")
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_PLAIN_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One reason to think that two statements can't both hold."""

    type: str
    description: str
    weight: float  # 0..1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the comparison says."""

    confidence: float = 0.0  # 0..1
    signals: tuple[Signal, ...] = ()
    strategy: str = KEEP_BOTH

    @property
    def is_flagged(self) -> bool:
        """Whether it is worth telling."""
        return self.confidence >= FLAGGED_MIN


class Word(NamedTuple):
    """A word that carries a claim."""

    stem: str  # what is compared
    text: str  # as written
    is_value: bool  # number, name, identifier
    at: int  # position among all words of the sentence
    dimension: str = ""  # of a measure


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, taken apart."""

    words: tuple[Word, ...]
    folded: tuple[str, ...]  # every word, those without a claim included
    negated: frozenset[int]  # positions of negators
    is_added: bool
    is_doubted: bool
    text: str  # folded

    @property
    def stems(self) -> frozenset[str]:
        """What the words are compared by."""
        return frozenset(word.stem for word in self.words)


NONE = Verdict()


def compare(older: str, newer: str, *, similarity: float | None = None) -> Verdict:
    """Whether the newer text contradicts the older one.

    Args:
        older: Any text; the first CHARS_MAX characters and SENTENCES_MAX sentences are read.
        newer: The same.
        similarity: 0..1 by the model's curve, if both have a vector: unrelated texts are not compared by it alone.

    Returns:
        The verdict of the pair of sentences that contradicts most; identical texts never do.
    """
    if fold_text(older).split() == fold_text(newer).split():
        return NONE
    best = NONE
    left, right = claims(older), claims(newer)
    if not {word for claim in left for word in claim.stems} & {word for claim in right for word in claim.stems}:
        return NONE
    known = {claim.text for claim in left} & {claim.text for claim in right}
    pairs = 0
    for one in left:
        for other in right:
            if pairs >= PAIRS_MAX or one.text in known or other.text in known or not one.stems & other.stems:
                continue
            pairs += 1
            verdict = _judge(one, other)
            if verdict.confidence > best.confidence:
                best = verdict
    if similarity is None or not best.signals:
        return best
    return _weighed(best, similarity)


def _weighed(verdict: Verdict, similarity: float) -> Verdict:
    """A likeness raises the confidence; that texts are unlike never ends a verdict that words made."""
    sure = 1 - (1 - verdict.confidence) * (1 - 0.4 * max(0.0, similarity - 0.5))
    return Verdict(confidence=round(sure, 3), signals=verdict.signals, strategy=verdict.strategy)


@lru_cache(maxsize=512)
def claims(text: str) -> tuple[Claim, ...]:
    """The sentences of a text that say something."""
    parts = [part.strip() for part in _SENTENCE.split(nfkc(text[:CHARS_MAX])) if part.strip()]
    found = [_claim(part) for part in parts[:SENTENCES_MAX] if not part.rstrip().endswith(("?", "？"))]
    return tuple(claim for claim in found if claim.words)


def _claim(sentence: str) -> Claim:
    folded = fold_text(sentence).replace("’", "'").replace("ʼ", "'")
    raw = _split(sentence)
    language = analyse.language_of(word.casefold() for word, _ in raw)
    words: list[Word] = []
    every: list[str] = []
    negated: set[int] = set()
    is_added, is_doubted = any(w in folded for w in cues.DENSE_ADDED), any(w in folded for w in cues.DENSE_DOUBTED)
    at = 0
    while at < len(raw) and at < SENTENCE_WORDS_MAX:
        text, is_dense = raw[at]
        word = fold_text(text).replace("’", "'")
        every.append(word)
        bare = word.replace("'", "")
        if bare in cues.NEGATORS or (is_dense and word in cues.DENSE_NEGATORS) or bare.endswith("n't"):
            negated.add(at)
        elif bare in cues.ADDED:
            is_added = True
        elif bare in cues.DOUBTED and (at == 0 or text[:1].islower()):  # in May nothing is doubtful
            is_doubted = True
        elif bare not in cues.EMPTY:
            measure = _measure(raw, at)
            if measure is not None:
                words.append(measure)
                if measure.dimension:
                    at += 1
                    every.append(fold_text(raw[at][0]))
            else:
                words.append(_plain(text, word, at, language, is_dense=is_dense))
        at += 1
    return Claim(tuple(words), tuple(every), frozenset(negated), is_added, is_doubted, " ".join(folded.split()))


def _plain(text: str, word: str, at: int, language: str, *, is_dense: bool) -> Word:
    is_name = not is_dense and (
        any(c.isdigit() for c in text)
        or any(c.isupper() for c in text[1:])
        or (at > 0 and text[:1].isupper())
        or any(c in text for c in "._/@")
    )
    stem = word if is_dense or (is_name and not word.isalpha()) else _stem(word, language)
    return Word(stem, text, is_name, at)


def _stem(word: str, language: str) -> str:
    found = analyse.index_terms(word, language)
    return found[-1] if found else word


def _split(sentence: str) -> list[tuple[str, bool]]:
    """The words of a sentence; scripts without spaces by their characters, but for words that turn a statement."""
    found: list[tuple[str, bool]] = []
    for run in _WORD.findall(sentence):
        start = 0
        for dense in _DENSE.finditer(run):
            if dense.start() > start:
                found.append((run[start : dense.start()], False))
            found += [(piece, True) for piece in _dense(dense[0])]
            start = dense.end()
        if start < len(run):
            found.append((run[start:], False))
    return found


def _dense(run: str) -> list[str]:
    pieces: list[str] = []
    at = 0
    known = (*cues.DENSE_NEGATORS, *cues.DENSE_OPPOSITES)
    while at < len(run):
        piece = next((word for word in known if run.startswith(word, at)), run[at])
        pieces.append(piece)
        at += len(piece)
    return pieces


def _measure(raw: list[tuple[str, bool]], at: int) -> Word | None:
    """A number with its unit, brought to the unit's base: 30 minutes and half an hour are one measure."""
    text, is_dense = raw[at]
    word = fold_text(text)
    value: float | None = None
    if _NUMBER.fullmatch(text):
        plain = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
        if not _PLAIN_NUMBER.fullmatch(plain):
            return Word(text, text, is_value=True, at=at)  # a time of day, a version
        value = float(plain)
    elif word in cues.NUMBERS and (is_dense or word not in cues.ARTICLE_NUMBERS):
        value = float(cues.NUMBERS[word])
    if value is None:
        return None
    after = fold_text(raw[at + 1][0]) if at + 1 < len(raw) else ""
    if after in cues.UNITS:
        dimension, size = cues.UNITS[after]
        shown = f"{text} {raw[at + 1][0]}"
        return Word(f"{value * size:g} {dimension}", shown, is_value=True, at=at, dimension=dimension)
    return Word(text if "." in text else f"{value:.15g}", text, is_value=True, at=at)


def _judge(older: Claim, newer: Claim) -> Verdict:
    signals = [
        signal
        for signal in (_negation(older, newer), _change(older, newer), _override(older, newer), _opposite(older, newer))
        if signal is not None
    ]
    if not signals:
        return NONE
    doubt = 1.0
    for signal in signals:
        doubt *= 1 - signal.weight  # noisy-or: another reason never makes it less sure
    strategy = KEEP_NEWEST if not (older.is_doubted or newer.is_doubted) else MANUAL
    return Verdict(confidence=round(1 - doubt, 3), signals=tuple(signals), strategy=strategy)


class Difference(NamedTuple):
    """Where two claims differ, put side by side."""

    older: tuple[Word, ...]
    newer: tuple[Word, ...]


def _aligned(older: Claim, newer: Claim) -> tuple[list[Difference], int]:
    """The places where two claims differ, in order, and how many words they share."""
    one, other = _content(older), _content(newer)
    matcher = SequenceMatcher(None, [w.stem for w in one], [w.stem for w in other], autojunk=False)
    found: list[Difference] = []
    shared = 0
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            shared += j - i
        else:
            found.append(Difference(tuple(one[i:j]), tuple(other[k:m])))
    return found, shared


def _content(claim: Claim) -> list[Word]:
    """The words of a claim but those that only say when or that something changed, copulas and prepositions."""
    dropped = cues.COPULAS | cues.PREPOSITIONS | _MARKERS
    return [word for word in claim.words if claim.folded[word.at] not in dropped or word.is_value]


_MARKERS = frozenset(word for marker in (*cues.ENDED, *cues.CHANGED) if " " not in marker for word in [marker])


def _negation(older: Claim, newer: Claim) -> Signal | None:
    """The same claim with another sign."""
    if bool(older.negated) == bool(newer.negated) or older.is_doubted or newer.is_doubted:
        return None
    denied, other = (older, newer) if older.negated else (newer, older)
    scope = _denied(denied)
    rest = denied.stems - scope
    asserted = other.stems
    if not scope & asserted:
        return None
    shared = len(rest & asserted)
    differs = (denied.stems ^ asserted) - scope
    is_same = len(differs) <= max(1, (len(denied.stems | asserted)) // 4)
    if not is_same and not (shared >= 2 and scope <= asserted and len(rest - asserted) <= 3):
        return None
    if not is_same and shared < len(asserted) * SHARED_MIN:
        return None
    word = next((w.text for w in denied.words if w.stem in scope & asserted), "")
    return Signal(type=NEGATION, description=f'one says "{word}", the other denies it', weight=WEIGHTS[NEGATION])


def _denied(claim: Claim) -> frozenset[str]:
    """What the negators of a claim deny: the word after each, or before it where a verb stands there."""
    found: set[str] = set()
    content = _content(claim) or list(claim.words)
    for at in claim.negated:
        after = next((w.stem for w in content if w.at > at), None)
        before = next((w.stem for w in reversed(content) if w.at < at), None)
        found |= {stem for stem in (after, before if after is None else None) if stem}
        if after is not None and before is not None and claim.folded[at] in ("nicht", "pas", "niet", "inte", "ikke"):
            found.add(before)
    return frozenset(found)


def _change(older: Claim, newer: Claim) -> Signal | None:
    """One subject, another value in the same place."""
    if older.is_added or newer.is_added or older.is_doubted or newer.is_doubted:
        return None
    if bool(older.negated) != bool(newer.negated):
        return None
    places, shared = _aligned(older, newer)
    if len(places) != 1 or not shared:
        return None
    was, now = places[0].older, places[0].newer
    if not was or not now or max(len(was), len(now)) > SLOT_WORDS_MAX:
        return None
    if shared < max(len(was), len(now)) or not _is_slot(older, newer, was, now):
        return None
    before, after = (" ".join(word.text for word in words) for words in (was, now))
    return Signal(type=VALUE, description=f'"{before}" became "{after}"', weight=WEIGHTS[VALUE])


def _is_slot(older: Claim, newer: Claim, was: tuple[Word, ...], now: tuple[Word, ...]) -> bool:
    """Whether two runs of words in one place are two values of one thing, and not two things."""
    numbers = [
        [w for w in words if w.is_value and (w.text[:1].isdigit() or w.stem[:1].isdigit())] for words in (was, now)
    ]
    if numbers[0] and numbers[1]:
        kinds = [{w.dimension for w in found} for found in numbers]
        rest = [{w.stem for w in words if w not in found} for words, found in zip((was, now), numbers, strict=True)]
        return kinds[0] == kinds[1] and (rest[0] == rest[1] or not (rest[0] and rest[1]))
    if any(_is_parted(claim, words) for claim, words in ((older, was), (newer, now))):
        return False
    first, last = was[0].at, was[-1].at
    content = _content(older)
    is_first, is_last = was[0] == content[0], was[-1] == content[-1]
    if any(_has_many(word) for word in (*older.folded, *newer.folded)):
        return False
    if is_first:  # another subject is another claim, unless one alone can have the role
        after = older.folded[last + 1 : last + 3]
        return bool(after) and after[0] in cues.COPULAS and len(after) > 1 and after[1] in cues.THE
    is_named = any(word.is_value for word in (*was, *now))
    is_led = first > 0 and older.folded[first - 1] in cues.COPULAS | cues.PREPOSITIONS | cues.EMPTY
    return is_named or (is_last and is_led) or (is_last and _is_dense(was) and _is_dense(now))


def _has_many(verb: str) -> bool:
    """Whether what a verb takes is one of many, in any of its usual forms."""
    return any(verb.removesuffix(ending) in cues.MANY for ending in ("", "s", "es", "ed", "d", "ing", "n", "t"))


def _is_parted(claim: Claim, words: tuple[Word, ...]) -> bool:
    """Whether a preposition or verb of being stands between the words: they are two places, not one."""
    between = claim.folded[words[0].at + 1 : words[-1].at]
    return any(word in cues.PREPOSITIONS or word in cues.COPULAS for word in between)


def _is_dense(words: tuple[Word, ...]) -> bool:
    return all(_DENSE.fullmatch(word.text) for word in words)


def _override(older: Claim, newer: Claim) -> Signal | None:
    """The newer one says that what the older one says has ended or changed."""
    if newer.is_doubted or older.is_doubted:
        return None
    text = f" {' '.join(newer.folded)} "
    ended = next((m for m in cues.ENDED if _has(text, newer.text, m)), "")
    changed = next((m for m in cues.CHANGED if _has(text, newer.text, m)), "")
    if not (ended or changed) or _has(f" {' '.join(older.folded)} ", older.text, ended or changed):
        return None
    one, other = ({w.stem for w in _content(claim)} for claim in (older, newer))
    shared = one & other
    if len(shared) < 2 or len(shared) < SHARED_MIN * len(one):
        return None
    is_other = bool(other - one) or bool(ended) or bool(newer.negated)
    if not is_other:
        return None
    return Signal(type=TEMPORAL, description=f'"{(ended or changed)}"', weight=WEIGHTS[TEMPORAL])


def _has(words: str, text: str, marker: str) -> bool:
    return marker in text if marker > "\u2fff" else f" {marker} " in words


def _opposite(older: Claim, newer: Claim) -> Signal | None:
    """The same claim with an opposite in it."""
    if older.is_doubted or newer.is_doubted or bool(older.negated) != bool(newer.negated):
        return None
    here, there = set(older.folded), set(newer.folded)
    pairs = [(a, b) for a in here - there for b in cues.OPPOSITES.get(a, ()) if b in there - here]
    if len(pairs) != 1:
        return None
    gone = {older.folded.index(pairs[0][0])}, {newer.folded.index(pairs[0][1])}
    one = {w.stem for w in _content(older) if w.at not in gone[0]}
    other = {w.stem for w in _content(newer) if w.at not in gone[1]}
    if not one & other or len(one ^ other) > len(one | other) // 4:
        return None
    description = f'"{pairs[0][0]}" and "{pairs[0][1]}"'
    return Signal(type=SENTIMENT, description=description, weight=WEIGHTS[SENTIMENT])
