"""Directions of features: whether the average prediction rises or falls along them.

A curve rises where it goes against that by a tenth of its range at most. Where it never does, it
rises throughout, and else on the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.partial_dependence import Result
from onnxplain_server.plots.claims.support import extremes, supported

_AGAINST = 0.1
"""Largest way against the direction of a curve, as a share of its range."""
_ROUNDING = 1e-6
"""Way that is rounding, as a share of the range."""


def directions(result: Result) -> dict[str, Vector]:
    """Return the direction of each number with a curve: (n_outputs,); 1, -1, or 0 for neither."""
    found = {}
    for curve in result.curves:
        if len(curve.features) > 1 or curve.group or curve.grid[0].dtype.kind not in "fiu":
            continue
        found[curve.features[0]] = direction_of(curve.grid[0], curve.values, curve.row_weights)
    return found


def direction_of(
    grid: Vector, values: Matrix, row_weights: Vector | None, most: float = _AGAINST
) -> Vector:
    """Return the direction of each column of a curve over numbers, (n_points, n_outputs).

    Parameters
    ----------
    most : float
        Largest way against it, as a share of the range.
    """
    told = np.isfinite(grid) & supported(row_weights)
    order = np.argsort(grid[told], kind="stable")
    return _along(values[told][order], most)


def ends_of_trend(
    grid: Array, values: Vector, row_weights: Vector | None
) -> tuple[str, int, int] | None:
    """Return how a curve goes, and the places that it goes between; None without a direction.

    Parameters
    ----------
    grid, values : (n_points,)

    Returns
    -------
    (str, int, int) or None
        Words that "from" follows, like "rises" and "falls on the whole,"; and the places of the
        extremes where rows are, in the order of the feature.
    """
    if grid.dtype.kind not in "fiu" or not np.isfinite(values).all():
        return None
    low, high = extremes(values, row_weights)
    column = values[:, np.newaxis]
    direction = direction_of(grid, column, row_weights)[0]
    if not direction or not np.isfinite(grid[[low, high]]).all():
        return None
    word = "rises" if direction > 0 else "falls"
    first, last = (low, high) if direction > 0 else (high, low)
    is_throughout = direction_of(grid, column, row_weights, _ROUNDING)[0]
    return word if is_throughout else f"{word} on the whole,", first, last


def _along(values: Matrix, most: float) -> Vector:
    """Return the directions of curves, (n_points, n_outputs), in the order of the feature."""
    if len(values) < 2 or not np.isfinite(values).all():
        return np.zeros(values.shape[1])
    span = np.ptp(values, axis=0)
    moves = span > 1e-6 * np.abs(values).max(axis=0)
    falls = (np.maximum.accumulate(values) - values).max(axis=0)
    rises = (values - np.minimum.accumulate(values)).max(axis=0)
    found: Vector = moves * (1.0 * (falls <= most * span) - 1.0 * (rises <= most * span))
    return found


def of_outputs(
    result: Result, features: Sequence[tuple[str, ...]], outputs: Sequence[str]
) -> Matrix | None:
    """Return directions for bars of features: (n_features, n_outputs); None if none is known.

    Parameters
    ----------
    outputs : sequence of str
        Those of the bars; where the curves have one output, it is meant by any.
    """
    known, names = directions(result), list(result.output_names)
    columns = [names.index(o) if o in names else 0 if len(names) == 1 else None for o in outputs]
    none = np.zeros(len(names))
    rows = [known.get(one[0], none) if len(one) == 1 else none for one in features]
    matrix = np.array([[0.0 if k is None else row[k] for k in columns] for row in rows])
    return matrix if matrix.any() else None
