"""Modules that the first call needs, and the list of tools does not."""

from __future__ import annotations

import importlib
from typing import Any


class Later:
    """A module that is imported when something of it is first asked for; opening the application imports it too.

    The engine costs a start a fifth of its time, and a client waits for the list of tools.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - type checkers see the module itself
        return getattr(importlib.import_module(self._name), name)
