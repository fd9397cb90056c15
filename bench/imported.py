"""``python bench/imported.py engram|bare``: serve until the input ends, then list on stderr what was imported.

The application is not opened meanwhile: what it brings belongs to the first call.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def serve(name: str) -> None:
    """Serve engram, or the bare server."""
    if name == "bare":
        runpy.run_path(str(Path(__file__).with_name("bare.py")), run_name="__main__")
        return
    from engram.surfaces import cli, mcp  # noqa: PLC0415 - the bare server must not have it

    mcp.OPEN_AFTER_LIST_S = mcp.OPEN_AFTER_START_S = 3_600.0
    cli.run(["mcp"])


if __name__ == "__main__":
    try:
        serve(sys.argv[1])
    finally:
        print(*sorted(sys.modules), file=sys.stderr)
