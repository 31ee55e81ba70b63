"""Rows of a kernel model: averages of products of functions of one feature, without predicting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, reduce

import numpy as np

from onnxplain_server.additive.averages import MovedAverages
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.terms import BLOCK_NUMBERS
from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.kernels.block_pool import BlockPool

_BLOCK = 1 << 16
"""Numbers of rows and kernels that are computed at once: few enough for caches."""
KERNELS_AT_ONCE = 1 << 10
_AHEAD = 4
"""Blocks whose results wait to be added up."""
_KEPT_NUMBERS = 1 << 24
"""Most exponents that are kept, beside which others are computed each time."""
_LARGE = 1e4
"""Sum of exponents from which those of some features are added up, and others not subtracted: a
difference has the absolute error of the sum, of which its exponential has the relative one."""


class KernelRows:
    """Rows with the exponents that each feature has in each kernel.

    With d_sj(x_j) the exponent of feature j in kernel s, d_s(x) their sum, and a_s the weight of
    the kernel, moving features S of all rows to v gives the average
    b + Σ_s a_s · exp(-Σ_{j in S} d_sj(v_j)) · mean_i exp(-Σ_{j not in S} d_sj(x_ij)).
    All factors are between 0 and 1, and none is divided by.

    Parameters
    ----------
    model : KernelModel
    background : Background
    pool : BlockPool
        Computes blocks of kernels, whose results are added up in their order.
    """

    def __init__(self, model: KernelModel, background: Background, pool: BlockPool) -> None:
        self.model = model
        self._background = background
        self._pool = pool
        self._kept: dict[tuple[str, int, int], Matrix] = {}
        size = len(background) * model.kernel_count
        self._keeps_totals = size <= _KEPT_NUMBERS
        self._keeps = size * (2 * len(model.values_by_feature) + 1) <= _KEPT_NUMBERS

    @cached_property
    def values(self) -> Matrix:
        """Values that kernels take, of the rows: (n, n_values)."""
        return front_values(self.model, self._background)

    @cached_property
    def outputs(self) -> Matrix:
        """Outputs of the rows: (n, n_outputs)."""
        return outputs_of(self.model, self.values)

    def averages_at_points(self, points: Mapping[int, Matrix], shares: Matrix) -> Cube:
        """Average the outputs of rows with features moved to points: (n_sets, n_points, n_outputs).

        Parameters
        ----------
        points : mapping of feature to (n_points, n_own)
            Values that the kernels take of the feature, at each point.
        shares : (n_sets, n)
        """
        features = list(points)
        return self._averages(features, partial(self._at_points, points), shares, None).over_rows

    def averages_at_rows(
        self,
        features: Sequence[int],
        rows: Indices,
        shares: Matrix,
        row_shares: Matrix | None = None,
    ) -> MovedAverages:
        """Average the outputs of rows with features moved to what some rows have.

        Parameters
        ----------
        rows : (n_points,)
        shares : (n_sets, n)
        row_shares : (n_sets, n_points), or None
            Without them, there are no averages over points.
        """
        of_all = None if row_shares is None else np.zeros(shares.shape)
        if of_all is not None and row_shares is not None:
            of_all[:, rows] = row_shares
        if 2 * len(rows) < len(self._background):
            chosen = partial(self._at_rows, features, rows)
            return self._averages(features, chosen, shares, row_shares)
        means = self._averages(features, partial(self._at_rows, features, None), shares, of_all)
        return MovedAverages(means.over_rows[:, rows], means.over_points)

    def _averages(
        self,
        features: Sequence[int],
        own_of: Callable[[int], Matrix],
        shares: Matrix,
        point_shares: Matrix | None,
    ) -> MovedAverages:
        """Average outputs; `own_of` computes the products of features at points, for a block."""

        def of_block(number: int) -> list[Matrix]:
            weights = self.model.weights[:, self._blocks[number]].T  # (n_block, n_outputs)
            own, rest = own_of(number), self._rest(features, number)
            over_rows = own @ _weighted(shares @ rest, weights)
            if point_shares is None:
                return [over_rows]
            return [over_rows, rest @ _weighted(point_shares @ own, weights)]

        over_rows, *others = [
            total.reshape(len(total), len(shares), -1).swapaxes(0, 1) + self.model.offset
            for total in self._sums(of_block)
        ]
        return MovedAverages(over_rows, others[0] if others else None)

    def individual(self, points: Mapping[int, Matrix]) -> Cube:
        """Return the outputs of each row with features moved: (n, n_points, n_outputs)."""

        def of_block(number: int) -> list[Cube]:
            kernels = self._blocks[number]
            own, rest = self._at_points(points, number), self._rest(list(points), number)
            weighted = [(rest * weights[kernels]) @ own.T for weights in self.model.weights]
            return [np.stack(weighted, axis=-1)]

        (total,) = self._sums(of_block)
        return total + self.model.offset

    def _sums(self, of_block: Callable[[int], list[Array]]) -> list[Array]:
        """Add up arrays of all blocks of kernels, which the pool computes, in their order."""
        _ = self._keeps_totals and self._largest  # of all blocks, before threads ask for it
        totals: list[Array] = []
        for parts in self._pool.stream(of_block, range(len(self._blocks)), _AHEAD):
            totals = totals or [np.zeros_like(part) for part in parts]
            for total, part in zip(totals, parts, strict=True):
                np.add(total, part, out=total)
        return totals

    @cached_property
    def rounding_error(self) -> Vector:
        """Bound of the rounding error of an average: (n_outputs,)."""
        is_difference = self._keeps_totals and self._largest <= _LARGE
        steep = self._largest * 2.0**-53 / AVERAGING if is_difference else 0.0
        sizes = np.abs(self.model.weights).sum(axis=1) * max(1.0, steep)
        bound: Vector = AVERAGING * (sizes + np.abs(self.model.offset))
        return bound

    @cached_property
    def _largest(self) -> float:
        """Largest exponent of a row in a kernel."""
        return max((float(self._total(b).max()) for b in range(len(self._blocks))), default=0.0)

    @cached_property
    def _blocks(self) -> Sequence[slice]:
        step, count = max(1, _BLOCK // len(self._background)), self.model.kernel_count
        return [slice(start, min(start + step, count)) for start in range(0, count, step)]

    def _rest(self, features: Sequence[int], number: int) -> Matrix:
        """Return the products of the other features' functions, at the rows: (n, n_block)."""
        if self._keeps_totals and self._largest <= _LARGE:
            first, *others = (self._exponents(j, number) for j in features)
            negative = first - self._total(number)
            for own in others:
                negative += own
            return np.exp(negative, out=negative)
        every = self.model.values_by_feature.items()
        return self._product([places for j, places in every if j not in features], number)

    def _at_points(self, points: Mapping[int, Matrix], number: int) -> Matrix:
        """Return the products of features' functions at points: (n_points, n_block)."""
        places, kernels = self.model.values_by_feature, self._blocks[number]
        values = np.concatenate(list(points.values()), axis=1)
        joined = np.concatenate([places[j] for j in points])
        products: Matrix = np.exp(-self.model.exponents(values, joined, kernels))
        return products

    def _at_rows(self, features: Sequence[int], rows: Indices | None, number: int) -> Matrix:
        """Return the products of features' functions at rows, or all: (n_points, n_block)."""
        if not self._keeps:
            return self._product([self.model.values_by_feature[j] for j in features], number, rows)
        factors = [self._factors(j, number) for j in features]
        chosen = factors if rows is None else [own[rows] for own in factors]
        return reduce(np.multiply, chosen)

    def _product(
        self, places: Sequence[Indices], number: int, rows: Indices | None = None
    ) -> Matrix:
        """Compute products of functions of values at rows, or all: (n_points, n_block)."""
        joined = np.concatenate([np.zeros(0, np.intp), *places])
        values = self.values if rows is None else self.values[rows]
        negative = -self.model.exponents(values[:, joined], joined, self._blocks[number])
        return np.exp(negative, out=negative)

    def _total(self, number: int) -> Matrix:
        """Return the exponents of all features, kept: (n, n_block)."""
        every = np.concatenate(list(self.model.values_by_feature.values()))
        return self._keep(("total", 0, number), lambda: self._sum_of(every, number))

    def _exponents(self, feature: int, number: int) -> Matrix:
        """Return the exponents of a feature, kept if there is room: (n, n_block)."""
        places = self.model.values_by_feature[feature]
        if not self._keeps:
            return self._sum_of(places, number)
        return self._keep(("exponents", feature, number), lambda: self._sum_of(places, number))

    def _factors(self, feature: int, number: int) -> Matrix:
        """Return the functions of a feature, kept: (n, n_block)."""
        key = "factors", feature, number
        return self._keep(key, lambda: np.exp(-self._exponents(feature, number)))

    def _sum_of(self, places: Indices, number: int) -> Matrix:
        return self.model.exponents(self.values[:, places], places, self._blocks[number])

    def _keep(self, key: tuple[str, int, int], compute: Callable[[], Matrix]) -> Matrix:
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]


def front_values(model: KernelModel, rows: Background) -> Matrix:
    """Compute the values that kernels take, of rows: (n_rows, n_values)."""
    step = max(1, BLOCK_NUMBERS // max(len(model.features), 1))
    parts = [
        model.front(feeds(rows.features, [own[start : start + step] for own in rows.columns]))
        for start in range(0, len(rows), step)
    ]
    return np.concatenate(parts)


def outputs_of(model: KernelModel, values: Matrix) -> Matrix:
    """Compute outputs from the values that kernels take, in blocks: (n_rows, n_outputs)."""
    every = np.arange(values.shape[1])
    outputs = np.tile(model.offset, (len(values), 1))
    step = max(1, _BLOCK // KERNELS_AT_ONCE)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        for first in range(0, model.kernel_count, KERNELS_AT_ONCE):
            kernels = slice(first, first + KERNELS_AT_ONCE)
            products = np.exp(-model.exponents(values[rows], every, kernels))
            outputs[rows] += products @ model.weights[:, kernels].T
    return outputs


def _weighted(means: Matrix, weights: Matrix) -> Matrix:
    """Multiply averages (n_sets, n_kernels) by weights (n_kernels, n_outputs), side by side."""
    weighted = means.T[:, :, np.newaxis] * weights[:, np.newaxis]
    return weighted.reshape(len(weights), -1)
