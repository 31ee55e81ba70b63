"""Rows of a kernel model: averages of products of functions of one feature, without predicting."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np

from onnxplain_server.additive.averages import MovedAverages
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.additive.terms import BLOCK_NUMBERS
from onnxplain_server.core.arrays import Cube, Indices, Matrix, Vector
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.kernels.block_pool import BlockPool

_BLOCK = 1 << 18
"""Numbers of rows and kernels that are computed at once: few enough for caches."""
_KERNELS_AT_ONCE = 1 << 10
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
        self._kept: dict[tuple[int, int], Matrix] = {}
        size = len(background) * model.kernel_count * (len(model.values_by_feature) + 1)
        self._keeps = size <= _KEPT_NUMBERS

    @cached_property
    def values(self) -> Matrix:
        """Values that kernels take, of the rows: (n, n_values)."""
        return front_values(self.model, self._background)

    @cached_property
    def outputs(self) -> Matrix:
        """Outputs of the rows: (n, n_outputs)."""
        return outputs_of(self.model, self.values)

    def averages(
        self,
        points: Mapping[int, Matrix],
        shares: Matrix,
        point_shares: Matrix | None = None,
    ) -> MovedAverages:
        """Average the outputs of rows with features moved to points.

        Parameters
        ----------
        points : mapping of feature to (n_points, n_own)
            Values that the kernels take of the feature, at each point.
        shares : (n_sets, n)
        point_shares : (n_sets, n_points), or None
            Without them, there are no averages over points.
        """

        def of_block(number: int) -> tuple[Matrix, Matrix | None]:
            kernels = self._blocks[number]
            weights = self.model.weights[:, kernels].T  # (n_block, n_outputs)
            own = self.at_points(points, kernels)
            rest = self._rest(points.keys(), number)
            over_rows = own @ _weighted(shares @ rest, weights)
            if point_shares is None:
                return over_rows, None
            return over_rows, rest @ _weighted(point_shares @ own, weights)

        sums = self._pool.run(of_block, range(len(self._blocks)))
        over_rows = self._with_offset([own for own, _ in sums], len(shares))
        over_points = [others for _, others in sums if others is not None]
        if point_shares is None:
            return MovedAverages(over_rows, None)
        return MovedAverages(over_rows, self._with_offset(over_points, len(shares)))

    @cached_property
    def rounding_error(self) -> Vector:
        """Bound of the rounding error of an average: (n_outputs,)."""
        steep = min(self._largest, _LARGE) * 2.0**-53 / AVERAGING if self._keeps else 0.0
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

    def _with_offset(self, blocks: Sequence[Matrix], set_count: int) -> Cube:
        """Add up what blocks of kernels give: (n_sets, n_points, n_outputs)."""
        total = sum(blocks[1:], start=blocks[0].copy())
        cube = total.reshape(len(total), set_count, -1).swapaxes(0, 1)
        added: Cube = cube + self.model.offset
        return added

    def _rest(self, features: Collection[int], number: int) -> Matrix:
        """Return the products of the other features' functions, at the rows: (n, n_block)."""
        if self._keeps and self._largest <= _LARGE:
            exponents = self._total(number).copy()
            for j in features:
                exponents -= self._own(j, number)
            return np.exp(-exponents)
        others = [places for j, places in self.model.values_by_feature.items() if j not in features]
        return np.exp(-self._sum_of(others, self._blocks[number]))

    def _sum_of(self, places: Sequence[Indices], kernels: slice) -> Matrix:
        joined = np.concatenate([np.zeros(0, np.intp), *places])
        return self.model.exponents(self.values[:, joined], joined, kernels)

    def _total(self, number: int) -> Matrix:
        """Return the exponents of all features, kept: (n, n_block)."""
        if (-1, number) not in self._kept:
            every = list(self.model.values_by_feature.values())
            self._kept[-1, number] = self._sum_of(every, self._blocks[number])
        return self._kept[-1, number]

    def _own(self, feature: int, number: int) -> Matrix:
        """Return the exponents of a feature, kept: (n, n_block)."""
        if (feature, number) not in self._kept:
            places = self.model.values_by_feature[feature]
            self._kept[feature, number] = self._sum_of([places], self._blocks[number])
        return self._kept[feature, number]

    def at_points(self, points: Mapping[int, Matrix], kernels: slice) -> Matrix:
        """Return the products of features' functions at points: (n_points, n_kernels)."""
        places = self.model.values_by_feature
        total = sum(self.model.exponents(own, places[j], kernels) for j, own in points.items())
        products: Matrix = np.exp(-np.asarray(total))
        return products

    def individual(self, points: Mapping[int, Matrix]) -> Cube:
        """Return the outputs of each row with features moved: (n, n_points, n_outputs)."""

        def of_block(number: int) -> Cube:
            kernels = self._blocks[number]
            own, rest = self.at_points(points, kernels), self._rest(points.keys(), number)
            weighted = [(rest * weights[kernels]) @ own.T for weights in self.model.weights]
            return np.stack(weighted, axis=-1)

        blocks = self._pool.run(of_block, range(len(self._blocks)))
        total: Cube = sum(blocks[1:], start=blocks[0]) + self.model.offset
        return total


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
    step = max(1, _BLOCK // _KERNELS_AT_ONCE)
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        for first in range(0, model.kernel_count, _KERNELS_AT_ONCE):
            kernels = slice(first, first + _KERNELS_AT_ONCE)
            products = np.exp(-model.exponents(values[rows], every, kernels))
            outputs[rows] += products @ model.weights[:, kernels].T
    return outputs


def _weighted(means: Matrix, weights: Matrix) -> Matrix:
    """Multiply averages (n_sets, n_kernels) by weights (n_kernels, n_outputs), side by side."""
    weighted = means.T[:, :, np.newaxis] * weights[:, np.newaxis]
    return weighted.reshape(len(weights), -1)
