"""``python -m bench contradictions FILE``: precision and recall of the rules on labelled pairs, by kind.

The file is a list of {older, newer, contradiction, kind}. Each pair is compared with the packaged model's similarity,
and once more by words alone.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from engram.embed import PackagedEmbedder
from engram.rules import contradict


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--wrong", action="store_true", help="show each pair that was judged wrongly")
    given = parser.parse_args()
    pairs: list[dict[str, Any]] = json.loads(given.file.read_text(encoding="utf-8"))
    embedder = PackagedEmbedder()
    for name in ("with the model", "words alone"):
        table: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        hit = missed = noise = newest = 0
        for pair in pairs:
            similarity = similar(embedder, pair["older"], pair["newer"]) if name == "with the model" else None
            verdict = contradict.compare(pair["older"], pair["newer"], similarity=similarity)
            is_right = verdict.is_flagged == pair["contradiction"]
            table[pair["kind"]][0 if is_right else 1] += 1
            hit += verdict.is_flagged and pair["contradiction"]
            missed += pair["contradiction"] and not verdict.is_flagged
            noise += verdict.is_flagged and not pair["contradiction"]
            newest += verdict.is_flagged and pair["contradiction"] and verdict.strategy == contradict.KEEP_NEWEST
            if given.wrong and not is_right:
                print(f"  {pair['kind']}: {pair['older']!r} / {pair['newer']!r} -> {verdict}")
        print(
            f"{name}: {len(pairs)} pairs, precision {hit / max(1, hit + noise):.3f}, recall {hit / max(1, hit + missed):.3f}, keep_newest {newest}/{hit}"
        )
        print("  " + ", ".join(f"{kind} {right}/{right + wrong}" for kind, (right, wrong) in sorted(table.items())))


def similar(embedder: PackagedEmbedder, one: str, other: str) -> float | None:
    """0..1 by the model's curve; None where it can't read one of them."""
    if not (embedder.can_read(one) and embedder.can_read(other)):
        return None
    return embedder.curve.similarity(float(embedder.embed_passage(one) @ embedder.embed_passage(other)))


if __name__ == "__main__":
    main()
