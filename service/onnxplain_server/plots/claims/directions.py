"""Directions of features: whether the average prediction rises or falls along them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.partial_dependence import Result
from onnxplain_server.plots.claims.support import supported

_AGAINST = 0.1
"""Largest way against the direction of a curve, as a share of its range."""


def directions(result: Result) -> dict[str, Vector]:
    """Return the direction of each number with a curve: (n_outputs,); 1, -1, or 0 for neither."""
    found = {}
    for curve in result.curves:
        if len(curve.features) > 1 or curve.group or curve.grid[0].dtype.kind not in "fiu":
            continue
        found[curve.features[0]] = direction_of(curve.grid[0], curve.values, curve.row_weights)
    return found


def direction_of(grid: Vector, values: Matrix, row_weights: Vector | None) -> Vector:
    """Return the direction of each column of a curve over numbers, (n_points, n_outputs)."""
    told = np.isfinite(grid) & supported(row_weights)
    order = np.argsort(grid[told], kind="stable")
    return _along(values[told][order])


def _along(values: Matrix) -> Vector:
    """Return the directions of curves, (n_points, n_outputs), in the order of the feature."""
    if len(values) < 2 or not np.isfinite(values).all():
        return np.zeros(values.shape[1])
    span = np.ptp(values, axis=0)
    moves = span > 1e-6 * np.abs(values).max(axis=0)
    falls = (np.maximum.accumulate(values) - values).max(axis=0)
    rises = (values - np.minimum.accumulate(values)).max(axis=0)
    found: Vector = moves * (1.0 * (falls <= _AGAINST * span) - 1.0 * (rises <= _AGAINST * span))
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
