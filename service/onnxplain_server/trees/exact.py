"""Exact trees engine: effects of sums over trees from leaves and row counts, in linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Joint, Single
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.bound import BoundRows, TreeEffects
from onnxplain_server.trees.counting.leaf_sums import Points, evaluate_leaf_sums
from onnxplain_server.trees.counting.strategies import CountedLeaves, CountingStrategy
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.replicates import Replicates

_BATCH_BYTES = 16 << 20
"""Size of an effect under several weights."""

_PARALLEL_GROUPS = 16
"""Groups that are computed in parallel before the first is yielded."""


class Exact(TreeEffects):
    r"""Implements `Effects` for models whose outputs are affine functions of sums over trees.

    A leaf with value v, the features F on its path and the indicator b_q of its condition on
    each contributes to the effects in closed form. With C[G] the share of rows that meet its
    conditions on G, and with sums over the leaves that have conditions on all of S,

        pure_S(x) = Σ v Σ over A in S of (−1)^|S minus A| C[F minus A] Π over A of b_q(x)
        F_S(x) = mean + Σ of pure_A(x) over all A in S but the empty one

    So pure_S is exactly 0 where no leaf has conditions on all of S.

    Parameters
    ----------
    ensemble : Ensemble
    leaves : Leaves
        Of the ensemble, or of one that differs in `matrix` and `offset` only.
    background : Background
    output_names : tuple of str
        Names of all outputs of the ensemble.
    outputs : (n_outputs,)
        Positions of the outputs explained.
    ledger : Ledger
    threads : ThreadPoolExecutor

    Notes
    -----
    Cost: time grows with rows times leaves. No row is predicted; progress counts the rows
    of the background once per effect and once per point of a curve.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        leaves: Leaves,
        background: Background,
        output_names: tuple[str, ...],
        outputs: Indices,
        ledger: Ledger,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._leaves = leaves
        pool = BlockPool(threads, ledger)
        to_outputs, rows = self._to_outputs, leaves.rows(background)
        bound = BoundRows(ensemble, background, output_names, outputs, to_outputs, pool, rows)
        super().__init__(bound, threads)
        self._pure: dict[tuple[int, ...], Matrix] = {}

    def restrict(self, background: Background) -> Exact:
        names, outputs = self._bound.all_names, self._outputs
        return Exact(
            self._ensemble, self._leaves, background, names, outputs, self._ledger, self._threads
        )

    def for_joint(self) -> Exact:
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:  # noqa: ARG002 - whatever the features
        return len(self._bound.background) * (1 if n_points is None else n_points)

    def rounding_error(self) -> Vector:
        return AVERAGING * magnitude(self._ensemble)[self._outputs]

    def batches(self, weights: Array) -> Iterator[Array]:
        if weights.ndim == 1:
            yield weights
            return
        yield weights[0]
        size = self._batch_size()
        for start in range(1, len(weights), size):
            yield weights[start : start + size]

    def _batch_size(self) -> int:
        return max(1, _BATCH_BYTES // (8 * len(self._bound.background) * len(self._outputs)))

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        if weights is not None:
            self._replicates = Replicates(self, weights)
            yield from self._replicates.single(features)
            return
        for counted, others in self._strategy.singles(features, self._pool):
            (j,) = counted.features
            self._pure[j,] = self._evaluate(counted, self._bound.ranked.codes[[j]])
            self._ledger.spend(len(self._bound.background), 0)
            own = self._to_outputs(self._mean + self._pure[j,])
            yield Single(j, own, self._to_outputs(others))

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        if weights is not None:
            yield from self._replicates.joint(groups)
            return
        # Computed here, since both wait for the pool, which its own threads must not do.
        _ = self._strategy, self._mean
        for start in range(0, len(groups), _PARALLEL_GROUPS):
            part = groups[start : start + _PARALLEL_GROUPS]
            for group, whole in zip(part, self._pool.run(self._at_rows, part), strict=True):
                self._ledger.spend(len(self._bound.background), 0)
                yield Joint(group, self._to_outputs(whole), self._to_differences(self._pure[group]))

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        pairs = zip(features, points, strict=True)
        cells = {j: self._ensemble.codes(j, values) for j, values in pairs}

        def pure(part: tuple[int, ...]) -> Matrix:
            codes = np.stack([cells[j] for j in part])
            counted = self._bound.rows.count(part, self._bound.background, self._pool)
            return self._evaluate(counted, codes)

        curve = self._to_outputs(self._whole(tuple(features), pure))
        self._ledger.spend(len(curve) * len(self._bound.background), 0)
        return curve

    @cached_property
    def _strategy(self) -> CountingStrategy:
        return self._bound.rows.strategy(self._bound.background, self._pool)

    @cached_property
    def _mean(self) -> Vector:
        """Mean sum of leaves over the rows: (n_targets,)."""
        mean: Vector = self._bound.ranked.shares @ self._bound.sums
        return mean

    def _at_rows(self, group: tuple[int, ...]) -> Matrix:
        """Compute F of a group at the rows, in the calling thread: (n, n_targets)."""

        def pure(part: tuple[int, ...]) -> Matrix:
            if part not in self._pure:
                counted = self._strategy.count(part, None)
                self._pure[part] = self._evaluate(counted, self._bound.ranked.codes[list(part)])
            return self._pure[part]

        return self._whole(group, pure)

    def _whole(self, group: tuple[int, ...], pure: Callable[[tuple[int, ...]], Matrix]) -> Matrix:
        """Add up F of a group from the pure effects of all its parts."""
        sizes = range(1, len(group) + 1)
        parts = [part for size in sizes for part in combinations(group, size)]
        whole = self._mean + pure(parts[0])
        for part in parts[1:]:
            whole += pure(part)
        return whole

    def _evaluate(self, counted: CountedLeaves, codes: Int32Array) -> Matrix:
        """Evaluate a pure effect at cells, (n_features, n_points): (n_points, n_targets)."""
        group = counted.features
        pure = np.zeros((codes.shape[1], self._ensemble.values.shape[1]))
        if not len(counted.leaves):
            return pure
        for part in range(1 << len(group)):
            chosen = [q for q in range(len(group)) if part >> q & 1]
            sign = (-1) ** (len(group) - len(chosen))
            points = Points(tuple(group[q] for q in chosen), codes[chosen])
            conditions = np.ascontiguousarray(counted.conditions[:, chosen])
            coefficients = counted.coefficients(part)
            pure += sign * evaluate_leaf_sums(
                self._ensemble, counted.boxes, conditions, coefficients, points
            )
        return pure

    def _to_outputs(self, targets: Matrix) -> Matrix:
        """Compute outputs from sums of leaves."""
        return self._to_differences(targets) + self._ensemble.offset[self._outputs]

    def _to_differences(self, targets: Matrix) -> Matrix:
        """Compute differences of outputs from differences of sums of leaves."""
        difference: Matrix = targets @ self._ensemble.matrix[self._outputs].T
        return difference
