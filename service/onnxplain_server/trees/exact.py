"""Effects of tree ensembles: exact, without predicting, in time linear in the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Joint, Single
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.bound import BoundRows
from onnxplain_server.trees.counting.leaf_sums import Points, evaluate_leaf_sums
from onnxplain_server.trees.counting.strategies import (
    BitsetCounting,
    CountedLeaves,
    CountingStrategy,
    DescentCounting,
    Leaves,
    prefers_bitsets,
)
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.replicates import Replicates

_BATCH_BYTES = 16 << 20
"""For an effect under several weights."""

"""Rows with a feature moved that are sent down together, so that memory does not grow with them."""

_AT_ONCE = 16
"""Groups that are computed side by side before any is given."""


class Exact:
    r"""The engine for models whose outputs are affine functions of sums over trees.

    A leaf with value v, the features F on its path and the indicator b_q of its condition on
    each contributes to the effects in closed form. With C[G] the share of rows that meet its
    conditions on G, and with sums over the leaves that have conditions on all of S,

        pure_S(x) = Σ v Σ over A in S of (−1)^|S minus A| C[F minus A] Π over A of b_q(x)
        F_S(x) = mean + Σ of pure_A(x) over all A in S but the empty one

    So pure_S is exactly 0 where no leaf has conditions on all of S.

    Parameters
    ----------
    leaves : Leaves
        Of the ensemble.
    background : Background
    output_names : tuple of str
        Of all outputs of the ensemble.
    outputs : (n_outputs,)
        Which of them are wanted.
    ledger : Ledger
    threads : ThreadPoolExecutor

    Notes
    -----
    Cost: time grows with rows times leaves. No row is predicted; progress counts the rows
    of the background once for each effect, and once per point of a curve.
    """

    def __init__(
        self,
        leaves: Leaves,
        background: Background,
        output_names: tuple[str, ...],
        outputs: Indices,
        ledger: Ledger,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._leaves = leaves
        self._ensemble = leaves.ensemble
        self._outputs = outputs
        self._ledger = ledger
        self._threads = threads
        self._pool = BlockPool(threads, ledger)
        self._bound = BoundRows(
            leaves.ensemble, background, output_names, outputs, self._level, self._pool
        )
        self._pure: dict[tuple[int, ...], Matrix] = {}

    @property
    def background(self) -> Background:
        """See `Effects.background`."""
        return self._bound.background

    @property
    def output_names(self) -> tuple[str, ...]:
        """See `Effects.output_names`."""
        return self._bound.output_names

    def restrict(self, background: Background) -> Exact:
        """See `Effects.restrict`."""
        names, outputs = self._bound.all_names, self._outputs
        return Exact(self._leaves, background, names, outputs, self._ledger, self._threads)

    def for_joint(self) -> Exact:
        """See `Effects.for_joint`."""
        return self

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:  # noqa: ARG002 - whatever the features
        """See `Effects.cost`: what progress counts; nothing is predicted."""
        return len(self._bound.background) * (1 if n_points is None else n_points)

    def release(self, rows: int) -> None:
        """See `Effects.release`."""
        self._ledger.release(rows)

    def outputs(self) -> Matrix:
        """See `Effects.outputs`."""
        return self._bound.outputs

    def rounding_error(self) -> Vector:
        """See `Effects.rounding_error`: float64 sums over leaves, whatever the runtime does."""
        return AVERAGING * magnitude(self._ensemble)[self._outputs]

    def batches(self, weights: Array) -> Iterator[Array]:
        """See `Effects.batches`: no more at once than memory allows."""
        if weights.ndim == 1:
            yield weights
            return
        yield weights[0]
        size = self._batch_size()
        for start in range(1, len(weights), size):
            yield weights[start : start + size]

    def batch_count(self, replicate_count: int) -> int:
        """See `Effects.batch_count`; progress counts each replicate, as each costs the same."""
        return 1 + replicate_count

    def _batch_size(self) -> int:
        return max(1, _BATCH_BYTES // (8 * len(self._bound.background) * len(self._outputs)))

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """See `Effects.single`."""
        if weights is not None:
            self._replicates = Replicates(self, weights)
            yield from self._replicates.single(features)
            return
        for held, others in self._form.singles(features, self._pool):
            (j,) = held.features
            self._pure[j,] = self._evaluate(held, self._bound.ranked.codes[[j]])
            self._ledger.spend(len(self._bound.background), 0)
            yield Single(j, self._level(self._mean + self._pure[j,]), self._level(others))

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        """See `Effects.joint`."""
        if weights is not None:
            yield from self._replicates.joint(groups)
            return
        _ = self._form, self._mean  # not in the threads below: they wait for threads themselves
        for start in range(0, len(groups), _AT_ONCE):
            part = groups[start : start + _AT_ONCE]
            for group, whole in zip(part, self._pool.run(self._at_rows, part), strict=True):
                self._ledger.spend(len(self._bound.background), 0)
                yield Joint(group, self._level(whole), self._difference(self._pure[group]))

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """See `Effects.curve`."""
        pairs = zip(features, points, strict=True)
        cells = {j: self._ensemble.codes(j, values) for j, values in pairs}

        def pure(part: tuple[int, ...]) -> Matrix:
            codes = np.stack([cells[j] for j in part])
            return self._evaluate(self._form.held(part, self._pool), codes)

        curve = self._level(self._whole(tuple(features), pure))
        self._ledger.spend(len(curve) * len(self._bound.background), 0)
        return curve

    def curves(self, asked: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        """See `Effects.curves`."""
        return (self.curve(features, points) for features, points in asked)

    def breakpoints(self, feature: int) -> Vector:
        """See `Stepped.starts`."""
        return self._ensemble.axes[feature].breakpoints()

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """See `Effects.individual`."""
        return self._bound.individual(features, points)

    def permuted(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """See `Effects.permuted`."""
        return self._bound.permuted(features, orders)

    def cached(
        self,
        question: bytes,  # noqa: ARG002 - numbers that need no prediction are not kept
        shape: tuple[int, int],  # noqa: ARG002
        rows: int,  # noqa: ARG002
        compute: Callable[[], Matrix],
    ) -> Matrix:
        """See `Effects.cached`."""
        return compute()

    @cached_property
    def _form(self) -> CountingStrategy:
        if prefers_bitsets(self._ensemble, len(self._bound.background)):
            return BitsetCounting(self._leaves, self._bound.ranked)
        return DescentCounting(self._leaves, self._bound.ranked)

    @cached_property
    def _mean(self) -> Vector:
        """Its average over the rows: (n_targets,)."""
        mean: Vector = self._bound.ranked.shares @ self._bound.sums
        return mean

    def _at_rows(self, group: tuple[int, ...]) -> Matrix:
        """F of a group at the rows, in one thread: (n, n_targets)."""

        def pure(part: tuple[int, ...]) -> Matrix:
            if part not in self._pure:
                held = self._form.held(part, None)
                self._pure[part] = self._evaluate(held, self._bound.ranked.codes[list(part)])
            return self._pure[part]

        return self._whole(group, pure)

    def _whole(self, group: tuple[int, ...], pure: Callable[[tuple[int, ...]], Matrix]) -> Matrix:
        """F of a group, from the pure effects of all its parts."""
        sizes = range(1, len(group) + 1)
        parts = [part for size in sizes for part in combinations(group, size)]
        whole = self._mean + pure(parts[0])
        for part in parts[1:]:
            whole += pure(part)
        return whole

    def _evaluate(self, held: CountedLeaves, codes: Int32Array) -> Matrix:
        """Pure effect, at points given by cells, (n_features, n_points): (n_points, n_targets)."""
        group = held.features
        pure = np.zeros((codes.shape[1], self._ensemble.values.shape[1]))
        if not len(held.leaves):
            return pure
        for part in range(1 << len(group)):
            chosen = [q for q in range(len(group)) if part >> q & 1]
            sign = (-1) ** (len(group) - len(chosen))
            points = Points(tuple(group[q] for q in chosen), codes[chosen])
            conditions = np.ascontiguousarray(held.conditions[:, chosen])
            coefficients = held.coefficients(part)
            pure += sign * evaluate_leaf_sums(
                self._ensemble, held.boxes, conditions, coefficients, points
            )
        return pure

    def _level(self, targets: Matrix) -> Matrix:
        """Outputs from what the trees add up."""
        return self._difference(targets) + self._ensemble.offset[self._outputs]

    def _difference(self, targets: Matrix) -> Matrix:
        """Outputs from differences of what the trees add up."""
        difference: Matrix = targets @ self._ensemble.matrix[self._outputs].T
        return difference
