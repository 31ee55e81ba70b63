"""Black-box engine: effects of any model, from predictions of hybrid rows, each at most once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, predict_mixed
from onnxplain_server.effects.background import Background, combine, sum_by_code
from onnxplain_server.effects.curve_prediction import (
    CurvePredictor,
    SweepRequest,
    row_shares_only,
)
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.engine import Joint, Single, pure_effect, usual_pairs
from onnxplain_server.effects.hybrid_rows import HybridRows
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.effects.recording.averages_cache import AveragesCache
from onnxplain_server.effects.recording.journal import Journal
from onnxplain_server.effects.rounding import prediction_rounding
from onnxplain_server.effects.row_predictions import RowPredictions
from onnxplain_server.effects.sweep import Averages, Shares
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
        used = [j for j in features if j not in self.unused]
        cache = AveragesCache(self._cache, self._predictor.batch_size, weights)
        entries = cache.get_pairs([self._single_keys(j) for j in used])
        cached = {j: entry for j, entry in zip(used, entries, strict=True) if entry is not None}
        own = self._background.weights if weights is None else weights
        hybrid = {j for j in features if self._is_hybrid((j,))}
        swept = self._sweeps(
            self._over_levels(j, own, is_hybrid=j in hybrid) for j in used if j not in cached
        )
        for j in features:
            if j in self.unused:
                single = self._single_unused(j, weights)
            elif j in cached:
                self._predictor.ledger.spend(self.cost((j,)), 0)
                single = self._single(j, cached[j])
            else:
                averages = next(swept)
                single = self._single(j, averages)
                cache.put_pair(self._single_keys(j), averages, self.cost((j,)))
            self._effects[j,] = single.own
            yield single

    def _single_keys(self, feature: int) -> tuple[CacheKey, CacheKey]:
        own = self.curve_predictor.key((feature,), (self._background.levels[feature],))
        return own, CacheKey(f"others {feature}", len(self._background))

    def _single(self, feature: int, averages: Averages) -> Single:
        """Return the effect at the rows, from that at the feature's values."""
        own = averages.points[..., self._background.codes[feature], :]
        return Single(feature, own, averages.rows)

    def _single_unused(self, feature: int, weights: Matrix | None) -> Single:
        """Return an unused feature's effect, the mean, and that of all others, the predictions."""
        outputs = self.outputs()
        averages = mean(outputs, self._background.weights if weights is None else weights)
        shape = (*averages.shape[:-1], *outputs.shape)
        own = np.broadcast_to(averages[..., None, :], shape)
        return Single(feature, own, np.broadcast_to(outputs, shape))

    def _over_levels(self, feature: int, weights: Array, *, is_hybrid: bool) -> SweepRequest:
        """Ask for a sweep of a feature over its own values."""
        row_shares = weights / weights.sum(axis=-1, keepdims=True)
        shares = Shares(sum_by_code(row_shares, self._background.codes[feature]), row_shares)
        return SweepRequest((feature,), (self._background.levels[feature],), shares, is_hybrid)

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
        points = self._joint_at_rows(used, weights)
        for group in groups:
            if self.unused.intersection(group):
                yield self._joint_unused(group)
            else:
                self._effects[group] = next(points)
                yield Joint(group, self._effects[group], pure_effect(group, self._effects))

    def _joint_at_rows(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None
    ) -> Iterator[Array]:
        """Compute effects of groups at the rows, from their distinct combinations of values."""
        codes, columns = self._background.codes, self._background.columns
        combined = [combine([codes[j] for j in group]) for group in groups]
        grids = [
            tuple(columns[j][first] for j in group)
            for group, (first, _) in zip(groups, combined, strict=True)
        ]
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
            for group, grid, is_hybrid, values in zip(groups, grids, hybrid, cached, strict=True)
            if values is None
        )
        for group, grid, key, (_, inverse), values in zip(
            groups, grids, keys, combined, cached, strict=True
        ):
            if values is not None:
                self._predictor.ledger.spend(self.cost(group, len(grid[0])), 0)
                yield values[..., inverse, :]
                continue
            points = next(swept).points
            cache.put(key, points, self.cost(group, len(grid[0])))
            yield points[..., inverse, :]

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
