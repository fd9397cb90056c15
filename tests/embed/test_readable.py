"""What the packaged model can read."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from engram.embed import PackagedEmbedder, tokenizer_path, vocabulary
from engram.embed.readable import is_readable, pieces_of, words_of

PIECES = pieces_of(vocabulary())
TOKENIZER = Tokenizer.from_file(str(tokenizer_path()))
TOKENIZER.encode_special_tokens = True
UNKNOWN = vocabulary()["[UNK]"]
LATIN = frozenset({"LATIN"})
SNOWMAN = "\N{SNOWMAN}"

READABLE = {
    "english": "The cache keeps every answer for ten minutes.",
    "german": "Die Prüfung schlägt fehl, wenn das Feld für die Größe leer ist.",
    "french": "Où sont les clés de la boîte à outils que j'ai prêtée hier ?",
    "spanish": "¿Cuándo empieza la reunión de mañana? El niño está enfermo.",
    "polish": "Zażółć gęślą jaźń, powiedział Łukasz do Małgorzaty.",
    "turkish": "İstanbul'da yağmur yağıyor, şemsiyeni unutma.",
    "vietnamese": "Tôi không thể đến cuộc họp vào ngày mai.",
    "indonesian": "Rapat besok dimulai pukul sembilan pagi.",
    "code": "def load(path: Path) -> dict[str, int]:\n    return json.loads(path.read_text())",
    "identifiers": "AuthService.refreshToken() fails with ERR_TOKEN_EXPIRED on v2.3.1",
    "a link": "See https://example.org/docs/setup?step=2#install for the steps.",
    "one word": "postgres",
    "numbers with a unit": "5432 ms",
    "an emoji apart": "The release is out \U0001f389",
    "accents as marks": "Cafe\u0301 cre\u0300me",
    "a little greek": "The angle is called α in the long paper about robots and arms.",
}
UNREADABLE = {
    "chinese": "我们决定使用关系数据库。",
    "japanese": "明日の会議は九時に始まります。",
    "katakana": "データベース サーバー",
    "korean": "내일 회의는 아홉 시에 시작합니다.",
    "russian": "Мы решили использовать реляционную базу данных.",
    "ukrainian": "Зустріч починається о дев'ятій годині.",
    "greek": "Η συνάντηση αρχίζει στις εννέα.",
    "thai": "การประชุมเริ่มเวลาเก้าโมงเช้า",
    "arabic": "يبدأ الاجتماع في الساعة التاسعة صباحا.",
    "hebrew": "הפגישה מתחילה בתשע בבוקר.",
    "hindi": "बैठक सुबह नौ बजे शुरू होती है।",
    "english with a chinese half": "We decided: 我们决定使用关系数据库。",
    "emoji": "\U0001f389 \U0001f389",
    "numbers": "2024-05-03 12:00 42",
    "signs": "--- *** +++",
    "nothing": "",
    "white space": " \n\t ",
    "a digest of 128 digits": "The digest is " + "a1" * 64,
    "fancy letters": "\U0001d417\U0001d418\U0001d419",
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_a_latin_text_is_readable(text: str) -> None:
    """The model's script, in words that its tokenizer can spell."""
    assert PackagedEmbedder().can_read(text)


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_what_the_model_never_learned_is_not_readable(text: str) -> None:
    """Its vectors would all be alike, whatever the texts say."""
    assert not PackagedEmbedder().can_read(text)


def test_one_word_in_ten_may_be_unknown() -> None:
    """At the border it is readable, beyond it is not."""
    assert is_readable("tea " * 9 + f"a{SNOWMAN}b", pieces=PIECES, scripts=LATIN)
    assert not is_readable("tea " * 8 + f"a{SNOWMAN}b", pieces=PIECES, scripts=LATIN)


def test_one_letter_in_ten_may_be_of_another_script() -> None:
    """At the border it is readable, beyond it is not."""
    assert is_readable("a" * 9 + " б", pieces=PIECES, scripts=LATIN)
    assert not is_readable("a" * 8 + " б", pieces=PIECES, scripts=LATIN)


def test_a_word_that_the_tokenizer_would_cut_off_is_not_readable() -> None:
    """A hundred characters are spelled, one more are not, among however many known words."""
    known = "tea " * 50
    assert is_readable(known + "a" * 100, pieces=PIECES, scripts=LATIN)
    assert not is_readable(known + "a" * 101, pieces=PIECES, scripts=LATIN)


def test_a_model_of_other_scripts_reads_those() -> None:
    """The scripts belong to the model, not to the rule."""
    text = "привет"
    assert not is_readable(text, pieces=PIECES, scripts=LATIN)
    assert is_readable(text, pieces=PIECES, scripts=frozenset({"CYRILLIC"}))


# Characters of all kinds that the tokenizer treats apart, from blocks that every Unicode version knows alike.
CHARACTERS = st.one_of(
    st.characters(max_codepoint=0x17F),
    st.sampled_from("ßİıſæøłđ\u0301\u0303\u00ad\u200b\u200d\u2028\u3000\ufeff\x00\x85\ufffd"),
    st.sampled_from("αΣςбйЁ漢字仮かガ한국ا\u064eไทยक्ष豈、。—…“”€→☃½²№ⅣÅﬁＡ\U0001f389\U0001f44d\U0001d400"),
    st.sampled_from(" \n._-/#$+<=>^`|~@'\""),
)


@settings(deadline=None)  # the machine may be busy
@given(text=st.text(CHARACTERS, max_size=60))
@example(text="ab" * 60 + " c")
@example(text=f"tea{SNOWMAN} [UNK] [SEP]")
def test_unknown_words_are_those_of_the_tokenizer(text: str) -> None:
    """Our plain reading of the vocabulary agrees with the library, word by word."""
    encoding = TOKENIZER.encode(text, add_special_tokens=False)
    theirs = [
        text[start:end] for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True) if piece == UNKNOWN
    ]
    ours = [word for word in words_of(text) if len(word) > 100 or not PIECES.knows(word)]
    assert ours == [word for unknown in theirs for word in words_of(unknown)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    ["a ", "x", "abcdefghijklmnopqrstuvwx" * 4 + " ", "z" * 48 + SNOWMAN + "q" * 49 + " ", "\u0301", "한", "漢", " "],
)
def test_a_hostile_text_of_a_million_characters_is_judged(unit: str) -> None:
    """No text makes the judgement take more than linear time."""
    text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    assert is_readable(text, pieces=PIECES, scripts=LATIN) is (unit[:3] in {"a ", "abc"})
