"""Random orders: estimated Shapley values of any model, with standard errors.

Each order of the features turns a row of the background step by step into the row explained, and
a feature's step is what it adds. The reverse order of the same features turns the same row once
more: what interactions add to one order, they mostly take from the other. Castro, Gómez and
Tejada (2009), "Polynomial calculation of the Shapley value based on sampling", Computers &
Operations Research 36(5), 1726-1730; pairs: Mitchell, Cooper, Frank and Holmes (2022), "Sampling
Permutations for Shapley Value Estimation", Journal of Machine Learning Research 23(43), 1-46.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.core.row_draws import Purpose, row_hashes
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.effects.engine import Effects

_ROWS = 1 << 16
"""Mixed rows per call of the engine, which bounds memory."""


class Estimated(NamedTuple):
    """Estimated values with standard errors: (n_rows, n_players, n_outputs) each."""

    values: Cube
    standard_errors: Cube


class _Steps(NamedTuple):
    """Sums over pairs of orders, of what each player adds and of its squares."""

    total: Matrix
    squares: Matrix


def permutation_cost(player_count: int, permutation_count: int) -> int:
    """Return the predictions for one row."""
    return 2 * permutation_count * (player_count - 1)


def attribute_by_permutations(
    effects: Effects,
    explained: Background,
    players: Sequence[tuple[int, ...]],
    permutation_count: int,
    seed: int,
) -> Estimated:
    """Estimate Shapley values from pairs of random orders.

    Rows of the background are taken as often as their weights say, up to one. Estimates are then
    corrected so that they add up to the prediction less the base value: what is left is shared by
    the variances of the estimates.
    """
    whole = effects.restrict(explained).outputs()
    width = len(effects.output_names)
    values = np.empty((len(explained), len(players), width))
    errors = np.empty_like(values)
    planned = permutation_cost(len(players), permutation_count)
    for row, source in enumerate(explained.source):
        orders = _Orders(len(players), permutation_count, seed, int(source))

        def estimate(row: int = row, orders: _Orders = orders) -> Matrix:
            steps = _walk(effects, explained, row, players, orders, whole[row])
            return np.concatenate(_corrected(effects, steps, whole[row], permutation_count))

        content = b"".join(fingerprint(column[row : row + 1]) for column in explained.columns)
        identity = f"attributions {players} {permutation_count} {seed} {source}".encode() + content
        both = effects.cached(identity, (2 * len(players), width), planned, estimate)
        values[row], errors[row] = both[: len(players)], both[len(players) :]
    return Estimated(values, errors)


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


def _walk(  # noqa: PLR0917 - one loop
    effects: Effects,
    explained: Background,
    row: int,
    players: Sequence[tuple[int, ...]],
    orders: _Orders,
    whole: Array,
) -> _Steps:
    """Walk from rows of the background to the row explained, each in both directions."""
    count, width = len(players), len(effects.output_names)
    outputs, starts = effects.outputs(), orders.background_rows(effects.background)
    total, squares = np.zeros((count, width)), np.zeros((count, width))
    step = max(1, _ROWS // max(2 * (count - 1), 1))
    for first in range(0, orders.count, step):
        numbers = np.arange(first, min(first + step, orders.count))
        forth = orders.ranks(numbers)
        ranks = np.stack([forth, count - 1 - forth])  # (2, n, n_players)
        is_in = ranks[:, :, None, :] < np.arange(1, count)[:, None]  # (2, n, count - 1, n_players)
        is_own = np.zeros((is_in.size // count, len(explained.columns)), dtype=np.bool_)
        for p, features in enumerate(players):
            is_own[:, list(features)] = is_in[..., p].reshape(-1, 1)
        others = np.tile(np.repeat(starts[numbers], count - 1), 2)
        worth = np.empty((2, len(numbers), count + 1, width))
        worth[:, :, 0], worth[:, :, count] = outputs[starts[numbers]], whole
        if count > 1:
            mixture = RowMixture(np.full(len(others), row), others, is_own)
            mixed = effects.mixed(explained, mixture)
            worth[:, :, 1:count] = mixed.reshape(2, len(numbers), count - 1, width)
        added = np.take_along_axis(np.diff(worth, axis=2), ranks[..., None], axis=2).mean(axis=0)
        total += added.sum(axis=0)
        squares += (added**2).sum(axis=0)
    return _Steps(total, squares)


def _corrected(effects: Effects, steps: _Steps, whole: Array, count: int) -> tuple[Matrix, Matrix]:
    """Return the values, so that they add up, and their standard errors."""
    values = steps.total / count
    variances = np.maximum(steps.squares / count - values**2, 0) / (count - 1)
    weights = effects.background.weights
    base = weights @ effects.outputs() / weights.sum()
    left = whole - base - values.sum(axis=0)
    spread = variances.sum(axis=0)
    even = np.full_like(variances, 1 / len(variances))
    shares = np.divide(variances, spread, out=even, where=spread > 0)
    return values + shares * left, np.sqrt(variances)
