"""Steps of a curve that are too small to be seen, left out of its drawing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.plots.elements.selection import Piece, View

_SMALLEST = 0.004
"""Smallest change that is drawn, as a share of the height of a plot: about a pixel."""


def without_tiny_steps(view: View, span: float) -> View:
    """Leave out steps of a stepped curve that differ from the last one drawn by under a pixel.

    Parameters
    ----------
    span : float
        Range of the scale that the curve is drawn on; output unit.
    """
    grids = [piece.grid[0] for piece in view.pieces]
    is_number = grids[0].dtype.kind in "fiu"
    if not (view.is_stepped and is_number and all(len(grid) == len(grids[0]) for grid in grids)):
        return view
    kept = _kept(grids[0], np.array([piece.values for piece in view.pieces]).T, _SMALLEST * span)
    return replace(view, pieces=tuple(_merged(piece, kept) for piece in view.pieces))


def _kept(grid: Array, values: Matrix, tolerance: float) -> Indices:
    """Return the points to draw: the ends, those that differ by more, and what is not finite."""
    kept, last = [0], values[0]
    for place in range(1, len(grid)):
        is_far = not np.abs(values[place] - last).max() <= tolerance
        is_end = place == len(grid) - 1 or not np.isfinite(grid[place : place + 2]).all()
        if is_far or is_end:
            kept.append(place)
            last = values[place]
    return np.array(kept, np.intp)


def _merged(piece: Piece, kept: Indices) -> Piece:
    """Keep some points, each with the rows of those left out behind it."""
    weights = piece.row_weights
    merged = None if weights is None else np.add.reduceat(weights, kept)
    return replace(
        piece,
        grid=(piece.grid[0][kept],),
        values=piece.values[kept],
        row_weights=merged,
        bands=tuple(ends[kept] for ends in piece.bands),
        predicted_means=_means(piece.predicted_means, weights, kept),
        observed_means=_means(piece.observed_means, weights, kept),
        outside_shares=None if piece.outside_shares is None else piece.outside_shares[kept],
    )


def _means(means: Vector | None, weights: Vector | None, kept: Indices) -> Vector | None:
    if means is None or weights is None:
        return None
    sums = np.add.reduceat(np.where(weights > 0, means, 0.0) * weights, kept)
    totals = np.add.reduceat(weights, kept)
    merged: Vector = np.full(len(kept), np.nan)
    return np.divide(sums, totals, out=merged, where=totals > 0)
