"""The curves that ship, one for each model that we know by name."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from engram.rules.curve import Curve, curve_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

CURVES_PATH = Path(__file__).parent / "curves.json"


def shipped_curve(model_id: str) -> Curve:
    """The curve that ships for a model.

    Raises:
        KeyError: there is none for this model.
    """
    return _curves()[model_id]


@cache
def _curves() -> Mapping[str, Curve]:
    data = cast("dict[str, object]", json.loads(CURVES_PATH.read_text("utf-8")))
    return {model_id: curve_from_json(curve) for model_id, curve in data.items()}
