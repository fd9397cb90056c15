"""Make src/engram/embed/curves.json: the packaged model's curve, from the shipped pairs.

Run with ``python -m bench.curve`` from the root after the pairs or the model have changed, and commit the result.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engram.embed.calibrate import measure
from engram.embed.packaged import CURVES_PATH, PackagedEmbedder
from engram.rules.curve import Curve, make_curve, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Measure, write the file, print the knots and how well the two kinds of pairs are told apart."""
    embedder = PackagedEmbedder()
    cosines = measure(embedder)
    curve = make_curve(unlike=cosines.unlike, like=cosines.like)
    CURVES_PATH.write_text(json.dumps({embedder.model_id: curve.as_json()}, indent=2) + "\n", "utf-8")
    print(f"{embedder.model_id}, curve {curve.version}")
    for at, value in curve.knots:
        print(f"  cosine {at:.4f} -> {value:.2f}")
    _print_spread("unlike", cosines.unlike, curve)
    _print_spread("like", cosines.like, curve)


def _print_spread(name: str, cosines: Sequence[float], curve: Curve) -> None:
    print(f"{name}: {len(cosines)} pairs")
    for share in (0.0, 0.05, 0.5, 0.95, 1.0):
        at = quantile(cosines, share)
        print(f"  {share:4.0%} under cosine {at:.4f}, similarity {curve.similarity(at):.3f}")


if __name__ == "__main__":
    main()
