"""Which modules declare which profiles, so that a process imports only the families that it serves."""

from __future__ import annotations

import importlib

from engram.tools import registry

MODULES: dict[str, tuple[str, ...]] = {
    "agent": ("mem",),
    "admin": ("mem",),
    "neural": ("knowledge", "forgetting", "conflicts", "indexing", "tagging", "hooks", "reflections"),
}


def load(spec: str = "all") -> None:
    """Import the modules of these profiles and tools, with commas, in their fixed order.

    A word that is no profile may be any tool, or a mistake whose error lists them all: everything is imported.
    """
    words = {part.strip() for part in spec.split(",") if part.strip()}
    profiles = {profile for word in words for profile in registry.COMPOSED.get(word, (word,))}
    is_plain = profiles <= MODULES.keys()
    chosen = [names for profile, names in MODULES.items() if profile in profiles or not is_plain]
    modules = dict.fromkeys(name for names in chosen for name in names)
    for name in modules:
        importlib.import_module(f"engram.tools.{name}")
