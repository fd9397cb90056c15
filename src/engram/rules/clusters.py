"""Clusters in which every pair is near, made in one fixed order, so that the same input gives the same clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np


def complete(vectors: Sequence[np.ndarray], *, is_near: Callable[[float], bool], size_max: int) -> list[list[int]]:
    """Complete-link clusters, greedily in the order given.

    Args:
        vectors: Of length 1, in an order that does not change.
        is_near: Whether a cosine is near enough.
        size_max: Most members of a cluster; others begin the next one.

    Returns:
        Positions of the members of each cluster, clusters of one included.
    """
    import numpy as np  # noqa: PLC0415 - it costs the start 60 ms

    if not vectors:
        return []
    matrix = np.stack(vectors)
    groups: list[list[int]] = []
    for i in range(len(vectors)):
        cosines = matrix[: i + 1] @ matrix[i]
        for group in groups:
            if len(group) < size_max and all(is_near(float(cosines[j])) for j in group):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups
