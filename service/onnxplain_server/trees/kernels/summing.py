"""Sums of leaves: each row descends each tree, and the values of its leaves are added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Int32Matrix, Matrix
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.kernels.descent import (
    FEATURE,
    INSIDE,
    LOW,
    MANY,
    SPAN,
    Descent,
    build_descent,
)
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array

_BLOCK = 512
"""Rows per kernel call: a block of rows and one tree fit into the processor's cache."""


def sum_leaves(ensemble: Ensemble, codes: Int32Array, pool: BlockPool) -> Matrix:
    """Sum the values of the leaves that each row reaches.

    Parameters
    ----------
    codes : (n_features, n)
        Cells of the rows.

    Returns
    -------
    (n, n_targets)
        In float64; the runtime, which adds in float32, differs by 1e-6 or so.
    """
    descent, rows = build_descent(ensemble), np.ascontiguousarray(codes.T)
    total = np.zeros((len(rows), ensemble.values.shape[1]))
    spans = blocks(len(rows), _BLOCK)
    pool.run(lambda span: _descend(*span, descent, ensemble.values, rows, total), spans)
    return total


@inlined
def _in_any(code: int, truth: Any, node: int) -> bool:
    """Return whether a cell is in one of a node's runs."""
    is_inside = False
    for run in range(truth.start[node], truth.start[node + 1]):
        is_inside |= truth.low[run] <= code < truth.high[run]
    return is_inside


@kernel
def _descend(
    a: int, b: int, descent: Descent, values: Matrix, rows: Int32Matrix, total: Matrix
) -> None:
    """Descend with the rows from a to b, tree by tree."""
    nodes = descent.nodes
    for root in descent.roots:
        for i in range(a, b):
            node = root
            feature = nodes[node, FEATURE]
            while feature >= 0:
                code, low = rows[i, feature], nodes[node, LOW]
                inside = low <= code < low + nodes[node, SPAN]
                if nodes[node, SPAN] == MANY:
                    inside = _in_any(code, descent.truth, node)
                # Indexed, not branched: the branch predictor would fail half of the time.
                node = nodes[node, INSIDE + (0 if inside else 1)]
                feature = nodes[node, FEATURE]
            for k in range(values.shape[1]):
                total[i, k] += values[-1 - feature, k]
