"""``python -m bench.fixture`` makes the small database of the present schema that tests/test_schema.py opens.

Run it once when a schema version is released, and never again for that version: the point is that old files open.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from engram.app import App
from engram.settings import Settings
from engram.tools import mem, registry

FOLDER = Path(__file__).parent.parent / "tests" / "fixtures"


def main() -> None:
    """Write schema_NNNN.db and schema_NNNN.key."""
    assert mem.mem_save  # the module registers its tools
    with tempfile.TemporaryDirectory() as name:
        app = App(Settings(data_dir=Path(name), project="shop"), folder=Path(name))
        for tool, arguments in (
            ("mem_session_start", {"id": "old", "project": "shop"}),
            ("mem_save", {"title": "SameSite cookies", "content": "Safari drops SameSite=None cookies", "topic_key": "bug/cookies"}),
            ("mem_save", {"title": "SameSite cookies", "content": "Safari drops SameSite=None cookies that lack Secure", "topic_key": "bug/cookies"}),
            ("mem_save", {"title": "部署", "content": "使用Redis缓存数据库", "scope": "personal"}),
            ("mem_save", {"title": "Gone", "content": "deleted later"}),
            ("mem_delete", {"id": 3}),
            ("mem_save_prompt", {"content": "fix the login"}),
            ("mem_session_end", {"id": "old", "summary": "done"}),
        ):  # fmt: skip
            answer = app.call(registry.TOOLS[tool], arguments)
            assert not answer.is_error, answer.text
        app.worker.finish(10)
        version = app.store.version()
        app.close()
        for suffix in ("db", "key"):
            source = Path(name) / ("engram.db" if suffix == "db" else "key")
            shutil.copyfile(source, FOLDER / f"schema_{version:04d}.{suffix}")
    print(f"schema version {version} written to {FOLDER}")


if __name__ == "__main__":
    main()
