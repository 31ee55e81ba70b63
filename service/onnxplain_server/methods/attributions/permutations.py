"""Random orders: estimated Shapley values of any model, with standard errors.

Each order of the features turns a row of the background step by step into the row explained, and
a feature's step is what it adds. The reverse order of the same features turns the same row once
more: what interactions add to one order, they mostly take from the other. Castro, Gómez and
Tejada (2009), "Polynomial calculation of the Shapley value based on sampling", Computers &
Operations Research 36(5), 1726-1730; pairs: Mitchell, Cooper, Frank and Holmes (2022), "Sampling
Permutations for Shapley Value Estimation", Journal of Machine Learning Research 23(43), 1-46.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.core.row_draws import Purpose, row_hashes
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows
from onnxplain_server.methods.attributions.post_strata import (
    PlayerRanges,
    PostStrata,
    find_ranges,
)
from onnxplain_server.methods.attributions.row_strata import RowStrata

FEW_ORDERS = 100
"""Orders below which rows with rare values are too seldom taken to show in standard errors."""
_FIRST_STAGE, _STAGE_SHARE = FEW_ORDERS, 4
"""Orders before a target is looked at first, and part of them that is added each time."""
_ROWS = 1 << 16
"""Mixed rows per call of the engine, which bounds memory."""


class Estimated(NamedTuple):
    """Estimated values with standard errors: (n_rows, n_players, n_outputs) each."""

    values: Cube
    standard_errors: Cube


def permutation_cost(player_count: int, permutation_count: int) -> int:
    """Return the predictions for one row."""
    return 2 * permutation_count * (player_count - 1)


def attribute_by_permutations(
    explained: ExplainedRows, permutation_count: int, seed: int, target: float = 0.0
) -> Estimated:
    """Estimate Shapley values from pairs of random orders.

    Rows of the background are taken as often as their weights say, up to one. Where each is taken,
    its orders are a stratum, and only the variance within strata counts. Elsewhere, estimates are
    corrected for the rows taken. Both add up to the prediction less the base value.

    Parameters
    ----------
    target : float
        Largest standard error of a row with which no more orders are added; 0 for all orders.
    """
    rows, players = explained.rows, explained.players
    (_, width), count = explained.predictions.shape, len(players)
    values = np.empty((len(rows), count, width))
    errors = np.empty_like(values)
    planned = permutation_cost(count, permutation_count)
    ranges = find_ranges(explained.effects.background, players, permutation_count)
    for row, source in enumerate(rows.source):
        orders = _Orders(count, permutation_count, seed, int(source))
        content = b"".join(fingerprint(column[row : row + 1]) for column in rows.columns)
        numbers = f"{players} {permutation_count} {seed} {source} {target!r}"
        identity = f"attributions {numbers}".encode() + content
        estimate = partial(_estimate, explained, row, orders, ranges, target)
        both = explained.effects.cached(identity, (2 * count, width), planned, estimate)
        values[row], errors[row] = both[:count], both[count:]
    return Estimated(values, errors)


def _estimate(
    explained: ExplainedRows, row: int, orders: _Orders, ranges: PlayerRanges, target: float
) -> Matrix:
    """Return the values of a row, then their standard errors: (2 n_players, n_outputs)."""
    walk = _PermutationWalk(explained, row, orders, ranges)
    for count in _stages(orders.count) if target else (orders.count,):
        walk.go_to(count)
        values, errors = walk.estimate()
        if errors.max() <= target:
            break
    if count < orders.count:
        explained.effects.release(permutation_cost(len(values), orders.count - count))
    return np.concatenate([values, errors])


def _stages(count: int) -> Iterator[int]:
    """Yield the numbers of orders after which errors are compared with the target."""
    stage = _FIRST_STAGE
    while stage < count:
        yield stage
        stage += stage // _STAGE_SHARE
    yield count


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

    def sequence(self, starts: Indices, source: Indices) -> Indices:
        """Return the orders in a sequence whose beginnings take rows by their weights as well.

        The k-th of m orders that begin with a row is due after the share (k + u) / m of all, with a
        random u for each row.

        Parameters
        ----------
        starts : (n_orders,)
            Of `background_rows`.
        source : (n_background,)
            Numbers of the background's rows in the table.
        """
        first = np.flatnonzero(np.diff(starts, prepend=-1))
        times = np.diff(first, append=len(starts))
        place = np.arange(len(starts)) - np.repeat(first, times)
        hashes = row_hashes(source[starts], self._seed, Purpose.ORDER, self._row, 2)
        return np.argsort((place + hashes / 2.0**64) / np.repeat(times, times), kind="stable")


class _PermutationWalk:
    """Walk from rows of the background to the row explained, each in both directions."""

    def __init__(
        self, explained: ExplainedRows, row: int, orders: _Orders, ranges: PlayerRanges
    ) -> None:
        background = explained.effects.background
        self._explained = explained
        self._row = row
        self._orders = orders
        self._starts = orders.background_rows(background)
        self._sequence = orders.sequence(self._starts, background.source)
        self._done = 0
        shape = len(explained.players), explained.predictions.shape[1]
        self._post = PostStrata(ranges, shape[1])
        has_strata = RowStrata.are_possible(orders.count, background)
        self._strata = RowStrata(background, *shape) if has_strata else None

    def go_to(self, count: int) -> None:
        """Go on until so many orders are done."""
        step = max(1, _ROWS // max(2 * (len(self._explained.players) - 1), 1))
        for first in range(self._done, count, step):
            self._add(self._sequence[first : min(first + step, count)])
        self._done = count

    def _add(self, numbers: Indices) -> None:
        """Add up what players add in some orders."""
        explained, row = self._explained, self._row
        taken, ranks = self._starts[numbers], _both_ways(self._orders.ranks(numbers))
        worth = _worth(explained, row, ranks, taken)
        worth[:, :, 0] = explained.effects.outputs()[taken]
        worth[:, :, -1] = explained.predictions[row]
        added = np.take_along_axis(np.diff(worth, axis=2), ranks[..., None], axis=2).mean(axis=0)
        self._post.add(taken, added)
        if self._strata is not None:
            self._strata.add(taken, added)

    def estimate(self) -> tuple[Matrix, Matrix]:
        """Return the values and their standard errors: (n_players, n_outputs) each."""
        explained, background = self._explained, self._explained.effects.background
        times = np.bincount(self._starts[self._sequence[: self._done]], minlength=len(background))
        if self._strata is not None and self._strata.are_known(times):
            return self._strata.estimate(times)
        return self._post.estimate(times, explained.predictions[self._row] - explained.base)


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
