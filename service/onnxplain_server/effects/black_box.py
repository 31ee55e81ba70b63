"""Black-box engine: effects of any model, from predictions of hybrid rows, each at most once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, predict_mixed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.curve_prediction import (
    CurvePredictor,
    SweepRequest,
    row_shares_only,
    value_shares,
)
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.engine import Group, Joint, Single, pure_effect, usual_pairs
from onnxplain_server.effects.hybrid_rows import HybridRows
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.recording.journal import Journal
from onnxplain_server.effects.rounding import prediction_rounding
from onnxplain_server.effects.row_predictions import RowPredictions
from onnxplain_server.effects.sweeping.averages_cache import AveragesCache
from onnxplain_server.effects.sweeping.sweep import Averages
from onnxplain_server.effects.weighted_mean import mean


class BlackBox:
    """Implements `Effects` for a model of which only the predictions are known.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    scale : str
        Scale of the predictions, part of the cache key.

    Attributes
    ----------
    unused : frozenset of int
        Features that the model certainly ignores.
    curve_predictor : CurvePredictor

    Notes
    -----
    Predictions, with n rows and u distinct values of a feature (or combinations of values):
    n for `outputs`, u · n for both parts of `single` together, u · n for each
    group of `joint`, and n for each point of `curve`. Fewer where rows differ in
    the moved features only, or have a grid value already; none for unused features.
    """

    def __init__(self, predictor: Predictor, background: Background, scale: str) -> None:
        outputs = ",".join(predictor.output_keys)
        scope = f"{scale}\n{background.digest}\n{outputs}"
        predictor = predictor.recording_in(Journal(predictor.ledger, scope))
        self._predictor = predictor
        self._background = background
        self._scale = scale
        self._cache = EffectCache(
            predictor.ledger, f"{scale}\n{background.digest}", predictor.output_keys
        )
        self.unused = predictor.unused(len(background.columns))
        self.curve_predictor = CurvePredictor(predictor, background, self._cache, self.unused)
        self._rows = RowPredictions(predictor, background, self._cache)
        self._hybrids = HybridRows(predictor, background, self._cache, self._rows.get_unplanned)
        self._effects: dict[tuple[int, ...], Matrix] = {}

    @property
    def categories(self) -> frozenset[int]:
        return self._predictor.categories

    @property
    def background(self) -> Background:
        return self._background

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._predictor.output_names

    def restrict(self, background: Background) -> BlackBox:
        return BlackBox(self._predictor, background, self._scale)

    def for_joint(self, order: int) -> BlackBox:  # noqa: ARG002 - rows for groups of any size
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        n = len(self._background)
        if n_points is None:
            if self.unused.intersection(features):
                return 0
            n_points = min(n, math.prod(len(self._background.levels[j]) for j in features))
        return n_points * n

    def pair_allowance(self) -> float:
        return usual_pairs(self)

    def release(self, rows: int) -> None:
        self._predictor.ledger.release(rows)

    def outputs(self) -> Matrix:
        return self._rows.get()

    def rounding_error(self) -> Vector:
        return prediction_rounding(self.outputs(), self._predictor.roundings)

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        used = self.own_and_others([(j,) for j in features if j not in self.unused], weights)
        for j in features:
            own, others = self._of_unused(weights) if j in self.unused else next(used)
            self._effects[j,] = own
            yield Single(j, own, others)

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        values = [*map(self._background.values_of, groups)]
        hybrid = [self._is_hybrid(group) for group in groups]
        cache = AveragesCache(self._cache, self._predictor.batch_size, weights)
        keys = [
            self._pair_keys(group, grid) for group, (grid, _) in zip(groups, values, strict=True)
        ]
        cached = cache.get_pairs(keys)
        own = self._background.weights if weights is None else weights
        swept = self._sweeps(
            SweepRequest(group, grid, value_shares(own, codes), is_hybrid)
            for group, (grid, codes), is_hybrid, found in zip(
                groups, values, hybrid, cached, strict=True
            )
            if found is None
        )
        for group, (grid, codes), key, found in zip(groups, values, keys, cached, strict=True):
            cost = self.cost(group, len(grid[0]))
            self.release(self.cost(group) - cost)
            averages = next(swept) if found is None else found
            if found is None:
                cache.put_pair(key, averages, cost)
            else:
                self._predictor.ledger.spend(cost, 0)
            # From the effect at the features' values that at the rows.
            yield averages.points[..., codes, :], averages.rows

    def _pair_keys(self, group: Group, grid: Sequence[Array]) -> tuple[CacheKey, CacheKey]:
        name = str(group[0]) if len(group) == 1 else str(group)
        others = CacheKey(f"others {name}", len(self._background))
        return self.curve_predictor.key(group, grid), others

    def _of_unused(self, weights: Matrix | None) -> tuple[Array, Array]:
        """Return an unused feature's effect, the mean, and that of all others, the predictions."""
        outputs = self.outputs()
        averages = mean(outputs, self._background.weights if weights is None else weights)
        shape = (*averages.shape[:-1], *outputs.shape)
        own = np.broadcast_to(averages[..., None, :], shape)
        return own, np.broadcast_to(outputs, shape)

    def _sweeps(self, requests: Iterable[SweepRequest]) -> Iterator[Averages]:
        return self.curve_predictor.sweeps(requests, self._sweep_hybrids)

    def _sweep_hybrids(self, request: SweepRequest) -> Averages:
        group = tuple(request.features)
        averages = self._hybrids.sweep(group, request.shares)
        self.curve_predictor.check(averages.points, group, request.grid)
        return averages

    def _is_hybrid(self, group: tuple[int, ...]) -> bool:
        """Return whether `HybridRows` sweeps the rows' combinations of values of a group."""
        if not group or self.unused.intersection(group):
            return False
        ignored = [*group, *self.unused]
        return self._hybrids.choose(group, lambda: len(self._background.merge_ignoring(ignored)[0]))

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        used = [group for group in groups if not self.unused.intersection(group)]
        points = self.wholes(used, weights)
        for group in groups:
            if self.unused.intersection(group):
                yield self._joint_unused(group)
            else:
                self._effects[group] = next(points)
                yield Joint(group, self._effects[group], pure_effect(group, self._effects))

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        values = [*map(self._background.values_of, groups)]
        grids = [grid for grid, _ in values]
        hybrid = [self._is_hybrid(group) for group in groups]
        keys = [
            self.curve_predictor.key(g, grid, is_hybrid=is_hybrid)
            for g, grid, is_hybrid in zip(groups, grids, hybrid, strict=True)
        ]
        cache = AveragesCache(self._cache, self._predictor.batch_size, weights)
        cached = cache.get(keys)
        # The plan assumed all combinations of values; release those that no row has.
        self.release(
            sum(
                self.cost(g) - self.cost(g, len(grid[0]))
                for g, grid in zip(groups, grids, strict=True)
            )
        )
        own = self._background.weights if weights is None else weights
        swept = self._sweeps(
            SweepRequest(group, grid, row_shares_only(own, len(grid[0])), is_hybrid)
            for group, grid, is_hybrid, found in zip(groups, grids, hybrid, cached, strict=True)
            if found is None
        )
        for group, (grid, codes), key, found in zip(groups, values, keys, cached, strict=True):
            cost = self.cost(group, len(grid[0]))
            if found is not None:
                self._predictor.ledger.spend(cost, 0)
                yield found[..., codes, :]
                continue
            points = next(swept).points
            cache.put(key, points, cost)
            yield points[..., codes, :]

    def _joint_unused(self, group: tuple[int, ...]) -> Joint:
        """Return the effect of the group's used features, without a pure part."""
        used = tuple(j for j in group if j not in self.unused)
        whole = self._effects[used or group[:1]]
        self._effects[group] = whole
        return Joint(group, whole, np.zeros_like(whole))

    def batches(self, weights: Array) -> Iterator[Array]:
        yield weights  # all in one batch: more weights need no more predictions

    def batch_count(self, _replicate_count: int) -> int:
        return 1

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        return next(self.curves([(features, points)]))

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        plans = [self.curve_predictor.plan(features, points) for features, points in requests]
        self.release(sum(plan.duplicate_count for plan in plans) * len(self._background))
        cached = iter(self._cache.get([plan.key for plan in plans if plan.key]))
        known = [next(cached) if plan.key else None for plan in plans]
        hybrid = [self._is_hybrid(plan.group_over(self._background.levels)) for plan in plans]
        swept = self._sweeps(
            plan.request(self._background.weights, is_hybrid=is_hybrid)
            for plan, points, is_hybrid in zip(plans, known, hybrid, strict=True)
            if plan.key and points is None
        )
        for plan, points in zip(plans, known, strict=True):
            if plan.key is None:
                planned = len(plan.inverse) * len(self._background)
                average = mean(self._rows.in_place_of(planned), self._background.weights)
                yield np.tile(average, (len(plan.inverse), 1))
            elif points is None:
                averages = next(swept)
                self._cache.put(plan.key, averages.points)
                yield averages.points[plan.inverse]
            else:
                self._predictor.ledger.spend(len(points) * len(self._background), 0)
                yield points[plan.inverse]

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        if all(map(self.curve_predictor.is_ignored, features, points)):
            n_points = len(points[0])
            outputs = self._rows.in_place_of(len(self._background) * n_points)
            return np.repeat(outputs[:, None, :], n_points, axis=1)
        return self.curve_predictor.individual(features, points)

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        if self.unused.issuperset(features):
            return [self._rows.in_place_of(len(order)) for order in permutations]
        return self.curve_predictor.permuted(features, permutations)

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        return predict_mixed(self._predictor, self._background, explained, mixture)

    def exact_attributions(self) -> None:
        return None

    def cached(
        self, identity: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        outputs = ",".join(self._predictor.output_keys)
        background = f"{self._scale}\n{self._background.digest}\n{outputs}"
        cache = EffectCache(self._predictor.ledger, background, [""])
        key = CacheKey(hashlib.sha256(identity).hexdigest(), math.prod(shape))
        cached = cache.get([key])[0]
        if cached is not None:
            self._predictor.ledger.spend(rows, 0)
            return cached.reshape(shape)
        with self._predictor.unit():
            values = compute()
            cache.put(key, values.reshape(-1, 1))
        return values
