"""Curve prediction: partial dependence and predictions of single rows at points, memoized."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.row_predictions import check_finite, not_finite, not_finite_at
from onnxplain_server.effects.sweeping.moved_rows import MovedRows
from onnxplain_server.effects.sweeping.sweep import Averages, Shares, Sweep, Sweeper, run_sweeps

_BLOCK_ROWS = 16_384
"""Hybrid rows per block, which bounds memory."""

_SECONDS_TOGETHER = 1.0
"""Time of sweeps that run side by side: until their end, the plan does not fall."""
_PARTS_PER_THREAD = 4
"""Parts for each further thread that run side by side, also if they take longer."""


@dataclass(frozen=True, slots=True, eq=False)
class SweepRequest:
    """Features to move over a grid, one (n_points,) array each, and the weights of averages.

    Attributes
    ----------
    is_hybrid : bool
        Whether the points are the rows' own, and `HybridRows` sweeps them.
    """

    features: Sequence[int]
    grid: Sequence[Array]
    shares: Shares
    is_hybrid: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CurvePlan:
    """Distinct points of a curve, over the features that are not ignored there.

    Attributes
    ----------
    features : tuple of int
    grid : tuple of (n_distinct,) arrays, one per feature
    key : CacheKey or None
        None where the model ignores all features.
    inverse : (n_points,)
        Position in the grid of each requested point.
    """

    features: tuple[int, ...]
    grid: tuple[Array, ...]
    key: CacheKey | None
    inverse: Indices

    @property
    def duplicate_count(self) -> int:
        """Number of points that repeat others."""
        return len(self.inverse) - len(self.grid[0]) if self.key else 0

    def group_over(self, levels: Sequence[Array]) -> tuple[int, ...]:
        """Return its feature if it has the points of `single`, whose numbers it shares; else ()."""
        has_levels = len(self.features) == 1 and np.array_equal(
            self.grid[0], levels[self.features[0]]
        )
        return self.features if has_levels else ()

    def request(self, weights: Array, *, is_hybrid: bool) -> SweepRequest:
        """Ask for its averages over rows of these weights."""
        shares = row_shares_only(weights, len(self.grid[0]))
        return SweepRequest(self.features, self.grid, shares, is_hybrid)


class CurvePredictor:
    """Predicts the background with features moved over points.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    cache : EffectCache
    unused : frozenset of int
        Features that the model ignores.
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
        self._moved = MovedRows(predictor, background)

    def plan(self, features: Sequence[int], points: Sequence[Array]) -> CurvePlan:
        """Plan a curve over points, one (n_points,) array per feature."""
        pairs = zip(features, points, strict=True)
        moved = {j: values for j, values in pairs if not self.is_ignored(j, values)}
        if not moved:
            return CurvePlan((), (), None, np.zeros(len(points[0]), dtype=np.intp))
        first, inverse = combine([distinct(values)[1] for values in moved.values()])
        group, grid = tuple(moved), tuple(values[first] for values in moved.values())
        return CurvePlan(group, grid, self.key(group, grid), inverse)

    def is_ignored(self, feature: int, values: Array) -> bool:
        """Return whether moving a feature to these values certainly changes no prediction."""
        return feature in self._unused and (
            values.dtype == object or bool(np.isfinite(values).all())
        )

    def key(
        self, features: Sequence[int], grid: Sequence[Array], *, is_hybrid: bool = False
    ) -> CacheKey:
        """Return the cache key of partial dependence at points, one (n_points,) array each.

        Sweeps of groups by `HybridRows` add up in another order: they have keys of their own.
        """
        points = hashlib.sha256(b"".join(fingerprint(values) for values in grid)).hexdigest()
        kind = "hybrid curve" if is_hybrid else "curve"
        return CacheKey(f"{kind} {tuple(features)} {points}", len(grid[0]))

    def sweep(self, features: Sequence[int], grid: Sequence[Array], shares: Shares) -> Averages:
        """Sweep over a grid, with rows merged that differ in moved and unused features only."""
        return self.sweep_all([SweepRequest(features, grid, shares)])[0]

    def sweeps(
        self,
        requests: Iterable[SweepRequest],
        hybrid: Callable[[SweepRequest], Averages],
    ) -> Iterator[Averages]:
        """Sweep over several grids, short sweeps side by side, so that no thread waits at each end.

        Parameters
        ----------
        hybrid : callable (SweepRequest) -> Averages
            Sweeps where `SweepRequest.is_hybrid`.
        """
        waiting: list[SweepRequest] = []
        for request in requests:
            averages = hybrid(request) if request.is_hybrid else None
            if averages is None:
                waiting.append(request)
            if averages is not None or self._is_enough(waiting):
                yield from self.sweep_all(waiting)
                waiting = []
            if averages is not None:
                yield averages
        yield from self.sweep_all(waiting)

    def _is_enough(self, requests: Sequence[SweepRequest]) -> bool:
        """Return whether sweeps take some time side by side, and keep all threads busy."""
        rows = [len(each.grid[0]) * each.shares.rows.size for each in requests]
        longest_part = min(max(rows), self._sweeper.rows_per_block)
        parts = _PARTS_PER_THREAD * (self._predictor.thread_count - 1)
        most = self._predictor.batch_size.rows_side_by_side(_SECONDS_TOGETHER)
        return sum(rows) > max(most, (parts - 1) * longest_part)

    def sweep_all(self, requests: Sequence[SweepRequest]) -> list[Averages]:
        """Sweep over several grids side by side."""
        merges = [self._merge(request) for request in requests]
        with self._predictor.unit():
            averages = run_sweeps(self._predictor, [sweep for sweep, _ in merges])
        for request, each in zip(requests, averages, strict=True):
            self.check(each.points, request.features, request.grid)
        return [
            Averages(each.points, each.rows[..., inverse, :]).in_order()
            for each, (_, inverse) in zip(averages, merges, strict=True)
        ]

    def _merge(self, request: SweepRequest) -> tuple[Sweep, Indices]:
        """Merge rows that are equal but for moved and unused features; return the place of each."""
        features, grid, shares = request.features, request.grid, request.shares
        merged, inverse = self._background.merge_ignoring([*features, *self._unused])
        self._predictor.ledger.release(len(grid[0]) * (len(self._background) - len(merged)))
        sweeper = self._sweeper if merged is self._background else Sweeper(self._predictor, merged)
        row_shares = sum_by_code(shares.rows, inverse)
        return Sweep(sweeper, features, grid, Shares(shares.points, row_shares)), inverse

    def move(self, feature: int, points: Array, shares: Shares) -> Averages:
        """Move a feature over distinct points and average over rows and over points.

        Parameters
        ----------
        shares : Shares
            Of points, (n_averages, n_points); of rows, (n_rows,), or with replicates.
        """
        n, n_points, n_averages = len(self._background), len(points), len(shares.points)
        digest = hashlib.sha256(fingerprint(points) + fingerprint(shares.points)).hexdigest()
        others = [CacheKey(f"others {feature} {digest} {i}", n) for i in range(n_averages)]
        keys = [self.key((feature,), (points,)), *others]
        entries = self._cache.get(keys) if shares.rows.ndim == 1 else []
        cached = [values for values in entries if values is not None]
        if len(cached) == len(keys):
            self._predictor.ledger.spend(n_points * n, 0)
            return Averages(cached[0], np.stack(cached[1:]))
        averages = self.sweep((feature,), (points,), shares)
        if shares.rows.ndim == 1:
            for key, values in zip(keys, (averages.points, *averages.rows), strict=True):
                self._cache.put(key, values)
        return averages

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """Return predictions of each row at each point: (n_rows, n_points, n_outputs)."""
        n, n_points = len(self._background), len(points[0])
        digest = hashlib.sha256(b"".join(map(fingerprint, points))).hexdigest()
        key = CacheKey(f"individual {tuple(features)} {digest}", n * n_points)
        predictions = self._cache.get([key])[0]
        if predictions is None:
            with self._predictor.unit():
                predictions = self._predict_individual(features, points)
                self._cache.put(key, predictions)
        else:
            self._predictor.ledger.spend(n * n_points, 0)
        return predictions.reshape(n, n_points, predictions.shape[1])

    def _predict_individual(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """Predict each row at each point: (n_rows · n_points, n_outputs)."""
        n, n_points = len(self._background), len(points[0])
        length = max(1, _BLOCK_ROWS // n_points)
        spans = [slice(start, min(start + length, n)) for start in range(0, n, length)]

        def predict_block(span: slice) -> Matrix:
            rows = np.arange(n)[span]
            place = np.tile(np.arange(n_points), len(rows))
            return self._moved.predict(features, points, np.repeat(rows, n_points), place)

        predictions = np.concatenate(self._predictor.in_parallel(predict_block, spans))
        finite = np.isfinite(predictions).reshape(n, n_points, -1).all(axis=0)
        self.check(np.where(finite, 0.0, np.nan), features, points)
        return predictions

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        """Predict with features permuted between rows, per permutation: (n_rows, n_outputs)."""

        def predict(permutation: Indices) -> Matrix:
            every = np.arange(len(permutation))
            predictions = self._moved.with_features_of(features, permutation, every, every)
            return check_finite(
                predictions, lambda _rows: "the model's prediction is not finite for shuffled rows"
            )

        return self._predictor.in_parallel(predict, permutations)

    def check(self, averages: Array, features: Sequence[int], grid: Sequence[Array]) -> None:
        """Check that averages, (..., n_points, n_outputs), are finite.

        An error names the rows whose own predictions are not, or else the point.
        """
        background, names = self._background, self._background.features.names

        def describe(positions: Indices) -> str:
            own = self._predictor.predict_rows(background.features, background.columns)
            check_finite(own, lambda rows: not_finite(background, rows))
            return not_finite_at(names, features, grid, positions[0])

        by_point = np.moveaxis(averages, -2, 0).reshape(len(grid[0]), -1)
        check_finite(by_point, describe)


def row_shares_only(weights: Array, n_points: int) -> Shares:
    """Return shares for averages over rows alone; those of points are 0.

    `weights` are (n_rows,), or (n_replicates, n_rows).
    """
    point_shares = np.zeros((*weights.shape[:-1], n_points))
    return Shares(point_shares, weights / weights.sum(axis=-1, keepdims=True))


def value_shares(weights: Array, codes: Indices) -> Shares:
    """Return shares for averages over rows, and over points that are the rows' own values.

    `weights` are those of `row_shares_only`, `codes` the point of each row: (n_rows,).
    """
    row_shares = weights / weights.sum(axis=-1, keepdims=True)
    return Shares(sum_by_code(row_shares, codes), row_shares)
