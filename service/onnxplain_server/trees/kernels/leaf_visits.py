"""Leaf visits: the rows that reach each leaf, by number or by share."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Counts, Int32Matrix, Vector
from onnxplain_server.trees.kernels.compile import kernel
from onnxplain_server.trees.kernels.descent import (
    FEATURE,
    INSIDE,
    LOW,
    MANY,
    OUTSIDE,
    SPAN,
    Descent,
    build_descent,
)
from onnxplain_server.trees.reading.ensemble import Ensemble


def count_leaf_visits(ensemble: Ensemble, columns: tuple[Array, ...]) -> Counts:
    """Count the rows that reach each leaf: (n_leaves,).

    Parameters
    ----------
    columns : tuple of (n_rows,)
        Features, in the model's types.

    Raises
    ------
    ExplainError
        PREDICTION_FAILED for a category that the model refuses.
    """
    codes = np.stack([ensemble.codes(j, column) for j, column in enumerate(columns)], axis=1)
    counts = np.zeros(len(ensemble.leaf))
    _visit(build_descent(ensemble), codes, np.ones(len(codes)), counts)
    return counts.astype(np.int64)


def leaf_shares(descent: Descent, codes: Int32Matrix, shares: Vector) -> Vector:
    """Sum the shares of the rows that reach each leaf: (n_leaves,).

    Parameters
    ----------
    codes : (n_features, n_rows)
        Cells of the rows.
    shares : (n_rows,)
    """
    sums = np.zeros(np.count_nonzero(descent.nodes[:, FEATURE] < 0))
    _visit(descent, np.ascontiguousarray(codes.T), shares, sums)
    return sums


@kernel
def _visit(descent: Descent, codes: Int32Matrix, shares: Vector, sums: Vector) -> None:
    """Send each row, with its share, down each tree."""
    nodes, truth = descent.nodes, descent.truth
    for row in range(len(codes)):
        for root in descent.roots:
            node = root
            while nodes[node, FEATURE] >= 0:
                code, low = codes[row, nodes[node, FEATURE]], nodes[node, LOW]
                inside = low <= code < low + nodes[node, SPAN]
                if nodes[node, SPAN] == MANY:
                    for run in range(truth.start[node], truth.start[node + 1]):
                        inside |= truth.low[run] <= code < truth.high[run]
                node = nodes[node, INSIDE if inside else OUTSIDE]
            sums[-1 - nodes[node, FEATURE]] += shares[row]
