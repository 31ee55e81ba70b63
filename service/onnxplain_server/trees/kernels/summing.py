"""Sums of leaves: each row descends trees, and the values of its leaves are added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Cube, Flags, Int32Matrix, Int32Vector, Matrix
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
from onnxplain_server.trees.reading.ensemble import Ensemble

_BLOCK = 512
"""Rows per kernel call: a block of rows and one tree fit into the processor's cache."""
_GROUP = 16
"""Rows that descend side by side, so that the processor waits for their loads at once."""


def sum_leaves(
    ensemble: Ensemble,
    codes: Int32Matrix,
    pool: BlockPool,
    advance: Callable[[int], None] = lambda _rows: None,
    descent: Descent | None = None,
) -> Matrix:
    """Sum the values of the leaves that each row reaches.

    Parameters
    ----------
    codes : (n_features, n)
        Cells of the rows.
    advance : callable (int) -> None
        Called after each block with its number of rows, by the threads of the pool.
    descent : Descent or None
        Of the ensemble, where it is known.

    Returns
    -------
    (n, n_targets)
        In float64; the runtime, which adds in float32, differs by 1e-6 or so.
    """
    descent, codes = descent or build_descent(ensemble), np.ascontiguousarray(codes)
    has_many = bool((descent.nodes[:, SPAN] == MANY).any())
    total = np.zeros((codes.shape[1], ensemble.values.shape[1]))

    def descend(span: tuple[int, int]) -> None:
        _descend(*span, descent, has_many, ensemble.values, codes, total)
        advance(span[1] - span[0])

    pool.run(descend, blocks(len(total), _BLOCK))
    return total


def sum_changes(
    ensemble: Ensemble,
    roots: Int32Vector,
    codes: Int32Matrix,
    moved: Flags,
    orders: Int32Matrix,
    pool: BlockPool,
    descent: Descent,
) -> Cube:
    """Sum by how much the leaves of some trees change if features are permuted between rows.

    Parameters
    ----------
    roots : (n_some_trees,)
    codes : (n_features, n)
        Cells of the rows.
    moved : (n_features,)
        Features that are permuted together.
    orders : (n_orders, n)
        Row that each row gets their values from.
    descent : Descent
        Of the ensemble.

    Returns
    -------
    (n_orders, n, n_targets)
    """
    has_many = bool((descent.nodes[:, SPAN] == MANY).any())
    orders = np.vstack((np.arange(codes.shape[1], dtype=np.int32), orders))
    total = np.zeros((*orders.shape, ensemble.values.shape[1]))

    def descend(span: tuple[int, int]) -> None:
        values = ensemble.values
        _change(*span, roots, descent, has_many, values, codes, moved, orders, total)

    pool.run(descend, blocks(codes.shape[1], _BLOCK))
    return total[1:]


@inlined
def _in_any(code: Any, truth: Any, node: Any) -> Any:
    """Return whether a cell is in one of a node's runs."""
    is_inside = False
    for run in range(truth.start[node], truth.start[node + 1]):
        is_inside |= truth.low[run] <= code < truth.high[run]
    return is_inside


@inlined
def _take_rows(codes: Any, a: int, b: int) -> Any:
    """Copy the cells of the rows from a to b: (b - a, n_features)."""
    rows = np.empty((b - a, codes.shape[0]), np.int32)
    for j in range(codes.shape[0]):
        for i in range(b - a):
            rows[i, j] = codes[j, a + i]
    return rows


@inlined
def _step(descent: Any, has_many: bool, rows: Any, at: Any, first: int, last: int) -> bool:
    """Move the rows from first to last down by one node; return whether one was not at a leaf.

    A leaf leads to itself. Indices are unsigned, since signed ones might count from the end.
    """
    nodes, is_moving = descent.nodes, False
    for i in range(first, last):
        node = np.uint32(at[i])
        feature = nodes[node, FEATURE]
        is_moving |= feature >= 0
        code, span = rows[i, np.uint32(max(feature, 0))], nodes[node, SPAN]
        # As unsigned numbers, cells below the run are larger than all in it.
        outside: Any = np.uint32(code - nodes[node, LOW]) >= np.uint32(span)
        if has_many and span == MANY:
            outside = not _in_any(code, descent.truth, node)
        # Indexed, not branched: the branch predictor would fail half of the time.
        at[i] = nodes[node, np.uint32(INSIDE + outside)]
    return is_moving


@kernel
def _descend(
    a: int,
    b: int,
    descent: Descent,
    has_many: bool,
    values: Matrix,
    codes: Int32Matrix,
    total: Matrix,
) -> None:
    """Descend with the rows from a to b, tree by tree; `has_many` tells of nodes of `MANY` runs."""
    rows, at = _take_rows(codes, a, b), np.empty(b - a, np.int32)
    for root in descent.roots:
        for first in range(0, b - a, _GROUP):
            last = min(first + _GROUP, b - a)
            for i in range(first, last):
                at[i] = root
            while _step(descent, has_many, rows, at, first, last):
                pass
        for i in range(b - a):
            leaf = -1 - descent.nodes[at[i], FEATURE]
            for k in range(values.shape[1]):
                total[a + i, k] += values[leaf, k]


@kernel
def _change(
    a: int,
    b: int,
    roots: Int32Vector,
    descent: Descent,
    has_many: bool,
    values: Matrix,
    codes: Int32Matrix,
    moved: Flags,
    orders: Int32Matrix,
    total: Cube,
) -> None:
    """Descend with the rows from a to b in each order, of which the first is their own."""
    nodes, own, at = descent.nodes, np.empty(_GROUP, np.int32), np.empty(_GROUP, np.int32)
    for root in roots:
        for first in range(a, b, _GROUP):
            n = min(_GROUP, b - first)
            for repeat in range(len(orders)):
                at[:] = root
                is_moving = True
                while is_moving:
                    is_moving = False
                    for i in range(n):
                        node = np.uint32(at[i])
                        feature = nodes[node, FEATURE]
                        is_moving |= feature >= 0
                        column = np.uint32(max(feature, 0))
                        row = np.uint32(orders[repeat, first + i] if moved[column] else first + i)
                        code, span = codes[column, row], nodes[node, SPAN]
                        outside: Any = np.uint32(code - nodes[node, LOW]) >= np.uint32(span)
                        if has_many and span == MANY:
                            outside = not _in_any(code, descent.truth, node)
                        at[i] = nodes[node, np.uint32(INSIDE + outside)]
                if repeat == 0:
                    own[:] = at
                for i in range(n):
                    new = -1 - descent.nodes[at[i], FEATURE]
                    old = -1 - descent.nodes[own[i], FEATURE]
                    for k in range(values.shape[1]):
                        total[repeat, first + i, k] += values[new, k] - values[old, k]
