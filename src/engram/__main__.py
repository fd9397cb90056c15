"""``python -m engram``."""

from engram.surfaces.cli import main

main()
