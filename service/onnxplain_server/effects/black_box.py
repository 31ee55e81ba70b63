"""Effects of any model, by predicting hybrid rows, each at most once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background, combine, sum_by_code
from onnxplain_server.effects.curve_prediction import CurvePlan, CurvePredictor, row_shares_only
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.engine import Joint, Single, pure_effect
from onnxplain_server.effects.hybrid_rows import Hybrids
from onnxplain_server.effects.predictor import Predictor, check_finite, describe_rows
from onnxplain_server.effects.rounding import prediction_rounding
from onnxplain_server.effects.sweep import Averages, Shares
from onnxplain_server.effects.weighted_mean import mean

_BLOCK_ROWS = 16_000
"""Rows that are predicted together by one thread."""


class BlackBox:
    """The engine for models of which nothing is known but their predictions.

    Parameters
    ----------
    predictor : Predictor
    background : Background
    scale : str
        Which of the model's predictions are explained.

    Attributes
    ----------
    unused : frozenset of int
        Features that certainly have no effect.
    curves_at : CurvePredictor
        Moves features over points of any kind.

    Notes
    -----
    Cost, n rows and u distinct values of a feature (or combinations of values):
    n for `outputs`, u · n for both parts of `single` together, u · n for each
    group of `joint`, and n for each point of `curve`. Less where rows differ in
    the moved features only, and where a row has a grid value already; nothing
    for features that the model certainly does not use.
    """

    def __init__(self, predictor: Predictor, background: Background, scale: str) -> None:
        self._predictor = predictor
        self._background = background
        self._scale = scale
        self._cache = EffectCache(
            predictor.ledger, f"{scale}\n{background.digest}", predictor.output_keys
        )
        self.unused = predictor.unused(len(background.columns))
        self.curves_at = CurvePredictor(predictor, background, self._cache, self.unused)
        self._hybrids = Hybrids(predictor, background, self.outputs)
        self._predictions: Matrix | None = None
        self._effects: dict[tuple[int, ...], Matrix] = {}

    @property
    def background(self) -> Background:
        """See `Effects.background`."""
        return self._background

    @property
    def output_names(self) -> tuple[str, ...]:
        """See `Effects.output_names`."""
        return self._predictor.output_names

    def restrict(self, background: Background) -> BlackBox:
        """See `Effects.restrict`."""
        return BlackBox(self._predictor, background, self._scale)

    def for_joint(self) -> BlackBox:
        """See `Effects.for_joint`."""
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        """See `Effects.cost`; without `n_points`, at the rows' own values."""
        n = len(self._background)
        if n_points is None:
            if self.unused.intersection(features):
                return 0
            n_points = min(n, math.prod(len(self._background.levels[j]) for j in features))
        return n_points * n

    def release(self, rows: int) -> None:
        """See `Effects.release`."""
        self._predictor.ledger.release(rows)

    def outputs(self) -> Matrix:
        """See `Effects.outputs`."""
        if self._predictions is None:
            self._predictions = self._recall_or_predict()
        return self._predictions

    def rounding_error(self) -> Vector:
        """See `Effects.rounding_error`: that of the model's predictions."""
        return prediction_rounding(self.outputs(), self._predictor.roundings)

    def _recall_or_predict(self) -> Matrix:
        background, label = self._background, CacheKey("outputs", len(self._background))
        found = self._cache.find([label])[0]
        if found is not None:
            self._predictor.ledger.spend(len(background), 0)
            return found
        predicted = self._predict_blocks()
        check_finite(
            predicted,
            lambda rows: (
                f"the model's prediction is not finite for {describe_rows(background, rows)}; "
                "remove or mend these rows"
            ),
        )
        self._cache.keep(label, predicted)
        return predicted

    def _predict_blocks(self) -> Matrix:
        """Predict the rows, blocks of them side by side."""
        features, columns = self._background.features, self._background.columns
        starts = range(0, len(self._background), _BLOCK_ROWS)

        def block(start: int) -> Matrix:
            part = [column[start : start + _BLOCK_ROWS] for column in columns]
            return self._predictor.predict_rows(features, part)

        if len(starts) == 1:
            return block(0)
        return np.concatenate(self._predictor.side_by_side(block, starts))

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """See `Effects.single`."""
        known = self._find(features) if weights is None else {}
        for j in features:
            if j in self.unused:
                single = self._single_unused(j, weights)
            elif weights is None:
                single = self._single_kept(j, known[j])
            else:
                averages = self._sweep_levels(j, weights)
                own = averages.points[:, self._background.codes[j]]
                single = Single(j, own, averages.rows)
            self._effects[j,] = single.own
            yield single

    def _single_labels(self, feature: int) -> tuple[CacheKey, CacheKey]:
        own = self.curves_at.label((feature,), (self._background.levels[feature],))
        return own, CacheKey(f"others {feature}", len(self._background))

    def _find(self, features: Sequence[int]) -> dict[int, Sequence[Matrix | None]]:
        """Look effects of single features up, all at once: F at their values, F of all others."""
        moved = [j for j in features if j not in self.unused]
        found = self._cache.find([label for j in moved for label in self._single_labels(j)])
        return {j: found[2 * i : 2 * i + 2] for i, j in enumerate(moved)}

    def _single_kept(self, feature: int, known: Sequence[Matrix | None]) -> Single:
        """Effects under the background's own weights: what was found, or a new sweep."""
        points, others = known
        if points is None or others is None:
            averages = self._sweep_levels(feature, self._background.weights)
            points, others = averages.points, averages.rows
            for label, values in zip(self._single_labels(feature), (points, others), strict=True):
                self._cache.keep(label, values)
        else:
            self._predictor.ledger.spend(self.cost((feature,)), 0)
        return Single(feature, points[self._background.codes[feature]], others)

    def _single_unused(self, feature: int, weights: Matrix | None) -> Single:
        """Moving it changes nothing: its effect is the mean, that of all others the prediction."""
        outputs = self.outputs()
        averages = mean(outputs, self._background.weights if weights is None else weights)
        shape = (*averages.shape[:-1], *outputs.shape)
        own = np.broadcast_to(averages[..., None, :], shape)
        return Single(feature, own, np.broadcast_to(outputs, shape))

    def _sweep_levels(self, feature: int, weights: Array) -> Averages:
        """Move a feature over its own values."""
        row_shares = weights / weights.sum(axis=-1, keepdims=True)
        shares = Shares(sum_by_code(row_shares, self._background.codes[feature]), row_shares)
        return self._sweep_own((feature,), (self._background.levels[feature],), shares)

    def _sweep_own(
        self, group: tuple[int, ...], grid: tuple[Array, ...], shares: Shares
    ) -> Averages:
        """Move features over the combinations that rows have, skipping what is known if it pays."""
        merged, _ = self._background.apart_from([*group, *self.unused])
        if not self._hybrids.pays(group, len(grid[0]) * len(merged)):
            return self.curves_at.sweep(group, grid, shares)
        averages = self._hybrids.sweep(group, shares)
        self.curves_at.check(averages.points, group, grid)
        return averages

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        """See `Effects.joint`."""
        predicted = [group for group in groups if not self.unused.intersection(group)]
        points = self._at_points(predicted, weights)
        for group in groups:
            if self.unused.intersection(group):
                yield self._joint_unused(group)
            else:
                self._effects[group] = next(points)
                yield Joint(group, self._effects[group], pure_effect(group, self._effects))

    def _at_points(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None
    ) -> Iterator[Array]:
        """Effects of groups at the rows, each predicted at distinct combinations of values."""
        codes, columns = self._background.codes, self._background.columns
        combined = [combine([codes[j] for j in group]) for group in groups]
        grids = [
            tuple(columns[j][first] for j in group)
            for group, (first, _) in zip(groups, combined, strict=True)
        ]
        labels = [self.curves_at.label(g, grid) for g, grid in zip(groups, grids, strict=True)]
        found = self._cache.find(labels) if weights is None else [None] * len(labels)
        # Fewer combinations of values than there could be are known for all groups at once.
        self.release(
            sum(
                self.cost(g) - self.cost(g, len(grid[0]))
                for g, grid in zip(groups, grids, strict=True)
            )
        )
        for group, grid, label, (_, inverse), known in zip(
            groups, grids, labels, combined, found, strict=True
        ):
            if known is not None:
                self._predictor.ledger.spend(self.cost(group, len(grid[0])), 0)
                yield known[inverse]
                continue
            own = self._background.weights if weights is None else weights
            points = self._sweep_own(group, grid, row_shares_only(own, len(grid[0]))).points
            if weights is None:
                self._cache.keep(label, points)
            yield points[..., inverse, :]

    def _joint_unused(self, group: tuple[int, ...]) -> Joint:
        """What the features do that are used, and nothing beyond."""
        used = tuple(j for j in group if j not in self.unused)
        whole = self._effects[used or group[:1]]
        self._effects[group] = whole
        return Joint(group, whole, np.zeros_like(whole))

    def batches(self, weights: Array) -> Iterator[Array]:
        """See `Effects.batches`: all at once, since predictions are the cost."""
        yield weights

    def batch_count(self, _replicate_count: int) -> int:
        """See `Effects.batch_count`."""
        return 1

    def at(
        self, features: Sequence[int], points: Sequence[Array], weights: Matrix | None = None
    ) -> Array:
        """Effect at distinct points: `curve`, or as many under several weights at once."""
        if weights is None:
            return self.curve(features, points)
        shares = row_shares_only(weights, len(points[0]))
        return self.curves_at.sweep(features, points, shares).points

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """See `Effects.curve`."""
        return next(self.curves([(features, points)]))

    def curves(self, asked: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        """See `Effects.curves`."""
        paths = [self.curves_at.path(features, points) for features, points in asked]
        self.release(sum(_saved(path) for path in paths) * len(self._background))
        found = iter(self._cache.find([path.label for path in paths if path.label]))
        for path in paths:
            planned = len(path.inverse) * len(self._background)
            if path.label is None:
                average = mean(self._unmoved(planned), self._background.weights)
                yield np.tile(average, (len(path.inverse), 1))
                continue
            points = self.curves_at.at(path.features, path.grid, path.label, next(found))
            yield points[path.inverse]

    def _unmoved(self, planned: int) -> Matrix:
        """Predictions of the rows as they are, in the place of so many planned ones."""
        is_new = self._predictions is None
        self.release(planned - is_new * len(self._background))
        return self.outputs()

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """See `Effects.individual`."""
        if all(map(self.curves_at.is_moot, features, points)):
            n_points = len(points[0])
            outputs = self._unmoved(len(self._background) * n_points)
            return np.repeat(outputs[:, None, :], n_points, axis=1)
        return self.curves_at.individual(features, points)

    def permuted(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """See `Effects.permuted`."""
        if self.unused.issuperset(features):
            return [self._unmoved(len(order)) for order in orders]
        return self.curves_at.permuted(features, orders)

    def cached(
        self, question: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        """See `Effects.cached`."""
        outputs = ",".join(self._predictor.output_keys)
        identity = f"{self._scale}\n{self._background.digest}\n{outputs}"
        cache = EffectCache(self._predictor.ledger, identity, [""])
        label = CacheKey(hashlib.sha256(question).hexdigest(), math.prod(shape))
        found = cache.find([label])[0]
        if found is not None:
            self._predictor.ledger.spend(rows, 0)
            return found.reshape(shape)
        computed = compute()
        cache.keep(label, computed.reshape(-1, 1))
        return computed


def _saved(path: CurvePlan) -> int:
    """Count points of a curve that need not be computed again: those that occur before."""
    return len(path.inverse) - len(path.grid[0]) if path.label else 0
