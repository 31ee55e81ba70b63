"""Partial dependence at points, and predictions of single rows there: found, or predicted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import (
    Background,
    combine,
    distinct,
    fingerprint,
    sum_by_code,
)
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.predictor import Predictor, check_finite
from onnxplain_server.effects.sweep import Averages, Shares, Sweeper

_BLOCK_ROWS = 16_000
"""Rows of curves that are predicted together, so that memory does not grow with them."""


@dataclass(frozen=True, slots=True, eq=False)
class CurvePlan:
    """What has to be predicted of a curve: distinct points, of features that matter there.

    Attributes
    ----------
    features : tuple of int
    grid : tuple of (n_distinct,) arrays, one per feature
    label : CacheKey or None
        Where the curve may be found; None where no feature changes anything.
    inverse : (n_points,)
        For each point that was asked for, its place in the grid.
    """

    features: tuple[int, ...]
    grid: tuple[Array, ...]
    label: CacheKey | None
    inverse: Indices


class CurvePredictor:
    """Moves features of a background over points.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    cache : EffectCache
        Where what is predicted is kept, and may be found.
    unused : frozenset of int
        Features that change nothing.
    """

    def __init__(
        self,
        predictor: Predictor,
        background: Background,
        cache: EffectCache,
        unused: frozenset[int],
    ) -> None:
        self._predictor = predictor
        self._background = background
        self._cache = cache
        self._unused = unused
        self._sweeper = Sweeper(predictor, background)

    def path(self, features: Sequence[int], points: Sequence[Array]) -> CurvePlan:
        """Plan a curve over points, one (n_points,) array per feature."""
        pairs = zip(features, points, strict=True)
        moved = {j: values for j, values in pairs if not self.is_moot(j, values)}
        if not moved:
            return CurvePlan((), (), None, np.zeros(len(points[0]), dtype=np.intp))
        first, inverse = combine([distinct(values)[1] for values in moved.values()])
        group, grid = tuple(moved), tuple(values[first] for values in moved.values())
        return CurvePlan(group, grid, self.label(group, grid), inverse)

    def is_moot(self, feature: int, values: Array) -> bool:
        """Whether moving a feature to these values certainly changes nothing."""
        return feature in self._unused and (
            values.dtype == object or bool(np.isfinite(values).all())
        )

    def label(self, features: Sequence[int], grid: Sequence[Array]) -> CacheKey:
        """Name partial dependence at grid points, one (n_points,) array per feature."""
        points = hashlib.sha256(b"".join(fingerprint(values) for values in grid)).hexdigest()
        return CacheKey(f"curve {tuple(features)} {points}", len(grid[0]))

    def at(
        self, features: Sequence[int], grid: Sequence[Array], label: CacheKey, found: Matrix | None
    ) -> Matrix:
        """Return partial dependence at distinct grid points: what was found, or a new sweep."""
        if found is not None:
            self._predictor.ledger.spend(len(grid[0]) * len(self._background), 0)
            return found
        shares = row_shares_only(self._background.weights, len(grid[0]))
        points = self.sweep(features, grid, shares).points
        self._cache.keep(label, points)
        return points

    def sweep(self, features: Sequence[int], grid: Sequence[Array], shares: Shares) -> Averages:
        """Sweep over a grid, with rows merged that differ in these and unused features only."""
        merged, inverse = self._background.apart_from([*features, *self._unused])
        self._predictor.ledger.release(len(grid[0]) * (len(self._background) - len(merged)))
        sweeper = self._sweeper if merged is self._background else Sweeper(self._predictor, merged)
        averages = sweeper.sweep(
            features, grid, Shares(shares.points, sum_by_code(shares.rows, inverse))
        )
        self.check(averages.points, features, grid)
        return Averages(averages.points, averages.rows[..., inverse, :])

    def move(self, feature: int, points: Array, shares: Shares) -> Averages:
        """Move a feature over distinct points, and average over rows and over points.

        Parameters
        ----------
        shares : Shares
            Of points, (n_averages, n_points); of rows, (n_rows,), or with replicates.
        """
        n, n_points, n_averages = len(self._background), len(points), len(shares.points)
        digest = hashlib.sha256(fingerprint(points) + fingerprint(shares.points)).hexdigest()
        others = [CacheKey(f"others {feature} {digest} {i}", n) for i in range(n_averages)]
        labels = [self.label((feature,), (points,)), *others]
        found = self._cache.find(labels) if shares.rows.ndim == 1 else []
        known = [values for values in found if values is not None]
        if len(known) == len(labels):
            self._predictor.ledger.spend(n_points * n, 0)
            return Averages(known[0], np.stack(known[1:]))
        averages = self.sweep((feature,), (points,), shares)
        if shares.rows.ndim == 1:
            for label, values in zip(labels, (averages.points, *averages.rows), strict=True):
                self._cache.keep(label, values)
        return averages

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """Return predictions of each row at each point: (n_rows, n_points, n_outputs)."""
        n, n_points = len(self._background), len(points[0])
        digest = hashlib.sha256(b"".join(map(fingerprint, points))).hexdigest()
        label = CacheKey(f"individual {tuple(features)} {digest}", n * n_points)
        found = self._cache.find([label])[0]
        if found is None:
            found = self._predict_individual(features, points)
            self._cache.keep(label, found)
        else:
            self._predictor.ledger.spend(n * n_points, 0)
        return found.reshape(n, n_points, found.shape[1])

    def _predict_individual(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """Predict each row at each point: (n_rows · n_points, n_outputs)."""
        n, n_points = len(self._background), len(points[0])
        length = max(1, _BLOCK_ROWS // n_points)
        spans = [slice(start, min(start + length, n)) for start in range(0, n, length)]

        def block(span: slice) -> Matrix:
            columns = [np.repeat(column[span], n_points) for column in self._background.columns]
            for feature, values in zip(features, points, strict=True):
                columns[feature] = np.tile(values, len(columns[feature]) // n_points)
            return self._predictor.predict_rows(self._background.features, columns)

        predicted = np.concatenate(self._predictor.side_by_side(block, spans))
        sums = predicted.reshape(n, n_points, -1).sum(axis=0)
        self.check(sums, features, points)
        return predicted

    def permuted(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """Predict with features taken from other rows, once per order: (n_rows, n_outputs)."""

        def predict(order: Indices) -> Matrix:
            columns = list(self._background.columns)
            for j in features:
                columns[j] = columns[j][order]
            predicted = self._predictor.predict_rows(self._background.features, columns)
            return check_finite(
                predicted, lambda _rows: "the model's prediction is not finite for shuffled rows"
            )

        return self._predictor.side_by_side(predict, orders)

    def check(self, averages: Array, features: Sequence[int], grid: Sequence[Array]) -> None:
        """Refuse averages, (..., n_points, n_outputs), that are not finite; name the point."""
        names = self._background.features.names

        def describe(wrong: Indices) -> str:
            where = " and ".join(
                f"{names[j]} = {v[wrong[0]]}" for j, v in zip(features, grid, strict=True)
            )
            return (
                f"the model's prediction is not finite for some rows when {where}; "
                "restrict the grid, or mend the model"
            )

        by_point = np.moveaxis(averages, -2, 0).reshape(len(grid[0]), -1)
        check_finite(by_point, describe)


def row_shares_only(weights: Array, n_points: int) -> Shares:
    """Shares for averages over rows of which those over points are not wanted.

    `weights` are (n_rows,), or (n_replicates, n_rows).
    """
    nothing = np.zeros((*weights.shape[:-1], n_points))
    return Shares(nothing, weights / weights.sum(axis=-1, keepdims=True))
