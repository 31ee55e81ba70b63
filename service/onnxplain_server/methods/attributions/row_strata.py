"""Strata: each row of the background with the orders that begin with it."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Counts, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background

_LEAST_REPEATED = 20
"""Orders beyond the rows of the background, from which the variance within rows is known."""


class RowStrata:
    """Sums over orders of what players add, for each row of the background.

    Parameters
    ----------
    background : Background
    player_count, output_count : int
    """

    def __init__(self, background: Background, player_count: int, output_count: int) -> None:
        self._weights = background.weights
        shape = len(background), player_count, output_count
        self._added, self._squares = np.zeros((2, *shape))

    @staticmethod
    def are_possible(order_count: int, background: Background) -> bool:
        """Return whether each row can be taken, and enough of them more than once."""
        return order_count >= len(background) + _LEAST_REPEATED

    @staticmethod
    def are_certain(order_count: int, background: Background) -> bool:
        """Return whether strata are known however rows are drawn, each by its weight."""
        weights = background.weights
        if not RowStrata.are_possible(order_count, background):
            return False
        return bool(_are_equal(weights) or order_count * weights.min() >= 2 * weights.sum())

    def are_known(self, times: Counts) -> bool:
        """Return whether each row is taken, and the variance within all rows is known from some.

        Of rows with equal weights, it is chance which ones are taken more than once.

        Parameters
        ----------
        times : (n_background,)
            Orders that begin with each row.
        """
        is_known = times.min() > 1 or (times.min() == 1 and _are_equal(self._weights))
        return bool(is_known and times.sum() >= len(times) + _LEAST_REPEATED)

    def add(self, taken: Indices, added: Cube) -> None:
        """Add orders: the rows that they begin with, and what players add.

        Parameters
        ----------
        taken : (n,)
        added : (n, n_players, n_outputs)
        """
        np.add.at(self._added, taken, added)
        np.add.at(self._squares, taken, added**2)

    def estimate(self, times: Counts) -> tuple[Matrix, Matrix]:
        """Return the values and their standard errors: (n_players, n_outputs) each.

        What all players add together is known in each stratum, so that values add up.

        Parameters
        ----------
        times : (n_background,)
        """
        shares = (self._weights / self._weights.sum())[:, None, None]
        counts, is_repeated = times[:, None, None], times > 1
        values = (shares * self._added / counts).sum(axis=0)
        within = np.maximum(self._squares - self._added**2 / counts, 0)
        variances = within / np.maximum(counts - 1, 1)
        variances[~is_repeated] = variances[is_repeated].mean(axis=0)
        return values, np.sqrt((shares**2 / counts * variances).sum(axis=0))


def _are_equal(weights: Vector) -> bool:
    return bool(np.ptp(weights) <= np.finfo(float).eps * weights.max())
