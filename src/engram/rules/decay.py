"""Decay: what a memory is worth after a time without use, computed from stored times and never stored."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engram.model import DAY_MS

USED_LATELY_MS = DAY_MS
PROTECTED_SEMANTIC = 0.8  # importance
PROTECTED_PROCEDURAL = 0.9  # confidence
PROTECTION_RULES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a library, or a namespace of it, forgets."""

    half_life_days: float = 7.0  # over 0
    archive_threshold: float = 0.05  # 0..0.5
    importance_decay_rate: float = 0.01  # a day without use, 0..1
    importance_floor: float = 0.05  # 0..1
    decay_interval_ms: int = 3_600_000  # 0: never; 60,000 and more
    batch_size: int = 200  # 1..1000
    consolidation_enabled: bool = True
    min_cluster_size: int = 3  # 2..20
    similarity_threshold: float = 0.6  # 0..1
    min_episodic_age_ms: int = DAY_MS
    applies_to: str = "own"  # own: what decays; all: every memory but prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What decay asks of a memory."""

    memory_type: str
    importance: float
    confidence: float
    created_at: int
    used_at: int | None
    uses: int
    is_kept: bool = False  # tagged pinned or protected


def effective_importance(of: Standing, policy: Policy, now: int) -> float:
    """The importance less what idle days took; never under the floor, never over the importance itself."""
    idle = max(0, now - _last(of)) / DAY_MS
    return min(of.importance, max(policy.importance_floor, of.importance - policy.importance_decay_rate * idle))


def retention(of: Standing, policy: Policy, now: int) -> float:
    """What is left of a memory, 0..1: effective importance, halved each half-life, raised by use."""
    age = max(0, now - _last(of)) / DAY_MS
    use = min(1.0, 0.3 + 0.7 * math.log10(of.uses + 1) / 3)
    return effective_importance(of, policy, now) * 2.0 ** (-age / policy.half_life_days) * use


def is_protected(of: Standing, now: int) -> bool:
    """Whether one of the four rules keeps it."""
    return (
        of.is_kept
        or (of.memory_type == "semantic" and of.importance >= PROTECTED_SEMANTIC)
        or (of.memory_type == "procedural" and of.confidence >= PROTECTED_PROCEDURAL)
        or (of.used_at is not None and now - of.used_at <= USED_LATELY_MS)
    )


def _last(of: Standing) -> int:
    return of.created_at if of.used_at is None else of.used_at
