"""Support of curves and surfaces: the share of the hybrid rows behind each point outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.rows import Features, is_missing
from onnxplain_server.effects.engine import Effects, PiecewiseConstant, UnusedFeatures
from onnxplain_server.effects.support.pair_support import HybridSource, Outside, PairSupport

_MOST_ROWS, _FEWEST_ROWS, _MOST_HYBRIDS = 20_000, 1_000, 2_000
"""Rows that support is told from: of few features, and of many; and those that are moved."""
_MOST_VALUES = 300_000
"""Values of these rows, which bound the time where features are many."""


def support_row_count(feature_count: int) -> int:
    """Return the number of rows to tell the support of so many features from."""
    return min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // feature_count))


class CurveSupport(NamedTuple):
    """Hybrid rows outside the support behind one curve or surface.

    Attributes
    ----------
    outside_shares : (n_points,)
        At each point.
    outside_share : float
        Mean over the points, weighted by the rows near them.
    outside_partner : str
        Feature, of those not moved, whose values lack most with the point's; empty without one.
    """

    outside_shares: Vector
    outside_share: float
    outside_partner: str


class TableSupport:
    """Support of a table.

    Parameters
    ----------
    features : Features
        All rows, or those at hand.
    rows : (n_rows,)
        Positions in `features` of the rows to tell from: see `support_row_count`.
    weights : (n_rows,)
        Of these rows; positive.
    effects : Effects
        Tells which features predictions do not depend on.
    """

    def __init__(
        self, features: Features, rows: Indices, weights: Vector, effects: Effects
    ) -> None:
        self._features = features
        self._rows, self._weights = rows, weights
        self._effects = effects

    @cached_property
    def _pairs(self) -> PairSupport:
        columns = self._features.take(self._rows).columns
        ignored = ignored_features(self._effects, self._features)
        return PairSupport(list(columns), self._weights, ignored)

    @property
    def is_known(self) -> bool:
        """Return whether there are rows enough to tell."""
        return self._pairs.is_known

    def own_rows(self) -> HybridSource:
        """Take the rows that support is told from as those that points are combined with."""
        return self._pairs.own_rows

    def source(self, features: Features, weights: Vector) -> HybridSource:
        """Take rows as those that points are combined with; of many, some at even steps."""
        step = -(-len(weights) // _MOST_HYBRIDS)
        some = features.take(np.arange(0, len(weights), step))
        return self._pairs.source(list(some.columns), weights[::step])

    def outside_shares(
        self,
        names: Sequence[str],
        grid: Sequence[Array],
        source: HybridSource,
        *,
        is_laid: bool,
    ) -> Vector:
        """Return the share of hybrid rows outside at each point; see `of_curve`."""
        return self._outside(names, grid, source, is_laid=is_laid).shares

    def of_curve(
        self,
        names: Sequence[str],
        grid: Sequence[Array],
        source: HybridSource,
        near: Vector,
        *,
        is_laid: bool,
    ) -> CurveSupport:
        """Measure the support of a curve.

        Parameters
        ----------
        grid : one (n_points,) array per feature
            As the columns of the table.
        near : (n_points,)
            Weights of the rows near each point.
        is_laid : bool
            Whether the points lie among the values of the table, as those that a caller sends
            need not.
        """
        outside = self._outside(names, grid, source, is_laid=is_laid)
        weights = near / near.max() if near.any() else np.ones(len(near))
        weights = weights / weights.sum()
        by_partner = outside.by_partner @ weights
        partner = int(np.argmax(by_partner))
        name = self._features.names[partner] if by_partner[partner] > 0 else ""
        ends = outside.shares.min(), outside.shares.max()  # which a sum may leave by its rounding
        return CurveSupport(outside.shares, float(np.clip(outside.shares @ weights, *ends)), name)

    def _outside(
        self, names: Sequence[str], grid: Sequence[Array], source: HybridSource, *, is_laid: bool
    ) -> Outside:
        positions = [self._features.index(name) for name in names]
        outside = self._pairs.outside(positions, grid, source)
        if is_laid:
            return outside
        columns = [self._features.columns[j] for j in positions]
        is_strange = [_strange(*both) for both in zip(columns, grid, strict=True)]
        shares = np.where(np.logical_or.reduce(is_strange), 1.0, outside.shares)
        return outside._replace(shares=shares)


def ignored_features(effects: Effects, features: Features) -> set[int]:
    """Return the features that predictions certainly do not depend on."""
    if isinstance(effects, UnusedFeatures):
        return set(effects.unused)
    if not isinstance(effects, PiecewiseConstant):
        return set()
    steps = {
        j: effects.breakpoints(j)
        for j, column in enumerate(features.stored)
        if column.dtype != object
    }
    return {j for j, own in steps.items() if own is not None and not len(own)}


def _strange(column: Array, values: Array) -> Array:
    """Return which values lie beyond the ends of a column, or are texts or missing in no row."""
    if column.dtype == object:
        held = set(column.tolist())
        return np.array([(text or "") not in held for text in values.tolist()], bool)
    low, high = np.fmin.reduce(column), np.fmax.reduce(column)
    has_missing = bool(is_missing(column).any())
    beyond = (values < low) | (values > high)
    strange: Array = np.where(np.isnan(values), not has_missing, beyond)
    return strange
