"""The model that lies inside our own package: bge-small-en-v1.5, 8-bit, run by onnxruntime.

Its two files are put there when the package is built (hatch_build.py). Importing this module imports neither
numpy nor onnxruntime nor tokenizers; the first text does.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast

from engram.embed.readable import Pieces, is_readable, pieces_of
from engram.errors import Unavailable
from engram.rules.curve import Curve, curve_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# The number counts what changes a vector: weights, prefix, pooling, truncation.
MODEL_ID = "bge-small-en-v1.5-int8@1"
DIM = 384
TOKENS_MAX = 512
SCRIPTS = frozenset({"LATIN"})
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "

FOLDER = Path(__file__).parent / "models"
CURVES_PATH = Path(__file__).parent / "curves.json"
MODEL_FILE = "model_quantized.onnx"
TOKENIZER_FILE = "tokenizer.json"
REINSTALL_HINT = "Install Engram again from a wheel, or build it with pip; words are searched meanwhile."
LOG_ERRORS_ONLY = 3  # onnxruntime's own level


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The model in memory. Its parts may be used by several threads at once."""

    tokenizer: Tokenizer
    session: InferenceSession
    run_options: object  # onnxruntime's stubs do not name its type


class PackagedEmbedder:
    """The packaged model as an ``Embedder``. Loaded by its first text, or by ``load``."""

    model_id = MODEL_ID
    dim = DIM
    tokens_max = TOKENS_MAX

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._lock = Lock()
        self._loaded: _Loaded | None = None

    @property
    def curve(self) -> Curve:
        return shipped_curve(self.model_id)

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def embed_passage(self, text: str) -> NDArray[np.float32]:
        """The vector of a text that is kept: shape (384,), length 1. Reads the first 512 tokens.

        Raises:
            Unavailable: the model is not there or does not start.
        """
        return _embed(self._ready(), text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question: as ``embed_passage``, with the prefix that the model was trained with."""
        return _embed(self._ready(), QUERY_PREFIX + text)

    def can_read(self, text: str) -> bool:
        """Whether a vector of this text would mean something. Reads the vocabulary, not the model.

        Raises:
            Unavailable: the vocabulary is not there.
        """
        return is_readable(text, pieces=_pieces(self._folder / TOKENIZER_FILE), scripts=SCRIPTS)

    def load(self) -> None:
        """Load the model now; threads that come meanwhile wait for the same one.

        Raises:
            Unavailable: the model is not there or does not start.
        """
        self._ready()

    def drop(self) -> None:
        """Give the model's memory back, once the texts that are being embedded are done."""
        with self._lock:
            self._loaded = None
        _return_memory()

    def _ready(self) -> _Loaded:
        loaded = self._loaded
        if loaded is not None:  # the usual case needs no lock
            return loaded
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self._folder)
            return self._loaded


def tokenizer_path() -> Path:
    """The packaged tokenizer's file.

    Raises:
        Unavailable: it is not there.
    """
    return _existing(FOLDER / TOKENIZER_FILE)


def vocabulary() -> Mapping[str, int]:
    """The packaged vocabulary: piece -> id; pieces inside a word begin with ``##``.

    Raises:
        Unavailable: it is not there or cannot be read.
    """
    return _vocabulary(FOLDER / TOKENIZER_FILE)


def shipped_curve(model_id: str) -> Curve:
    """The curve that ships for a model.

    Raises:
        KeyError: there is none for this model.
    """
    return _curves()[model_id]


@cache
def _curves() -> Mapping[str, Curve]:
    data = cast("dict[str, object]", json.loads(CURVES_PATH.read_text("utf-8")))
    return {model_id: curve_from_json(curve) for model_id, curve in data.items()}


@cache
def _vocabulary(path: Path) -> Mapping[str, int]:
    try:
        return cast("dict[str, int]", json.loads(_existing(path).read_bytes())["model"]["vocab"])
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise Unavailable("the vocabulary of the model cannot be read", hint=REINSTALL_HINT) from error


@cache
def _pieces(path: Path) -> Pieces:
    return pieces_of(_vocabulary(path))


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise Unavailable(f"the model's file {path.name} is missing", hint=REINSTALL_HINT)
    return path


def _open(folder: Path) -> _Loaded:
    model, tokenizer = _existing(folder / MODEL_FILE), _existing(folder / TOKENIZER_FILE)
    try:
        return _Loaded(_tokenizer(tokenizer), _session(model), _run_options())
    except Exception as error:  # both libraries raise plain exceptions for damaged files, ImportError where absent
        raise Unavailable("the embedding model does not start", hint=REINSTALL_HINT) from error


def _tokenizer(path: Path) -> Tokenizer:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here asks a hub; should that change, it must fail
    from tokenizers import Tokenizer  # noqa: PLC0415 - imported with the first text only

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.encode_special_tokens = True  # "[SEP]" in somebody's text is text
    return tokenizer


def _session(path: Path) -> InferenceSession:
    import onnxruntime  # noqa: PLC0415 - imported with the first text only

    onnxruntime.disable_telemetry_events()  # Windows builds have some
    options = onnxruntime.SessionOptions()
    options.log_severity_level = LOG_ERRORS_ONLY
    options.intra_op_num_threads = 1  # more are no faster on a busy machine, and vectors stay the same
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _run_options() -> object:
    import onnxruntime  # noqa: PLC0415 - imported with the first text only

    options = onnxruntime.RunOptions()
    # As fast as the plain arena; after a long text 40 MB less stay, and the peak is 110 MB below "no arena".
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


def _return_memory() -> None:
    """Make the C library give freed memory back to the system; glibc alone keeps it, here some 50 MB."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _embed(loaded: _Loaded, text: str) -> NDArray[np.float32]:
    """One text a call: in a batch the 8-bit weights would give it another vector, and longer texts cost memory."""
    import numpy as np  # noqa: PLC0415 - imported with the first text only

    ids = np.array([loaded.tokenizer.encode(text).ids], np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    states = loaded.session.run(["last_hidden_state"], inputs, loaded.run_options)[0]
    first = np.asarray(states, np.float32)[0, 0]  # the state of [CLS] stands for the text
    return first / np.linalg.norm(first)
