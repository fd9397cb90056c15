"""The one analyser, for what is indexed and for what is asked, on both backends.

Words of any script, folded; identifiers whole and in parts; scripts that put no space between words as
overlapping pairs of characters and the last character alone; a stem beside each surface form. A term has no
white space, control character or quote, and at most TERM_CHARS_MAX characters.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from engram.model import QueryTerm
from engram.rules import stopwords
from engram.rules.names import fold_text, nfkc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TERM_CHARS_MAX = 64  # longer ones are cut: no word that anybody asks for, and no term can be hostile
QUERY_TERMS_MAX = 64
TITLE_WEIGHT = 3.0
KEYS_WEIGHT = 2.0
LANGUAGE_WORDS_MAX = 2_000  # words read to tell a language

# Han, kana, Hangul, Thai, Lao, Myanmar, Khmer: no spaces between words, or words that grow by endings.
_DENSE_RANGES = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_DENSE = re.compile(f"[{_DENSE_RANGES}]+")
# What joins words in one run; a comma only before three digits, as in 1,000. U+200C joins the parts of Persian words.
_JOIN = r"(?:::|[.\-/:@+'’\u200c]|(?<=[0-9]),(?=[0-9]{3}(?![0-9])))"
_ASCII_RUN = re.compile(rf"\w+(?:{_JOIN}\w+)*(?:\+\+|#)?", re.ASCII)
_JOINERS = re.compile(r"[._\-/:@+'’#,\u200c]+")
_SOFT_JOINERS = re.compile(r"[._\-'’,]")  # people leave these out: e-mail and email, node.js and nodejs, 1,000 and 1000
_INVISIBLE = dict.fromkeys([0xAD, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF])  # soft hyphen, joiners, writing directions
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_VERSION = re.compile(r"[vV]?[0-9]+(?:\.[0-9]+)+", re.ASCII)
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", re.ASCII)
_MIXED = re.compile(r"[a-z][A-Z]|[A-Za-z][0-9]|[0-9][A-Za-z]|[._/:]", re.ASCII)
# Letters that are another one with a stroke or without a dot, which Unicode does not take apart.
_BARE_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"})
_MARKS_OPTIONAL = frozenset({"LATIN", "GREEK", "HEBREW", "ARABIC", "CYRILLIC"})
_BREVE = "\u0306"  # in Cyrillic it makes another letter
_STEMMERS = {"CYRILLIC": "russian", "GREEK": "greek", "ARABIC": "arabic", "DEVANAGARI": "hindi", "ARMENIAN": "armenian"}


def fold(text: str) -> str:
    """The only folding: NFKC, then case folded."""
    return fold_text(text)


@cache
def _any_run() -> re.Pattern[str]:
    """Words with their combining marks, and symbols such as emoji, each alone; built when first needed."""
    marks = _ranges(lambda c: unicodedata.category(c).startswith("M"))
    symbols = _ranges(lambda c: unicodedata.category(c) in {"So", "Sc"} and c > "\u007f")
    word = rf"[\w{marks}]+"
    return re.compile(rf"{word}(?:{_JOIN}{word})*(?:\+\+|#)?|[{symbols}]")


def _ranges(is_wanted: Callable[[str], bool]) -> str:
    """A character class's inside for all characters of a kind."""
    parts: list[str] = []
    start = previous = -2
    for code in range(0x80, 0x1FAFF + 1):
        if 0xD800 <= code <= 0xDFFF or not is_wanted(chr(code)):
            continue
        if code != previous + 1:
            if start >= 0:
                parts.append(f"{chr(start)}-{chr(previous)}")
            start = code
        previous = code
    if start >= 0:
        parts.append(f"{chr(start)}-{chr(previous)}")
    return "".join(re.sub(r"([\[\]\\^])", r"\\\1", part) for part in parts)


def _runs(text: str) -> Iterator[str]:
    """The words of a text as written: joined ones whole, dense scripts apart from the rest."""
    text = nfkc(text)
    if text.isascii():
        yield from _ASCII_RUN.findall(text)
        return
    for run in _any_run().findall(text.translate(_INVISIBLE)):
        start = 0
        for dense in _DENSE.finditer(run):
            if dense.start() > start:
                yield run[start : dense.start()].strip("._-/:@+'’#")
            yield dense[0]
            start = dense.end()
        if start < len(run):
            yield run[start:]


def surface_words(text: str) -> list[str]:
    """The folded words of a text as written, joined ones whole, without stems and parts."""
    return [_clean(run) for run in _runs(text) if run]


def _clean(word: str) -> str:
    """A word as an index term."""
    term = word.casefold().strip("_")
    if not term.isascii():
        term = "".join(c for c in nfkc(term) if c.isalnum() or (not (c.isspace() or c in '"\x00') and _is_kept(c)))
    return term[:TERM_CHARS_MAX]


@lru_cache(maxsize=4096)
def _is_kept(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMNPS" or unicodedata.category(character) == "Co"


@lru_cache(maxsize=32_768)
def _parts(run: str) -> tuple[str, ...]:
    """The words inside a joined or camel-cased run, as written; none where it is one plain word."""
    if not (_JOINERS.search(run) or "_" in run or _MIXED.search(run)):
        return ()
    if _VERSION.fullmatch(run):
        return _version_parts(run)
    if _THOUSANDS.fullmatch(run):
        return ()  # a number is whole
    parts: list[str] = []
    for piece in _JOINERS.split(run):
        if not piece:
            continue
        inner = _CAMEL.findall(piece) if piece.isascii() else _humps(piece)
        if len(inner) > 1:
            parts += [piece, *inner] if piece != run else inner
        elif piece != run:
            parts.append(piece)
    return tuple(part for part in parts if len(part) > 1 or not part.isascii())


def _version_parts(run: str) -> tuple[str, ...]:
    """The number without its v, and what it begins with: 3.11.7 is a 3.11."""
    number = run.lstrip("vV")
    pieces = number.split(".")
    starts = [".".join(pieces[:n]) for n in range(2, len(pieces))]
    return tuple(starts if number == run else [number, *starts])


def _humps(piece: str) -> list[str]:
    """The words of a camel-cased name in letters beyond ASCII."""
    borders = [at for at in range(1, len(piece)) if piece[at - 1].islower() and piece[at].isupper()]
    return [piece[start:end] for start, end in itertools.pairwise([0, *borders, len(piece)])]


@lru_cache(maxsize=32_768)
def _joined(run: str) -> str:
    """A run without its soft joiners, as many write it; empty where that is nothing new."""
    if _THOUSANDS.fullmatch(run):
        return run.replace(",", "")[:TERM_CHARS_MAX]
    if not _SOFT_JOINERS.search(run) or _VERSION.fullmatch(run):
        return ""
    return _clean(_SOFT_JOINERS.sub("", run)) if len(run) <= TERM_CHARS_MAX else ""


def _dense_terms(run: str) -> list[str]:
    run = _clean(run) if len(run) <= TERM_CHARS_MAX else "".join(_clean(c) for c in run)
    if not run:
        return []
    return [run[i : i + 2] for i in range(len(run) - 1)] + [run[-1]]


@lru_cache(maxsize=32_768)
def _variants(word: str, language: str) -> tuple[str, ...]:
    """The index terms of one plain word: its surface form, the same without accents, its stem."""
    term = _clean(word)
    if not term or (not term.isascii() and all(unicodedata.category(c) == "Mn" for c in term)):
        return ()  # marks without a letter, as beside an emoji, are no word
    found = [term]
    if not term.isascii():
        bare = _without_accents(term)
        if bare:
            found.append(bare)
    stem = _stem(term, language)
    if stem:
        found.append(stem)
        if not stem.isascii() and (bare := _without_accents(stem)):
            found.append(bare)
    return tuple(dict.fromkeys(found))


def _without_accents(term: str) -> str:
    """The letters without their marks, in scripts whose writers leave them out; other scripts need theirs."""
    script = unicodedata.name(term[0], "").partition(" ")[0]
    if script not in _MARKS_OPTIONAL:
        return ""
    kept = _BREVE if script == "CYRILLIC" else ""
    letters = unicodedata.normalize("NFD", term)
    bare = "".join(c for c in letters if unicodedata.category(c) != "Mn" or c in kept)
    return unicodedata.normalize("NFC", bare).translate(_BARE_LETTERS)[:TERM_CHARS_MAX]


@cache
def _stemmer(language: str) -> Any:  # noqa: ANN401 - PyStemmer ships no types
    import Stemmer  # noqa: PLC0415 - only a process that indexes or asks needs it

    return Stemmer.Stemmer(language)


def _stem(term: str, language: str) -> str:
    if len(term) < 3 or (not term.isalpha() and any(c.isdigit() for c in term)):
        return ""
    if not term.isascii():
        script = unicodedata.name(term[0], "").partition(" ")[0]
        if script != "LATIN":
            language = _STEMMERS.get(script, "")
    if not language:
        return ""
    stem: str = _stemmer(language).stemWord(term)
    return stem if stem != term else ""


def language_of(words: Iterable[str]) -> str:
    """The language of Latin-script words by the function words among them; English where none stands out."""
    different = set(words)
    counts = {language: len(known & different) for language, known in stopwords.OTHERS.items()}
    best = max(counts, key=lambda name: counts[name])
    is_other = counts[best] >= 2 and counts[best] > len(stopwords.ENGLISH & different)
    return best if is_other else "english"


def index_terms(text: str, language: str = "") -> list[str]:
    """Every index term of a text with repetition, in text order."""
    return read(text, language)[0]


def read(text: str, language: str = "") -> tuple[list[str], int]:
    """A text that is to be indexed, in one pass.

    Returns:
        (every index term with repetition, in text order; how many of its words carry a question).
    """
    runs = list(filter(None, _runs(text)))
    language = language or language_of(map(str.casefold, runs[:LANGUAGE_WORDS_MAX]))
    is_usual = max(map(len, runs), default=0) <= TERM_CHARS_MAX  # a longer run is not worth a place among the known
    found = list(map(_reader(language), runs)) if is_usual else [_read_run(run, language) for run in runs]
    return [term for terms, _ in found for term in terms], sum(map(_is_telling, found))


_Read = tuple[tuple[str, ...], bool]  # the index terms of a run, and whether it is more than a stop word
_is_telling = itemgetter(1)


@cache
def _reader(language: str) -> Callable[[str], _Read]:
    """What reads a run, and knows the runs that it met last."""
    return lru_cache(maxsize=32_768)(partial(_read_run, language=language))


def _read_run(run: str, language: str) -> _Read:
    if run.isascii() and run.isalpha() and len(run) <= TERM_CHARS_MAX and (run[1:].islower() or run.isupper()):
        term = run.casefold()  # the usual word: no parts, nothing to fold
        stem: str = _stemmer(language).stemWord(term) if len(term) > 2 else term
        return (term, stem) if stem != term else (term,), term not in stopwords.ENGLISH
    is_telling = _clean(run) not in stopwords.ENGLISH
    if _DENSE.match(run):
        return tuple(_dense_terms(run)), is_telling
    terms = [*_variants(run, language)]
    if joined := _joined(run):
        terms.append(joined)
    for part in _parts(run) if len(run) <= 4_096 else ():
        terms += _variants(part, language)
    return tuple(terms), is_telling


def query_terms(text: str) -> list[QueryTerm]:
    """The terms of a query, each once, in order; stop words only where nothing else remains.

    At most QUERY_TERMS_MAX: of more the longest are kept, which are the rarest as a rule.
    """
    runs = [run for run in _runs(text) if run]
    language = language_of(run.casefold() for run in runs[:LANGUAGE_WORDS_MAX])
    found: dict[str, QueryTerm] = {}
    for run in runs:
        for term in _query_run(run, language):
            found.setdefault(term.text, term)
    stops = stopwords.ENGLISH | stopwords.OTHERS.get(language, frozenset())
    telling = [term for term in found.values() if _uncontracted(term.text) not in stops]
    terms = telling or list(found.values())
    if len(terms) > QUERY_TERMS_MAX:
        kept = set(sorted(terms, key=lambda term: -len(term.text))[:QUERY_TERMS_MAX])  # of equal ones the first
        terms = [term for term in terms if term in kept]
    return terms


def _uncontracted(word: str) -> str:
    """What stands before an apostrophe: what's asks no more than what."""
    head, _, tail = word.replace("’", "'").partition("'")
    return head if 0 < len(tail) <= 2 else word


def _query_run(run: str, language: str) -> Iterator[QueryTerm]:
    if _DENSE.match(run):
        terms = _dense_terms(run)
        if len(terms) == 1:
            yield QueryTerm(text=terms[0], variants=(terms[0],), is_prefix=True)
            return
        for term in terms[:-1]:
            yield QueryTerm(text=term, variants=(term,))
        return
    parts = _parts(run) if len(run) <= 4_096 else ()
    is_identifier = bool(_MIXED.search(run)) or "_" in run or run[0].isdigit()
    variants = _query_variants(run, language)
    if variants and (joined := _joined(run)):
        variants = tuple(dict.fromkeys([*variants, joined]))
    if variants:
        yield QueryTerm(text=variants[0], variants=variants, is_identifier=is_identifier, is_compound=bool(parts))
    for part in parts:
        inner = _query_variants(part, language)
        if inner and inner[0] not in variants:
            yield QueryTerm(text=inner[0], variants=inner)


def _query_variants(word: str, language: str) -> tuple[str, ...]:
    """A query is short: its words are stemmed in its language and in English."""
    return tuple(dict.fromkeys([*_variants(word, language), *_variants(word, "english")]))


def term_weights(title: Iterable[str], body: Iterable[str], keys: Iterable[str]) -> dict[str, float]:
    """Weighted term frequencies of a chunk, from its index terms; stop words carry no question and are left out.

    Title terms count TITLE_WEIGHT, keys (topic key, concept) KEYS_WEIGHT, the body 1.
    """
    weights: dict[str, float] = {**Counter(body)}
    for terms, weight in ((title, TITLE_WEIGHT), (keys, KEYS_WEIGHT)):
        for term in terms:
            weights[term] = weights.get(term, 0) + weight
    for stop in stopwords.ENGLISH.intersection(weights):
        del weights[stop]
    return weights


def weighted_length(title: int, body: int, keys: int) -> float:
    """The length of a chunk as BM25 counts it, from its words that carry a question, with ``term_weights``' weights."""
    return title * TITLE_WEIGHT + body + keys * KEYS_WEIGHT
