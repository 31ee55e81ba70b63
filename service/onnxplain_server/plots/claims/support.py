"""Support of a curve or surface: the points of its grid where there are rows enough to tell of."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Vector

_LEAST_SHARE = 0.01
"""Share of the rows that is always enough."""
_OF_EVEN = 0.1
"""Share of the rows that a point would have if all had as many, which is enough too."""

MOST_OUTSIDE = 0.5
"""Share of the rows behind a point outside the table's support, above which it is pale."""
TOLD_OUTSIDE = 0.2
"""Share of the rows behind a curve outside the table's support, above which it is told."""


def marks_of_support(
    row_weights: Vector | None, outside_shares: Vector | None, count: int
) -> list[dict[str, object]]:
    """Mark points with few rows, and those with most rows outside the support: (n_points,).

    Others have the number of the run of neighbours that they are in, for the lines that join them.
    """
    none = np.zeros(count, bool)
    are_few = none if row_weights is None else ~supported(row_weights)
    are_outside = none if outside_shares is None else outside_shares > MOST_OUTSIDE
    is_pale = are_few | are_outside
    runs = np.cumsum(np.diff(is_pale, prepend=True))
    return [
        {
            **({"few": True} if few else {}),
            **({"outside": True} if outside else {}),
            **({"run": run} if is_pale.any() and not (few or outside) else {}),
        }
        for few, outside, run in zip(
            are_few.tolist(), are_outside.tolist(), runs.tolist(), strict=True
        )
    ]


def supported(row_weights: Vector | None) -> Array:
    """Tell which points have rows enough: (n_points,) of bool, all where too few have.

    Parameters
    ----------
    row_weights : (n_points,) or None
        Weights of the rows nearest to each point; None, or empty, where they are not known.
    """
    if row_weights is None:
        return np.ones(1, bool)
    largest = float(row_weights.max(initial=0.0))
    if not 0 < largest < np.inf:
        return np.ones(len(row_weights), bool)
    weights = row_weights / largest  # whose sum is finite
    is_enough: Array = weights >= least_share(len(weights)) * weights.sum()
    return is_enough if is_enough.sum() > 1 else np.ones(len(row_weights), bool)


def least_share(point_count: int) -> float:
    """Return the share of the rows that is enough for a point."""
    return min(_LEAST_SHARE, _OF_EVEN / point_count)


def extremes(values: Vector, row_weights: Vector | None) -> tuple[int, int]:
    """Return the places of the lowest and highest finite value of points with rows enough."""
    told = np.isfinite(values) & supported(row_weights)
    told = told if told.any() else np.isfinite(values)
    low, high = np.where(told, values, np.inf), np.where(told, values, -np.inf)
    return int(np.argmin(low)), int(np.argmax(high))


def support_note(values: Vector, row_weights: Vector | None) -> str:
    """Say over which points the extremes are told, where others are more extreme; or else nothing.

    Ends a sentence like "lowest 1 at a; highest 2 at b, where at least 5 rows are".
    """
    if row_weights is None or extremes(values, row_weights) == extremes(values, None):
        return ""
    share, total = least_share(len(row_weights)), float(row_weights.sum())
    if not (row_weights == np.round(row_weights)).all():
        return f"where at least {100 * share:.2g} % of the rows are"
    count = max(1, int(np.ceil(share * total)))
    return f"where at least {count:,} {'row is' if count == 1 else 'rows are'}"
