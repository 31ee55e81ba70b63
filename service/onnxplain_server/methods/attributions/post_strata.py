"""Post-stratification: estimates corrected for which rows of the background were taken.

What a player adds depends on its own values in the background's row, and on what all players add
together, the prediction less that of the row. Both are known for all rows, so that an average of
few rows is corrected by the shares of ranges of values, and by a regression within them. Holt and
Smith (1979), "Post Stratification", Journal of the Royal Statistical Society A 142(1), 33-46.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Counts, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background

_MOST_RANGES = 8
_ORDERS = 12
"""Orders for each range."""
_LEAST_FREE = 10
"""Degrees of freedom from which there is a regression; with fewer, it fits what it is told by."""


class PlayerRanges(NamedTuple):
    """Ranges of the values of each player.

    Attributes
    ----------
    ranges : (n_players, n_background)
        Range that each row of the background lies in.
    shares : (n_players, n_ranges)
        Of the background's weights.
    """

    ranges: Indices
    shares: Matrix


def find_ranges(
    background: Background, players: Sequence[tuple[int, ...]], order_count: int
) -> PlayerRanges:
    """Divide the values of each player into ranges of about equal shares; a group has one range."""
    count = min(max(order_count // _ORDERS, 1), _MOST_RANGES)
    shares = background.weights / background.weights.sum()
    ranges = np.zeros((len(players), len(background)), dtype=np.intp)
    for own, features in zip(ranges, players, strict=True):
        if len(features) == 1 and count > 1:
            codes = background.codes[features[0]]
            by_level = np.bincount(codes, shares)
            middles = np.cumsum(by_level) - by_level / 2
            own[:] = np.minimum(count * middles, count - 1).astype(np.intp)[codes]
    return PlayerRanges(ranges, _sums_by_range(ranges, shares, count))


def _sums_by_range(ranges: Indices, values: Vector, count: int) -> Matrix:
    return np.stack([np.bincount(own, values, count) for own in ranges])


class PostStrata:
    """Sums over orders of what players add, by ranges of the values of each player.

    Parameters
    ----------
    ranges : PlayerRanges
    output_count : int
    """

    def __init__(self, ranges: PlayerRanges, output_count: int) -> None:
        self._ranges, self._shares = ranges
        players, count = self._shares.shape
        self._added, self._together = np.zeros((2, players, count, output_count))
        self._squares, self._products = np.zeros((2, players, output_count))
        self._together_squares = np.zeros(output_count)

    def add(self, taken: Indices, added: Cube) -> None:
        """Add orders: the rows that they begin with, and what players add.

        Parameters
        ----------
        taken : (n,)
        added : (n, n_players, n_outputs)
        """
        together = added.sum(axis=1)  # (n, n_outputs)
        ranges = np.arange(self._shares.shape[1])
        is_in = (self._ranges[:, taken, None] == ranges).astype(np.float64)
        self._added += is_in.swapaxes(1, 2) @ added.swapaxes(0, 1)
        self._together += is_in.swapaxes(1, 2) @ together
        self._squares += np.einsum("npo,npo->po", added, added)
        self._products += np.einsum("npo,no->po", added, together)
        self._together_squares += (together**2).sum(axis=0)

    def estimate(self, times: Counts, known: Vector) -> tuple[Matrix, Matrix]:
        """Return values that add up, and their standard errors: (n_players, n_outputs) each.

        Ranges without an order are left out.

        Parameters
        ----------
        times : (n_background,)
            Orders that begin with each row.
        known : (n_outputs,)
            Average of what all players add together.
        """
        taken = np.flatnonzero(times)
        orders = times[taken].astype(np.float64)
        counts = _sums_by_range(self._ranges[:, taken], orders, self._shares.shape[1])
        has_orders = counts > 0
        shares = np.where(has_orders, self._shares, 0)
        shares /= shares.sum(axis=1, keepdims=True)
        one = 1 / np.maximum(counts, 1)[..., None]
        weights = shares[..., None] * one
        spread = _within(self._together_squares, self._together, self._together, one)
        covariances = _within(self._products, self._added, self._together, one)
        freedom = times.sum() - has_orders.sum(axis=1) - 1
        is_known = spread > times.sum() * np.finfo(float).eps * self._together_squares
        is_known &= (freedom >= _LEAST_FREE)[:, None]
        slopes = np.divide(covariances, spread, out=np.zeros_like(spread), where=is_known)
        missing = known - (weights * self._together).sum(axis=1)
        values = (weights * self._added).sum(axis=1) + slopes * missing
        squares = _within(self._squares, self._added, self._added, one) - slopes * covariances
        freedom = np.maximum(freedom + (freedom < _LEAST_FREE), 1)[:, None]
        variances = np.maximum(squares, 0) / freedom * (weights * shares[..., None]).sum(axis=1)
        values += _portions(variances) * (known - values.sum(axis=0))
        return values, np.sqrt(variances)


def _within(squares: Array, first: Cube, second: Cube, one: Cube) -> Matrix:
    """Return sums of squares or products about the averages of ranges; `one` is 1 / orders."""
    within: Matrix = squares - (first * second * one).sum(axis=1)
    return within


def _portions(variances: Matrix) -> Matrix:
    """Return the portion of each player in what is missing from the sum, by its variance."""
    total = variances.sum(axis=0)
    even = np.full_like(variances, 1 / len(variances))
    portions: Matrix = np.divide(variances, total, out=even, where=total > 0)
    return portions
