"""What the trees add up for rows: each row goes down each tree."""

from __future__ import annotations

import numpy as np

from onnxplain_server.arrays import Matrix
from onnxplain_server.trees.compile import inlined, kernel
from onnxplain_server.trees.crew import Crew, blocks
from onnxplain_server.trees.descent import FEATURE, INSIDE, LOW, MANY, SPAN, descent
from onnxplain_server.trees.ensemble import Ensemble, Numbers

_BLOCK = 512
"""Rows that one call works on: with one tree at a time, both stay in the cache."""


def sums(ensemble: Ensemble, codes: Numbers, crew: Crew) -> Matrix:
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
    way = descent(ensemble)
    rows = np.ascontiguousarray(codes.T)
    total = np.zeros((len(rows), ensemble.values.shape[1]))

    def descend(span: tuple[int, int]) -> None:
        _descend(
            *span, ensemble.roots, way.nodes, way.run_start, way.run_low, way.run_high,
            ensemble.values, rows, total,
        )  # fmt: skip

    crew.run(descend, blocks(len(rows), _BLOCK))
    return total


@inlined
def _in_any(code, node, run_start, low, high):  # type: ignore[no-untyped-def]
    """Whether a cell is in one of a node's runs."""
    for run in range(run_start[node], run_start[node + 1]):
        if low[run] <= code < high[run]:
            return True
    return False


@kernel
def _descend(
    a: int, b: int, roots: Numbers, nodes: Numbers, run_start: Numbers, low: Numbers,
    high: Numbers, values: Matrix, rows: Numbers, total: Matrix,
) -> None:  # fmt: skip
    """Send the rows from a to b down, tree by tree."""
    for root in roots:
        for i in range(a, b):
            node = root
            feature = nodes[node, FEATURE]
            while feature >= 0:
                code = rows[i, feature]
                if nodes[node, SPAN] == MANY:
                    inside = _in_any(code, node, run_start, low, high)
                else:
                    inside = nodes[node, LOW] <= code < nodes[node, LOW] + nodes[node, SPAN]
                # Indexed, not branched: which way is a coin toss for the processor.
                node = nodes[node, INSIDE + (0 if inside else 1)]
                feature = nodes[node, FEATURE]
            for k in range(values.shape[1]):
                total[i, k] += values[-1 - feature, k]
