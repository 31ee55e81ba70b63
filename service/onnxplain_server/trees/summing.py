"""What the trees add up for rows: each row goes down each tree."""

from __future__ import annotations

import numpy as np

from onnxplain_server.arrays import Matrix
from onnxplain_server.trees.compile import inlined, kernel
from onnxplain_server.trees.crew import Crew, blocks
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
    rows = np.ascontiguousarray(codes.T)
    total = np.zeros((len(rows), ensemble.values.shape[1]))
    number = np.full(len(ensemble.feature), -1, dtype=np.int32)
    number[ensemble.leaf] = np.arange(len(ensemble.leaf))

    def descend(span: tuple[int, int]) -> None:
        _descend(
            *span, ensemble.roots, ensemble.feature, ensemble.true, ensemble.false,
            ensemble.run_start, ensemble.run_low, ensemble.run_high, number, ensemble.values,
            rows, total,
        )  # fmt: skip

    crew.run(descend, blocks(len(rows), _BLOCK))
    return total


@inlined
def _is_true(code, low, high, start, stop):  # type: ignore[no-untyped-def]
    """Whether a cell is in one of the runs."""
    for run in range(start, stop):
        if low[run] <= code < high[run]:
            return True
    return False


@kernel
def _descend(
    a: int, b: int, roots: Numbers, feature: Numbers, true: Numbers, false: Numbers,
    run_start: Numbers, low: Numbers, high: Numbers, number: Numbers, values: Matrix,
    rows: Numbers, total: Matrix,
) -> None:  # fmt: skip
    """Send the rows from a to b down, tree by tree."""
    for root in roots:
        for i in range(a, b):
            node = root
            while feature[node] >= 0:
                code = rows[i, feature[node]]
                if _is_true(code, low, high, run_start[node], run_start[node + 1]):
                    node = true[node]
                else:
                    node = false[node]
            for k in range(values.shape[1]):
                total[i, k] += values[number[node], k]
