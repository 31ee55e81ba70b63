"""Random orders: estimated Shapley values of any model, with standard errors.

Each order of the features turns a row of the background step by step into the row explained, and
a feature's step is what it adds. The reverse order of the same features turns the same row once
more: what interactions add to one order, they mostly take from the other. Castro, Gómez and
Tejada (2009), "Polynomial calculation of the Shapley value based on sampling", Computers &
Operations Research 36(5), 1726-1730; pairs: Mitchell, Cooper, Frank and Holmes (2022), "Sampling
Permutations for Shapley Value Estimation", Journal of Machine Learning Research 23(43), 1-46.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.core.row_draws import Purpose, row_hashes
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows

_LEAST_REPEATED = 20
"""Orders beyond the rows of the background, from which the variance within rows is known."""
_ROWS = 1 << 16
"""Mixed rows per call of the engine, which bounds memory."""


class Estimated(NamedTuple):
    """Estimated values with standard errors: (n_rows, n_players, n_outputs) each."""

    values: Cube
    standard_errors: Cube


class _Steps(NamedTuple):
    """Sums over pairs of orders: of what each player adds, its squares, and its products with all.

    What all players add together is the prediction less that of the background's row. `by_row` has
    the sums for each row of the background, where each is taken and many twice; else no rows.
    """

    total: Matrix
    squares: Matrix
    products: Matrix
    by_row: Cube


def permutation_cost(player_count: int, permutation_count: int) -> int:
    """Return the predictions for one row."""
    return 2 * permutation_count * (player_count - 1)


def attribute_by_permutations(
    explained: ExplainedRows, permutation_count: int, seed: int
) -> Estimated:
    """Estimate Shapley values from pairs of random orders.

    Rows of the background are taken as often as their weights say, up to one. What all players add
    together is known on average over all rows, so that it is a control variate of each: estimates
    are corrected by their regressions on it, and then add up to the prediction less the base value.
    Standard errors are those of the residuals. Where each row of the background is taken, its
    orders are a stratum, and only the variance within strata counts.
    """
    rows, players = explained.rows, explained.players
    (_, width), count = explained.predictions.shape, len(players)
    values = np.empty((len(rows), count, width))
    errors = np.empty_like(values)
    planned = permutation_cost(count, permutation_count)
    for row, source in enumerate(rows.source):
        orders = _Orders(count, permutation_count, seed, int(source))
        content = b"".join(fingerprint(column[row : row + 1]) for column in rows.columns)
        identity = f"attributions {players} {permutation_count} {seed} {source}".encode() + content
        estimate = partial(_estimate, explained, row, orders)
        both = explained.effects.cached(identity, (2 * count, width), planned, estimate)
        values[row], errors[row] = both[:count], both[count:]
    return Estimated(values, errors)


def _estimate(explained: ExplainedRows, row: int, orders: _Orders) -> Matrix:
    """Return the values of a row, then their standard errors: (2 n_players, n_outputs)."""
    background = explained.effects.background
    starts = orders.background_rows(background)
    steps = _walk(explained, row, orders, starts)
    if len(steps.by_row):
        return np.concatenate(_stratified(background, steps, starts))
    return np.concatenate(_corrected(explained, row, steps, orders.count))


class _Orders:
    """Random orders of the players for one row, the same wherever they are drawn.

    Parameters
    ----------
    player_count, permutation_count, seed : int
    row : int
        Number of the row in the table.
    """

    def __init__(self, player_count: int, permutation_count: int, seed: int, row: int) -> None:
        self._players = np.arange(player_count)
        self.count = permutation_count
        self._seed = seed
        self._row = row

    def ranks(self, numbers: Indices) -> Array:
        """Return the place of each player in each of some orders: (n_orders, n_players)."""
        hashes = [
            row_hashes(numbers * len(self._players) + p, self._seed, Purpose.ORDER, self._row)
            for p in self._players
        ]
        return np.argsort(np.argsort(np.stack(hashes, axis=1), axis=1, kind="stable"), axis=1)

    def background_rows(self, background: Background) -> Indices:
        """Return a row of the background for each order: (n_orders,), in a random order.

        A row of share s is taken s times as often as there are orders, rounded up or down.
        """
        place = np.argsort(row_hashes(background.source, self._seed, Purpose.ORDER, self._row))
        ends = np.cumsum(background.weights[place])
        start = row_hashes(np.zeros(1, np.intp), self._seed, Purpose.ORDER, self._row, 1)
        points = (np.arange(self.count) + start / 2.0**64) / self.count * ends[-1]
        rows: Indices = place[np.minimum(np.searchsorted(ends, points, "right"), len(ends) - 1)]
        return rows


def _walk(explained: ExplainedRows, row: int, orders: _Orders, starts: Indices) -> _Steps:
    """Walk from rows of the background to the row explained, each in both directions."""
    outputs, whole = explained.effects.outputs(), explained.predictions[row]
    count, width = len(explained.players), len(whole)
    total, squares, products = np.zeros((3, count, width))
    by_row = np.zeros((len(outputs) if _are_strata(starts, len(outputs)) else 0, count, width))
    step = max(1, _ROWS // max(2 * (count - 1), 1))
    for first in range(0, orders.count, step):
        numbers = np.arange(first, min(first + step, orders.count))
        taken, ranks = starts[numbers], _both_ways(orders.ranks(numbers))
        worth = _worth(explained, row, ranks, taken)
        worth[:, :, 0], worth[:, :, count] = outputs[taken], whole
        added = np.take_along_axis(np.diff(worth, axis=2), ranks[..., None], axis=2).mean(axis=0)
        total += added.sum(axis=0)
        squares += (added**2).sum(axis=0)
        products += (added * added.sum(axis=1, keepdims=True)).sum(axis=0)
        if len(by_row):
            np.add.at(by_row, taken, added)
    return _Steps(total, squares, products, by_row)


def _both_ways(ranks: Array) -> Array:
    """Return the places of players in orders and in their reverses: (2, n, n_players)."""
    return np.stack([ranks, ranks.shape[1] - 1 - ranks])


def _worth(explained: ExplainedRows, row: int, ranks: Array, taken: Indices) -> Array:
    """Predict the steps of orders in both directions, but for their ends.

    Parameters
    ----------
    ranks : (2, n, n_players)
    taken : (n,)
        Row of the background that each order begins with.

    Returns
    -------
    (2, n, n_players + 1, n_outputs)
    """
    count, width = len(explained.players), explained.predictions.shape[1]
    worth = np.empty((2, len(taken), count + 1, width))
    is_in = ranks[:, :, None, :] < np.arange(1, count)[:, None]
    is_own = np.zeros((is_in.size // count, len(explained.rows.columns)), dtype=np.bool_)
    for p, features in enumerate(explained.players):
        is_own[:, list(features)] = is_in[..., p].reshape(-1, 1)
    others = np.tile(np.repeat(taken, count - 1), 2)
    mixture = RowMixture(np.full(len(others), row), others, is_own)
    steps = explained.effects.mixed(explained.rows, mixture)
    worth[:, :, 1:count] = steps.reshape(2, len(taken), count - 1, width)
    return worth


def _are_strata(starts: Indices, row_count: int) -> bool:
    """Return whether each row of the background is taken, and enough of them more than once."""
    if len(starts) < row_count + _LEAST_REPEATED:
        return False
    return len(np.unique(starts)) == row_count


def _stratified(background: Background, steps: _Steps, starts: Indices) -> tuple[Matrix, Matrix]:
    """Return the values and their standard errors, with rows of the background as strata.

    What all players add together is known in each stratum, so that values add up.
    """
    shares = (background.weights / background.weights.sum())[:, None, None]
    times = np.bincount(starts, minlength=len(shares))[:, None, None]
    values = (shares * steps.by_row / times).sum(axis=0)
    within = np.maximum(steps.squares - (steps.by_row**2 / times).sum(axis=0), 0)
    variances = within / (len(starts) - len(shares))
    return values, np.sqrt(variances * float((shares**2 / times).sum()))


def _corrected(
    explained: ExplainedRows, row: int, steps: _Steps, count: int
) -> tuple[Matrix, Matrix]:
    """Return the values and their standard errors, corrected so that values add up."""
    values = steps.total / count
    together = values.sum(axis=0)
    variances = np.maximum(steps.squares / count - values**2, 0)
    covariances = steps.products / count - values * together
    spread = covariances.sum(axis=0)  # the variance of what all add together
    is_known = spread > np.finfo(float).eps * (variances.sum(axis=0) + together**2)
    even = np.full_like(values, 1 / len(values))
    slopes = np.divide(covariances, spread, out=even, where=is_known)
    residuals = np.maximum(variances - np.where(is_known, slopes * covariances, 0), 0)
    errors = np.sqrt(residuals / max(count - 2, 1))
    known = explained.predictions[row] - explained.base
    return values + slopes * (known - together), errors
