"""The packaged model, for real."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tokenizers import Tokenizer

from engram.embed import Embedder, PackagedEmbedder, tokenizer_path, vocabulary
from engram.embed.calibrate import curve_of
from engram.embed.curves import shipped_curve
from engram.embed.packaged import FOLDER, MODEL_FILE, TOKENIZER_FILE
from engram.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# None of these stands among the pairs that the curve was made from.
PARAPHRASES = [
    ("The printer on the second floor is out of toner.", "Upstairs, the printer needs a new toner cartridge."),
    ("We switched from npm to pnpm to save disk space.", "pnpm replaced npm, because it uses less of the disk."),
    ("Karl has two daughters and a son.", "Karl is the father of three children, two girls and a boy."),
    ("Sessions expire after thirty minutes without activity.", "After half an hour of inactivity a session ends."),
]
UNRELATED = [
    "The printer on the second floor is out of toner.",
    "We switched from npm to pnpm to save disk space.",
    "Karl has two daughters and a son.",
    "A whale can hold its breath for more than an hour.",
    "Rent is due on the fifteenth of each month.",
]
TEXTS = [*UNRELATED, "x", "#12", "def f(x):\n    return x + 1\n", "Schöne Grüße aus Köln", "word " * 300]


def similarity(embedder: PackagedEmbedder, one: str, other: str) -> float:
    return embedder.curve.similarity(float(embedder.embed_passage(one) @ embedder.embed_passage(other)))


@pytest.mark.parametrize("text", [*TEXTS, "", " ", "漢字", "\U0001f389", "a" * 500])
def test_a_vector_has_384_numbers_and_length_one(embedder: PackagedEmbedder, text: str) -> None:
    """Whatever the text, even one that means nothing to the model."""
    for vector in (embedder.embed_passage(text), embedder.embed_query(text)):
        assert vector.shape == (384,) == (embedder.dim,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)


def test_a_vector_holds_no_more_memory_than_its_numbers(embedder: PackagedEmbedder) -> None:
    """It is no view into the states of all tokens."""
    assert embedder.embed_passage("word " * 300).base is None


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_identical_to_itself(embedder: PackagedEmbedder, text: str) -> None:
    """Identity is similarity 1, but for rounding."""
    assert similarity(embedder, text, text) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("one", "other"), PARAPHRASES)
def test_a_paraphrase_is_similar(embedder: PackagedEmbedder, one: str, other: str) -> None:
    """The same said in other words lies far above everything unrelated."""
    assert similarity(embedder, one, other) > 0.6


@pytest.mark.parametrize("at", range(1, len(UNRELATED)))
def test_unrelated_texts_are_not_similar(embedder: PackagedEmbedder, at: int) -> None:
    """Texts on different things stay low, though their cosines do not."""
    assert all(similarity(embedder, UNRELATED[at], other) < 0.35 for other in UNRELATED[:at])


def test_a_question_finds_its_answer(embedder: PackagedEmbedder) -> None:
    """Asked with the prefix for questions, the text that answers is the nearest."""
    question = embedder.embed_query("Which package manager do we use?")
    cosines = [float(question @ embedder.embed_passage(text)) for text in UNRELATED]
    assert cosines.index(max(cosines)) == 1


def test_a_question_is_not_embedded_as_a_passage(embedder: PackagedEmbedder) -> None:
    """Only the question carries the prefix."""
    assert embedder.embed_query("tea").tobytes() != embedder.embed_passage("tea").tobytes()


def test_the_same_text_gives_the_same_bytes_whatever_came_before(embedder: PackagedEmbedder) -> None:
    """Neither earlier texts nor a fresh start of the model change a vector."""
    first = [embedder.embed_passage(text).tobytes() for text in TEXTS]
    backwards = [embedder.embed_passage(text).tobytes() for text in reversed(TEXTS)]
    fresh = PackagedEmbedder()
    assert backwards[::-1] == first
    assert [fresh.embed_passage(text).tobytes() for text in TEXTS] == first


def test_threads_at_once_get_the_same_bytes(embedder: PackagedEmbedder) -> None:
    """Two threads that embed at the same time do not disturb each other."""
    expected = [embedder.embed_passage(text).tobytes() for text in TEXTS]
    start = Barrier(2)

    def embed_all() -> list[bytes]:
        start.wait(timeout=30)
        return [embedder.embed_passage(text).tobytes() for text in TEXTS * 3]

    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(embed_all) for _ in range(2)]
        assert [result.result() for result in results] == [expected * 3] * 2


def test_only_the_first_512_tokens_are_read(embedder: PackagedEmbedder) -> None:
    """With start and end marks, 510 pieces of the text count."""
    text = "word " * 510
    assert embedder.embed_passage(text).tobytes() == embedder.embed_passage(text + "other " * 200).tobytes()
    assert embedder.embed_passage("word " * 509).tobytes() != embedder.embed_passage(text).tobytes()


def test_marks_of_the_model_in_a_text_are_text(embedder: PackagedEmbedder) -> None:
    """Nobody can end a text early, or hide words, by writing the model's own marks."""
    tokens = embedder._ready().tokenizer.encode("a [SEP] b [MASK] [PAD]").tokens
    assert tokens.count("[SEP]") == 1
    assert tokens[-1] == "[SEP]"
    assert not {"[MASK]", "[PAD]"} & set(tokens)


def test_threads_that_need_the_model_at_once_load_it_once() -> None:
    """All wait for the same load and get the same model."""
    embedder = PackagedEmbedder()
    start = Barrier(4)

    def ready() -> int:
        start.wait(timeout=30)
        return id(embedder._ready())

    with ThreadPoolExecutor(4) as pool:
        assert len({future.result() for future in [pool.submit(ready) for _ in range(4)]}) == 1


def test_a_dropped_model_is_loaded_again_by_the_next_text() -> None:
    """Dropping forgets the model, not how to load it; twice does no harm."""
    embedder = PackagedEmbedder()
    assert not embedder.is_loaded
    before = embedder.embed_passage("tea").tobytes()
    assert embedder.is_loaded
    embedder.drop()
    embedder.drop()
    assert not embedder.is_loaded
    assert embedder.embed_passage("tea").tobytes() == before


def test_a_model_may_be_dropped_while_a_text_is_being_embedded() -> None:
    """The text in work is finished; the next one loads the model."""
    embedder = PackagedEmbedder()
    expected = embedder.embed_passage("word " * 100).tobytes()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: [embedder.embed_passage("word " * 100).tobytes() for _ in range(10)])
        drops = 0
        while not work.done():
            embedder.drop()
            drops += 1
        assert set(work.result()) == {expected}
        assert drops


@pytest.mark.parametrize(
    "use", [PackagedEmbedder.embed_passage, PackagedEmbedder.embed_query, PackagedEmbedder.can_read]
)
def test_without_its_files_the_model_is_unavailable(
    use: Callable[[PackagedEmbedder, str], object], tmp_path: Path
) -> None:
    """The error says what to do, and a later try may succeed."""
    embedder = PackagedEmbedder(tmp_path)
    with pytest.raises(Unavailable) as raised:
        use(embedder, "tea")
    assert raised.value.hint
    assert not embedder.is_loaded


def test_a_model_that_came_late_is_used(tmp_path: Path) -> None:
    """A failed load is not remembered."""
    embedder = PackagedEmbedder(tmp_path)
    with pytest.raises(Unavailable):
        embedder.load()
    for name in (MODEL_FILE, TOKENIZER_FILE):
        (tmp_path / name).symlink_to(FOLDER / name)
    embedder.load()
    assert embedder.can_read("tea")


@pytest.mark.parametrize("damaged", [MODEL_FILE, TOKENIZER_FILE])
def test_a_damaged_file_makes_the_model_unavailable(damaged: str, tmp_path: Path) -> None:
    """Half a file, as a full disk leaves it, is no reason for an internal error."""
    for name in (MODEL_FILE, TOKENIZER_FILE):
        shutil.copyfile(FOLDER / name, tmp_path / name)
    path = tmp_path / damaged
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(Unavailable):
        PackagedEmbedder(tmp_path).load()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b'{"model": 1}'])
def test_a_damaged_vocabulary_is_unavailable(content: bytes, tmp_path: Path) -> None:
    """What is no JSON, or JSON of another shape, has the same code as a missing file."""
    (tmp_path / TOKENIZER_FILE).write_bytes(content)
    with pytest.raises(Unavailable):
        PackagedEmbedder(tmp_path).can_read("tea")


def test_the_vocabulary_is_that_of_the_tokenizer() -> None:
    """Read without the library, it is what the library reads."""
    assert dict(vocabulary()) == Tokenizer.from_file(str(tokenizer_path())).get_vocab()


def test_the_shipped_curve_is_what_the_shipped_pairs_give(embedder: PackagedEmbedder) -> None:
    """Whoever changes pairs or model runs bench.curve; other processors round a little differently."""
    measured = curve_of(embedder)
    for (cosine, value), (known_cosine, known_value) in zip(measured.knots, embedder.curve.knots, strict=True):
        assert value == known_value
        assert cosine == pytest.approx(known_cosine, abs=0.02)


def test_a_model_that_does_not_ship_has_no_shipped_curve() -> None:
    """There is no curve to fall back on: a wrong one would be worse than none."""
    with pytest.raises(KeyError):
        shipped_curve("another-model@1")


def test_the_packaged_model_is_an_embedder(embedder: PackagedEmbedder) -> None:
    """It fits the protocol (the type checker's part) and says who it is."""
    as_protocol: Embedder = embedder
    assert (as_protocol.model_id, as_protocol.dim, as_protocol.tokens_max) == ("bge-small-en-v1.5-int8@1", 384, 512)
    assert as_protocol.curve.version


def run_python(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr
    return done.stdout.strip()


def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    """Importing, asking for name and curve, and judging a text cost no numpy and no onnxruntime."""
    program = """
import sys
heavy = {"numpy", "onnxruntime", "tokenizers"}
import engram.embed
embedder = engram.embed.PackagedEmbedder()
embedder.curve.similarity(0.5), embedder.can_read("tea"), engram.embed.vocabulary(), embedder.drop()
print(sorted(heavy & sys.modules.keys()))
embedder.embed_passage("tea")
print(sorted(heavy & sys.modules.keys()))
print([name for name in sys.modules if name.startswith(("huggingface_hub", "httpx", "requests", "torch"))])
"""
    assert run_python(program).splitlines() == ["[]", "['numpy', 'onnxruntime', 'tokenizers']", "[]"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system decides when memory is given back")
def test_a_dropped_model_gives_its_memory_back() -> None:
    """An idle process keeps less than half of what the model took."""
    program = """
import numpy, onnxruntime, tokenizers, psutil
from engram.embed import PackagedEmbedder
size = lambda: psutil.Process().memory_info().rss
embedder = PackagedEmbedder()
embedder.can_read("tea")
before = size()
embedder.embed_passage("word " * 300)
loaded = size()
embedder.drop()
print((size() - before) / (loaded - before))
"""
    assert float(run_python(program)) < 0.5


def test_embedding_opens_no_connection() -> None:
    """Neither loading nor embedding asks anybody, not even for a name."""
    program = """
import sys
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith("socket.") else None)
import engram.embed
embedder = engram.embed.PackagedEmbedder()
embedder.embed_passage("tea")
embedder.embed_query("tea")
import os
print(seen, os.environ["HF_HUB_OFFLINE"])
"""
    assert run_python(program) == "[] 1"
