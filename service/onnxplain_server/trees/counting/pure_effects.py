"""Pure effects at points: leaf sums with the signs of inclusion and exclusion.

The pure effect of a pair is constant in each cell of both features. So a table over their cells,
in which a leaf changes a few entries, gives it at any number of points after cumulative sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Cube, Int32Matrix, Int32Vector, Matrix
from onnxplain_server.trees.counting.leaf_sums import Points, evaluate_leaf_sums, occupied_cells
from onnxplain_server.trees.counting.strategies import CountedLeaves
from onnxplain_server.trees.kernels.compile import inlined, kernel
from onnxplain_server.trees.reading.ensemble import CellSets, Ensemble, Int32Array

_MAX_TABLE = 1 << 20
"""Entries of a pair's table; larger ones are left to the sweep line of `leaf_sums`."""


def evaluate_pure(
    ensemble: Ensemble, counted: CountedLeaves, codes: Sequence[Int32Array]
) -> Matrix:
    """Evaluate a pure effect at cells, one (n_points,) array per feature: (n_points, n_targets)."""
    pure = np.zeros((len(codes[0]), ensemble.values.shape[1]))
    if not len(counted.leaves):
        return pure
    if len(codes) == 2:
        places = [_places(ensemble, j, own) for j, own in zip(counted.features, codes, strict=True)]
        if (places[0][-1] + 1) * (places[1][-1] + 1) * pure.shape[1] <= _MAX_TABLE:
            return _by_table(ensemble, counted, codes, places)
    group = counted.features
    for part in range(1 << len(group)):
        chosen = [q for q in range(len(group)) if part >> q & 1]
        sign = (-1) ** (len(group) - len(chosen))
        points = Points(tuple(group[q] for q in chosen), tuple(codes[q] for q in chosen))
        conditions = np.ascontiguousarray(counted.conditions[:, chosen])
        coefficients = sign * counted.coefficients(part)
        pure += evaluate_leaf_sums(ensemble, counted.boxes, conditions, coefficients, points)
    return pure


def _places(ensemble: Ensemble, feature: int, codes: Int32Array) -> Int32Vector:
    """Return the row or column of a table for each border, without cells that have no point."""
    first, last = int(ensemble.first[feature]), int(ensemble.first[feature + 1])
    if last - first < len(codes):
        return np.arange(last - first, dtype=np.int32)
    return occupied_cells(ensemble, feature, codes)


def _by_table(
    ensemble: Ensemble,
    counted: CountedLeaves,
    codes: Sequence[Int32Array],
    places: Sequence[Int32Vector],
) -> Matrix:
    """Evaluate the pure effect of a pair by a table over its cells."""
    values = counted.boxes.values[counted.leaves]
    first = [int(ensemble.first[j]) for j in counted.features]
    borders = (places[0], places[1], first[0], first[1])
    table = np.zeros((places[0][-1] + 1, places[1][-1] + 1, values.shape[1]))
    _fill_table(counted.conditions, counted.boxes.met, borders, values, counted.shares, table)
    pure = np.empty((len(codes[0]), values.shape[1]))
    _look_up(codes[0], codes[1], borders, table, pure)
    return pure


_Borders = tuple[Int32Vector, Int32Vector, int, int]
"""Row and column of the table for each border of the two features, and their first borders."""


@inlined
def _add(table: Cube, row: int, column: int, values: Matrix, leaf: int, factor: float) -> None:
    for k in range(values.shape[1]):
        table[row, column, k] += factor * values[leaf, k]


@inlined
def _sum_up(table: Cube) -> None:
    """Sum up along both axes."""
    for row in range(table.shape[0]):
        for column in range(1, table.shape[1]):
            for k in range(table.shape[2]):
                table[row, column, k] += table[row, column - 1, k]
        for column in range(table.shape[1] if row else 0):
            for k in range(table.shape[2]):
                table[row, column, k] += table[row - 1, column, k]


@kernel
def _fill_table(
    conditions: Int32Matrix, cells: CellSets, borders: _Borders, values: Matrix, shares: Matrix,
    table: Cube,
) -> None:  # fmt: skip
    """Add each leaf at the corners of its boxes, then sum up along both axes."""
    rows, columns, first_row, first_column = borders
    for leaf in range(len(conditions)):
        across, along = conditions[leaf, 0], conditions[leaf, 1]
        _add(table, 0, 0, values, leaf, shares[leaf, 0])
        for run in range(cells.start[across], cells.start[across + 1]):
            top, bottom = rows[cells.low[run] - first_row], rows[cells.high[run] - first_row]
            _add(table, top, 0, values, leaf, -shares[leaf, 1])
            _add(table, bottom, 0, values, leaf, shares[leaf, 1])
            for other in range(cells.start[along], cells.start[along + 1]):
                left = columns[cells.low[other] - first_column]
                right = columns[cells.high[other] - first_column]
                _add(table, top, left, values, leaf, shares[leaf, 3])
                _add(table, top, right, values, leaf, -shares[leaf, 3])
                _add(table, bottom, left, values, leaf, -shares[leaf, 3])
                _add(table, bottom, right, values, leaf, shares[leaf, 3])
        for run in range(cells.start[along], cells.start[along + 1]):
            left = columns[cells.low[run] - first_column]
            right = columns[cells.high[run] - first_column]
            _add(table, 0, left, values, leaf, -shares[leaf, 2])
            _add(table, 0, right, values, leaf, shares[leaf, 2])
    _sum_up(table)


@kernel
def _look_up(
    across: Int32Vector, along: Int32Vector, borders: _Borders, table: Cube, pure: Matrix
) -> None:
    """Look each point up in the table."""
    rows, columns, first_row, first_column = borders
    for i in range(len(across)):
        row, column = rows[across[i] - first_row], columns[along[i] - first_column]
        for k in range(pure.shape[1]):
            pure[i, k] = table[row, column, k]
