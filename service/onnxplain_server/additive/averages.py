"""Averages of outputs over rows whose sums change by the same terms, and over points of one row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.additive.model import AdditiveModel, TermLink
from onnxplain_server.additive.moved import Cross, Moved
from onnxplain_server.additive.smooth_sums import Numbers, logistic_sums
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import Background

_BLOCK_NUMBERS = 1 << 20
"""Linked sums that are computed at once, which bounds memory."""


@dataclass(frozen=True, slots=True, eq=False)
class MovedAverages:
    """Averages of the outputs of rows i at points p.

    Attributes
    ----------
    over_rows : (n_sets, n_points, n_outputs)
        For each point, with the rows' shares.
    over_points : (n_sets, n_rows, n_outputs), or None
        For each row, with the points' shares.
    """

    over_rows: Cube
    over_points: Cube | None


def row_shares(background: Background, weights: Matrix | None) -> Matrix:
    """Return shares of the rows, also under other weights (n_sets, n): (n_sets, n)."""
    whole = background.weights[np.newaxis] if weights is None else weights
    shares: Matrix = whole / whole.sum(axis=1, keepdims=True)
    return shares


def average(
    model: AdditiveModel, moved: Moved, row_shares: Matrix, point_shares: Matrix | None = None
) -> MovedAverages:
    """Average outputs.

    Parameters
    ----------
    model : AdditiveModel
    moved : Moved
    row_shares : (n_sets, n_rows)
    point_shares : (n_sets, n_points), or None
        Without them, there are no averages over points.

    Notes
    -----
    Time grows with rows and points where the outputs are sums, or without crosses exponentials or
    logistic functions of them, and with rows times distinct points otherwise.
    """
    rests, points, crosses = moved
    match model.link:
        case TermLink.IDENTITY:
            over_rows, over_points = _of_sums(rests, points, row_shares, point_shares)
            for cross in crosses:
                _add_means(cross, over_rows, over_points, row_shares, point_shares)
        case TermLink.EXPONENTIAL if not crosses:
            over_rows, over_points = _of_products(rests, points, row_shares, point_shares)
        case TermLink.LOGISTIC if not crosses and np.isfinite(points).all():
            over_rows, over_points = _of_logistics(rests, points, row_shares, point_shares)
        case _:
            over_rows, over_points = _of_distinct(model, moved, row_shares, point_shares)
    combined = None if over_points is None else model.combine(over_points)
    return MovedAverages(model.combine(over_rows), combined)


def _of_sums(
    rests: Matrix, points: Matrix, row_shares: Matrix, point_shares: Matrix | None
) -> tuple[Cube, Cube | None]:
    over_rows = (row_shares @ rests)[:, np.newaxis] + points
    if point_shares is None:
        return over_rows, None
    return over_rows, rests + (point_shares @ points)[:, np.newaxis]


def _of_products(
    rests: Matrix, points: Matrix, row_shares: Matrix, point_shares: Matrix | None
) -> tuple[Cube, Cube | None]:
    """Average exponentials: that of a sum is a product, whose factors are scaled to be finite."""
    largest_row, largest_point = rests.max(axis=0), points.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told as such
        means = row_shares @ np.exp(rests - largest_row)
        over_rows = means[:, np.newaxis] * np.exp(points + largest_row)
        if point_shares is None:
            return over_rows, None
        means = point_shares @ np.exp(points - largest_point)
        return over_rows, means[:, np.newaxis] * np.exp(rests + largest_point)


def _of_logistics(
    rests: Matrix, points: Matrix, row_shares: Matrix, point_shares: Matrix | None
) -> tuple[Cube, Cube | None]:
    pairs = [
        logistic_sums(Numbers(rests[:, k]), Numbers(points[:, k]), row_shares, point_shares)
        for k in range(rests.shape[1])
    ]
    over_rows = np.stack([pair[0] for pair in pairs], axis=-1)
    over_points = [pair[1] for pair in pairs if pair[1] is not None]
    return over_rows, np.stack(over_points, axis=-1) if over_points else None


def _add_means(
    cross: Cross,
    over_rows: Cube,
    over_points: Cube | None,
    row_shares: Matrix,
    point_shares: Matrix | None,
) -> None:
    """Add the averages of a pair's terms."""
    row_kinds, point_kinds, table = cross
    means = np.tensordot(_by_kind(row_shares, row_kinds, len(table)), table, (1, 0))
    over_rows += means[:, point_kinds]
    if over_points is not None and point_shares is not None:
        own = _by_kind(point_shares, point_kinds, table.shape[1])
        over_points += np.tensordot(own, table, (1, 1))[:, row_kinds]


def _by_kind(shares: Matrix, kinds: Indices, count: int) -> Matrix:
    return np.stack([np.bincount(kinds, own, count) for own in shares])


def _of_distinct(
    model: AdditiveModel, moved: Moved, row_shares: Matrix, point_shares: Matrix | None
) -> tuple[Cube, Cube | None]:
    """Average any link function at the distinct points: values of one bin are one point."""
    kinds = [cross.point_kinds.astype(np.float64)[:, np.newaxis] for cross in moved.crosses]
    points = np.concatenate([moved.points, *kinds], axis=1)
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    shares = None if point_shares is None else _by_kind(point_shares, inverse, len(first))
    over_rows, over_points = _of_pairs(model, moved.at(first), row_shares, shares)
    return over_rows[:, inverse], over_points


def _of_pairs(
    model: AdditiveModel, moved: Moved, row_shares: Matrix, point_shares: Matrix | None
) -> tuple[Cube, Cube | None]:
    """Average any link function over all pairs of rows and points, in blocks of points."""
    step = max(1, _BLOCK_NUMBERS // max(moved.rests.size, 1))
    over_rows: list[Array] = []
    over_points = np.zeros((len(row_shares), *moved.rests.shape))
    for start in range(0, len(moved.points), step):
        block = slice(start, start + step)
        linked = model.linked(moved.at(block).pairwise())  # (n_rows, block, n_sums)
        over_rows.append(np.tensordot(row_shares, linked, (1, 0)))
        if point_shares is not None:
            over_points += np.tensordot(point_shares[:, block], linked, (1, 1))
    return np.concatenate(over_rows, axis=1), None if point_shares is None else over_points
