"""What the trees add up for rows: each row goes down each tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Matrix
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
"""Rows that one call works on: with one tree at a time, both stay in the cache."""


def sum_leaves(ensemble: Ensemble, codes: Int32Array, pool: BlockPool) -> Matrix:
    """Add up the values of the leaves that rows reach.

    Parameters
    ----------
    codes : (n_features, n)
        Cells of the rows.

    Returns
    -------
    (n, n_targets)
        In float64; the runtime, which adds in float32, differs by 1e-6 or so.
    """
    way, rows = build_descent(ensemble), np.ascontiguousarray(codes.T)
    total = np.zeros((len(rows), ensemble.values.shape[1]))
    spans = blocks(len(rows), _BLOCK)
    pool.run(lambda span: _descend(*span, way, ensemble.values, rows, total), spans)
    return total


@inlined
def _in_any(code: int, truth: Any, node: int) -> bool:
    """Whether a cell is in one of a node's runs."""
    found = False
    for run in range(truth.start[node], truth.start[node + 1]):
        found |= truth.low[run] <= code < truth.high[run]
    return found


@kernel
def _descend(a: int, b: int, way: Descent, values: Matrix, rows: Int32Array, total: Matrix) -> None:
    """Send the rows from a to b down, tree by tree."""
    nodes = way.nodes
    for root in way.roots:
        for i in range(a, b):
            node = root
            feature = nodes[node, FEATURE]
            while feature >= 0:
                code, low = rows[i, feature], nodes[node, LOW]
                inside = low <= code < low + nodes[node, SPAN]
                if nodes[node, SPAN] == MANY:
                    inside = _in_any(code, way.truth, node)
                # Indexed, not branched: which way is a coin toss for the processor.
                node = nodes[node, INSIDE + (0 if inside else 1)]
                feature = nodes[node, FEATURE]
            for k in range(values.shape[1]):
                total[i, k] += values[-1 - feature, k]
