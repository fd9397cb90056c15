"""``python -m bench.tools`` writes docs/tools.md from the registry."""

from __future__ import annotations

from pathlib import Path

from engram.tools import families, registry

PAGE = Path(__file__).parent.parent / "docs" / "tools.md"
HEAD = "<!-- Made by `python -m bench.tools`; a test compares it with the registry. -->\n\n"


def page() -> str:
    """The page's text."""
    families.load()
    return HEAD + registry.markdown(registry.TOOLS.values())


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
