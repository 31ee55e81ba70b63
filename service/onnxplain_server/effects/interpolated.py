r"""Interpolated engine: effects by linear interpolation between knots, with an error estimate.

Features with many values are moved over knots only. With M_j[a, i] the prediction of row i at
knot a, F_j is interpolated from the row means of M_j, and F_\j are its column means under the
interpolation weights of the knots; effects of several features are interpolated in each feature.

The error estimate is the root mean square difference from the interpolation between every second
knot. Halving the distance of the knots divides the error by four where effects are smooth, so the
estimate is about three times too large there. It is no bound: no knot sees a change that happens
between two neighbouring knots.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.background import Background, combine
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.curve_prediction import row_shares_only
from onnxplain_server.effects.engine import Joint, Single, pure_effect, usual_pairs
from onnxplain_server.effects.knots import Knots, choose_knots, corners
from onnxplain_server.effects.sweeping.sweep import Shares
from onnxplain_server.effects.weighted_mean import mean_square

Group = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Evaluation points of a group, and the mixtures of them that are its effect at the rows.

    Attributes
    ----------
    grid : one (n_points,) array per feature
    places : (n_mixtures, n_rows, n_corners)
        Positions of the points that are mixed at each row: first for the effect, second for its
        coarse estimate, which is left out where rows are evaluated at their own values.
    shares : as `places`
        Weight of each point.
    """

    grid: tuple[Array, ...]
    places: Array
    shares: Array


class Interpolated:
    """Implements `Effects` by interpolating a black-box engine's effects at the rows.

    Parameters
    ----------
    engine : BlackBox
    knot_count : int
        At least 3. Features with at most so many values are not interpolated.

    Notes
    -----
    Predictions: `knot_count` · n for both parts of `single`; for each group n times the
    combinations of knots around its rows, or of their own values where these are fewer.
    """

    def __init__(self, engine: BlackBox, knot_count: int) -> None:
        self._engine = engine
        self._knot_count = knot_count
        self._knots = [choose_knots(column, knot_count) for column in engine.background.columns]
        self._effects: dict[Group, Array] = {}
        self._errors: dict[Group, Vector] = {}
        self.background = engine.background
        self.output_names = engine.output_names
        self.outputs, self.curve, self.curves = engine.outputs, engine.curve, engine.curves
        self.individual, self.permuted = engine.individual, engine.permuted
        self.mixed, self.exact_attributions = engine.mixed, engine.exact_attributions
        self.cached, self.release, self.rounding_error = (
            engine.cached,
            engine.release,
            engine.rounding_error,
        )
        self.batches, self.batch_count = engine.batches, engine.batch_count
        self.own_and_others, self.wholes = engine.own_and_others, engine.wholes

    def restrict(self, background: Background) -> Interpolated:
        return Interpolated(self._engine.restrict(background), self._knot_count)

    def for_joint(self, order: int) -> Interpolated:  # noqa: ARG002 - as `BlackBox`
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        group = tuple(features)
        if n_points is not None or self._is_exact(group) or self._engine.unused.intersection(group):
            return self._engine.cost(features, n_points)
        n = len(self.background)
        points = math.prod(len(self._knots[j].points) for j in group)
        return (points if len(group) == 1 else min(n, points)) * n

    def pair_allowance(self) -> float:
        return usual_pairs(self)

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        plain = [j for j in features if self._is_exact((j,)) or j in self._engine.unused]
        exact = self._engine.single(plain, weights)
        for j in features:
            if j in plain:
                single = replace(next(exact), own_error=self._zeros, others_error=self._zeros)
            else:
                single = self._interpolate_single(j, weights)
            self._effects[j,] = single.own
            self._errors[j,] = self._zeros if single.own_error is None else single.own_error
            yield single

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        self.release(
            sum(self.cost(g) - self._predicted_rows(g) for g in groups if not self._is_exact(g))
        )
        exact = self._engine.joint([g for g in groups if self._is_exact(g)], weights)
        for group in groups:
            if self._is_exact(group):
                joint = next(exact)
                self._effects[group], self._errors[group] = joint.whole, self._zeros
                yield replace(joint, error=self._zeros)
            elif self._engine.unused.intersection(group):
                yield self._joint_unused(group)
            else:
                yield self._interpolate_joint(group, weights)

    def _at_points(self, features: Group, points: Sequence[Array], weights: Matrix | None) -> Array:
        """Effect at distinct points, under the background's weights or several at once."""
        if weights is None:
            return self._engine.curve(features, points)
        shares = row_shares_only(weights, len(points[0]))
        return self._engine.curve_predictor.sweep(features, points, shares).points

    def _predicted_rows(self, group: Group) -> int:
        """Count the rows to predict for an interpolated group."""
        if self._engine.unused.intersection(group):
            return 0
        return len(self._plan(group).grid[0]) * len(self.background)

    @property
    def _zeros(self) -> Vector:
        return np.zeros(len(self.output_names))

    def _is_exact(self, group: Group) -> bool:
        return all(self._knots[j].is_exact for j in group)

    def _interpolate_single(self, feature: int, weights: Matrix | None) -> Single:
        knots, background = self._knots[feature], self.background
        row_weights = background.weights if weights is None else weights
        shares = row_weights / row_weights.sum(axis=-1, keepdims=True)
        own_shares = background.weights / background.weights.sum()
        count = len(knots.points)
        fine = np.atleast_2d(knots.fine.gather(shares, count))
        coarse = knots.coarse.gather(own_shares, count)
        moved = self._engine.curve_predictor.move(
            feature, knots.points, Shares(np.vstack([fine, coarse]), shares)
        )
        own = knots.fine.interpolate(moved.points)
        others = moved.rows[:-1] if weights is not None else moved.rows[0]
        return Single(
            feature,
            own,
            others,
            self._error(own, knots.coarse.interpolate(moved.points)),
            self._error(others, moved.rows[-1]),
        )

    def _error(self, fine: Array, coarse: Array) -> Vector:
        """Return the root mean square difference, under the first weights: (n_outputs,)."""
        first, second = (values if values.ndim == 2 else values[0] for values in (fine, coarse))
        error: Vector = np.sqrt(mean_square(first - second, self.background.weights))
        return error

    def _interpolate_joint(self, group: Group, weights: Matrix | None) -> Joint:
        plan = self._plan(group)
        points = self._at_points(group, plan.grid, weights)
        mixed = [
            np.einsum("...ick,ic->...ik", points[..., places, :], shares)
            for places, shares in zip(plan.places, plan.shares, strict=True)
        ]
        self._effects[group] = mixed[0]
        self._errors[group] = self._error(mixed[0], mixed[-1])
        parts = [p for size in range(1, len(group) + 1) for p in combinations(group, size)]
        error = np.sum([self._errors[part] for part in parts], axis=0)
        return Joint(group, mixed[0], pure_effect(group, self._effects), error)

    def _joint_unused(self, group: Group) -> Joint:
        """Return the effect of the group's used features, without a pure part."""
        used = tuple(j for j in group if j not in self._engine.unused) or group[:1]
        whole = self._effects[group] = self._effects[used]
        self._errors[group] = self._errors[used]
        return Joint(group, whole, np.zeros_like(whole), self._zeros)

    def _plan(self, group: Group) -> _Plan:
        """Choose the fewer points: corners of the knot cells, or the rows' own values."""
        knots = [self._knots[j] for j in group]
        around = self._around(knots)
        columns, codes = self.background.columns, self.background.codes
        first, inverse = combine([codes[j] for j in group])
        if len(around.grid[0]) < len(first):
            return around
        own = inverse[None, :, None]
        return _Plan(tuple(columns[j][first] for j in group), own, np.ones(own.shape))

    def _around(self, knots: Sequence[Knots]) -> _Plan:
        """Return the corners of the cells with rows, for all knots and for every second one."""
        mixed = [corners([k.fine for k in knots]), corners([k.coarse for k in knots])]
        shape = (2, *mixed[0][1].shape)
        shares = np.stack([shares for _, shares in mixed])
        codes = [np.concatenate([p[i].ravel() for p, _ in mixed]) for i in range(len(knots))]
        first, inverse = combine(codes)
        grid = tuple(k.points[code[first]] for k, code in zip(knots, codes, strict=True))
        return _Plan(grid, inverse.reshape(shape), shares)
