"""BERT models in ONNX form, run by onnxruntime: what the packaged model and the extra ``minilm`` share.

Importing this module imports neither numpy nor onnxruntime nor tokenizers; the first text does.
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
from typing import TYPE_CHECKING, ClassVar, cast

from engram.embed.curves import shipped_curve
from engram.embed.readable import Pieces, is_readable, pieces_of
from engram.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    from engram.rules.curve import Curve

SCRIPTS = frozenset({"LATIN"})
REINSTALL_HINT = "Install Engram again from a wheel, or build it with pip; words are searched meanwhile."
LOG_ERRORS_ONLY = 3  # onnxruntime's own level


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The model in memory. Its parts may be used by several threads at once."""

    tokenizer: Tokenizer
    session: InferenceSession
    run_options: object  # onnxruntime's stubs do not name its type


class OnnxEmbedder:
    """An uncased BERT model as an ``Embedder``. Loaded by its first text, or by ``load``."""

    model_id: ClassVar[str]
    dim: ClassVar[int]
    tokens_max: ClassVar[int]
    query_prefix: ClassVar[str] = ""
    has_mean: ClassVar[bool] = False  # the mean of all tokens stands for the text, else the first one, [CLS]

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer_path = tokenizer
        self._lock = Lock()
        self._loaded: _Loaded | None = None

    @property
    def curve(self) -> Curve:
        return shipped_curve(self.model_id)

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def embed_passage(self, text: str) -> NDArray[np.float32]:
        """The vector of a text that is kept: shape (dim,), length 1. Reads the first ``tokens_max`` tokens.

        Raises:
            Unavailable: the model is not there or does not start.
        """
        return self._embed(text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question: as ``embed_passage``, with the prefix that the model was trained with."""
        return self._embed(self.query_prefix + text)

    def can_read(self, text: str) -> bool:
        """Whether a vector of this text would mean something. Reads the vocabulary, not the model.

        Raises:
            Unavailable: the vocabulary is not there.
        """
        return is_readable(text, pieces=_pieces(self._tokenizer_path), scripts=SCRIPTS)

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
        return_memory()

    def model_path(self) -> Path:
        """Where the weights lie.

        Raises:
            Unavailable: the package that carries them is not installed.
        """
        raise NotImplementedError

    def _ready(self) -> _Loaded:
        loaded = self._loaded
        if loaded is not None:  # the usual case needs no lock
            return loaded
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self.model_path(), self._tokenizer_path, self.tokens_max)
            return self._loaded

    def _embed(self, text: str) -> NDArray[np.float32]:
        """One text a call: in a batch 8-bit weights would give it another vector, and longer texts cost memory."""
        loaded = self._ready()
        import numpy as np  # noqa: PLC0415 - imported with the first text only

        ids = np.array([loaded.tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = np.asarray(loaded.session.run(["last_hidden_state"], inputs, loaded.run_options)[0], np.float32)[0]
        vector = states.mean(axis=0) if self.has_mean else states[0]  # without padding every token counts
        return vector / np.linalg.norm(vector)


def vocabulary_of(tokenizer: Path) -> Mapping[str, int]:
    """The vocabulary of a tokenizer file: piece -> id; pieces inside a word begin with ``##``.

    Raises:
        Unavailable: it is not there or cannot be read.
    """
    return _vocabulary(tokenizer)


@cache
def _vocabulary(path: Path) -> Mapping[str, int]:
    try:
        return cast("dict[str, int]", json.loads(existing(path).read_bytes())["model"]["vocab"])
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise Unavailable("the vocabulary of the model cannot be read", hint=REINSTALL_HINT) from error


@cache
def _pieces(path: Path) -> Pieces:
    return pieces_of(_vocabulary(path))


def existing(path: Path) -> Path:
    """The path of a model's file.

    Raises:
        Unavailable: it is not there.
    """
    if not path.is_file():
        raise Unavailable(f"the model's file {path.name} is missing", hint=REINSTALL_HINT)
    return path


def _open(model: Path, tokenizer: Path, tokens_max: int) -> _Loaded:
    paths = existing(model), existing(tokenizer)
    try:
        return _Loaded(_tokenizer(paths[1], tokens_max), _session(paths[0]), _run_options())
    except Exception as error:  # both libraries raise plain exceptions for damaged files, ImportError where absent
        raise Unavailable("the embedding model does not start", hint=REINSTALL_HINT) from error


def _tokenizer(path: Path, tokens_max: int) -> Tokenizer:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here asks a hub; should that change, it must fail
    from tokenizers import Tokenizer  # noqa: PLC0415 - imported with the first text only

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens_max)
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


def return_memory() -> None:
    """Make the C library give freed memory back to the system; glibc alone keeps it, here some 50 MB."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
