"""The concept of a text that came without one: what its first sentence is about."""

from __future__ import annotations

from engram.model import CONCEPT_CHARS_MAX
from engram.rules import cues, names

WORDS_MAX = 5
CONCEPT_CHARS = 60


def extract(text: str) -> str:
    """The words before the verb of the first sentence, as far as one is known; at most WORDS_MAX.

    Args:
        text: Not blank.
    """
    sentence = names.first_sentence_title(text, 200)
    words = sentence.split()
    found: list[str] = []
    for word in words:
        folded = names.fold_text(word.strip(".,:;!?()\"'"))
        if found and (folded in cues.COPULAS or folded in _VERBS):
            break
        if found or folded not in cues.EMPTY:
            found.append(word)
        if len(found) == WORDS_MAX:
            break
    kept = " ".join(found or words[:WORDS_MAX]).strip(".,:;!?")
    return names.cut_at_word(kept, min(CONCEPT_CHARS, CONCEPT_CHARS_MAX))


# Verbs with which statements about things usually go on.
_VERBS = frozenset(
    """
    uses use used has have had runs run ran needs need needed requires require takes take likes like prefers prefer
    lives live works work wants want does did can will should must stores store sends send returns return listens
    expires depends supports accepts contains holds keeps makes became becomes belongs happened decided moved switched
    """.split()
)
