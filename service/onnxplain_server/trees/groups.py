"""Groups of features and their parts."""

from __future__ import annotations

from itertools import combinations


def parts_of(group: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all groups of some of a group's features, the smallest first."""
    return [part for size in range(1, len(group) + 1) for part in combinations(group, size)]
