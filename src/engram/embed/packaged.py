"""The model that lies inside our own package: bge-small-en-v1.5, 8-bit.

Its two files are put there when the package is built (hatch_build.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engram.embed.onnx import OnnxEmbedder, existing, vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "models"
MODEL_FILE = "model_quantized.onnx"
TOKENIZER_FILE = "tokenizer.json"


class PackagedEmbedder(OnnxEmbedder):
    """The packaged model as an ``Embedder``."""

    model_id = "bge-small-en-v1.5-int8@1"  # the number counts what changes a vector: weights, prefix, pooling, cut
    dim = 384
    tokens_max = 512
    query_prefix = "Represent this sentence for searching relevant passages: "

    def __init__(self, folder: Path = FOLDER) -> None:
        super().__init__(folder / TOKENIZER_FILE)
        self._folder = folder

    def model_path(self) -> Path:
        """In the package."""
        return self._folder / MODEL_FILE


def tokenizer_path() -> Path:
    """The packaged tokenizer's file.

    Raises:
        Unavailable: it is not there.
    """
    return existing(FOLDER / TOKENIZER_FILE)


def vocabulary() -> Mapping[str, int]:
    """The packaged vocabulary: piece -> id; pieces inside a word begin with ``##``.

    Raises:
        Unavailable: it is not there or cannot be read.
    """
    return vocabulary_of(FOLDER / TOKENIZER_FILE)
