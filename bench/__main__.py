"""``python -m bench NAME ...``: run one of the programs of this folder (speed, quality, kill, curve, contradictions, neural, tools, cli, fixture)."""

from __future__ import annotations

import importlib
import sys

PROGRAMS = ("speed", "quality", "kill", "curve", "contradictions", "neural", "tools", "cli", "fixture")


def main() -> int:
    """Hand the rest of the command line to the program that was named."""
    name, *rest = sys.argv[1:] or [""]
    if name not in PROGRAMS:
        print(f"python -m bench NAME ..., where NAME is one of {', '.join(PROGRAMS)}", file=sys.stderr)
        return 0 if name in {"-h", "--help"} else 2
    sys.argv = [f"python -m bench {name}", *rest]
    importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
