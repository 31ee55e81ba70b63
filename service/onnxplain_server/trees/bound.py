"""Base class of the exact engines: rows bound to trees, whose sums may have a link behind them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.games import ExactAttributions
from onnxplain_server.effects.attributing.mixed_rows import RowMixture, not_finite_mixed
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.row_predictions import check_finite, not_finite
from onnxplain_server.trees.counting.ranked_rows import RankedRows, cells_of
from onnxplain_server.trees.few_trees import TestedFeatures
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.leaves import CountedRows
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array
from onnxplain_server.trees.reading.links import LinkScale
from onnxplain_server.trees.stepping.planes import Planes
from onnxplain_server.trees.stepping.step_functions import StepFunctions

_MAX_HYBRID_ROWS = 1 << 18
"""Hybrid rows per pass over the trees, which bounds memory."""
_FEWEST_VISITS = 8
"""Descents of trees per leaf from which 64 rows descend at once: of fewer, they share too few
nodes, and the edges of all leaves take longer to find."""


@dataclass(frozen=True, eq=False)
class BoundRows:
    """Rows as cells of an ensemble, and the outputs that follow from the sums of their leaves.

    Attributes
    ----------
    ensemble : Ensemble
    background : Background
    all_names : tuple of str
        Names of all outputs of the model.
    selected : (n_outputs,)
        Positions of the outputs explained.
    to_outputs : callable ((n, n_targets)) -> (n, n_outputs)
        Computes the selected outputs from sums of leaves.
    pool : BlockPool
    rows : CountedRows
        The rows, as requests share them.
    """

    ensemble: Ensemble
    background: Background
    all_names: tuple[str, ...]
    selected: Indices
    to_outputs: Callable[[Matrix], Matrix]
    pool: BlockPool
    rows: CountedRows

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the selected outputs."""
        return tuple(self.all_names[k] for k in self.selected)

    @cached_property
    def ranked(self) -> RankedRows:
        """The rows as cells."""
        return self.rows.ranked(self.background, self.pool)

    @cached_property
    def sums(self) -> Matrix:
        """Sums of the leaves that each row reaches: (n, n_targets)."""
        return self.rows.sums(self.background, self.pool)

    @cached_property
    def outputs(self) -> Matrix:
        """Predictions of the rows: (n, n_outputs); progress is reported block by block."""
        sums = self.rows.sums(self.background, self.pool, self._advance)
        predicted = self.to_outputs(sums)
        return check_finite(predicted, lambda rows: not_finite(self.background, rows))

    def _advance(self, rows: int) -> None:
        """Report planned rows as done."""
        self.pool.ledger.spend(rows, 0)

    def predict(self, codes: Int32Array) -> Matrix:
        """Predict rows given by their cells, (n_features, n): (n, n_outputs)."""
        return self.to_outputs(sum_leaves(self.ensemble, codes, self.pool))

    def individual(self, features: Sequence[int], cells: Int32Array) -> Cube:
        """Predict each row with features at cells, (n_features, n_points).

        Returns
        -------
        (n_rows, n_points, n_outputs)
        """
        step = max(1, _MAX_HYBRID_ROWS // cells.shape[1])
        starts = range(0, len(self.background), step)
        return np.concatenate([self._move(features, cells, slice(s, s + step)) for s in starts])

    def _move(self, features: Sequence[int], cells: Int32Array, rows: slice) -> Cube:
        """Predict some of the rows with features moved to cells, (n_features, n_points)."""
        own, n_points = self.ranked.codes[:, rows], cells.shape[1]
        codes = np.repeat(own, n_points, axis=1)
        codes[list(features)] = np.tile(cells, own.shape[1])
        predicted = self.predict(codes)
        self.pool.ledger.spend(len(predicted), 0)
        return predicted.reshape(own.shape[1], n_points, -1)

    @cached_property
    def _tested(self) -> TestedFeatures:
        descent = self.rows.descent()
        return TestedFeatures(self.ensemble, descent, self.ranked, self.pool)

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        """Predict with features permuted between rows, per permutation: (n_rows, n_outputs)."""
        self.pool.ledger.spend(sum(map(len, permutations)), 0)
        changes = self._tested.changes(features, permutations)
        if changes is not None:
            return [self.to_outputs(self.sums + each) for each in changes]
        return [self._permuted(features, permutation) for permutation in permutations]

    def _permuted(self, features: Sequence[int], permutation: Indices) -> Matrix:
        codes = self.ranked.codes.copy()
        for j in features:
            codes[j] = codes[j, permutation]
        return self.predict(codes)

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        """Predict mixed rows, as `Effects.mixed`."""
        theirs = cells_of(self.ensemble, explained, self.pool)
        codes = np.where(
            mixture.is_own.T, theirs[:, mixture.own], self.ranked.codes[:, mixture.others]
        )
        self.pool.ledger.spend(len(mixture.own), 0)
        predicted = self.predict(codes)
        return check_finite(predicted, lambda rows: not_finite_mixed(explained, mixture, rows))


class TreeEffects(ABC):
    """Base of the engines on trees: the part of `Effects` that does not depend on the link.

    Parameters
    ----------
    bound : BoundRows
    threads : ThreadPoolExecutor
    """

    def __init__(self, bound: BoundRows, threads: ThreadPoolExecutor) -> None:
        self._bound = bound
        self._ensemble = bound.ensemble
        self._outputs = bound.selected
        self._pool = bound.pool
        self._ledger = bound.pool.ledger
        self._threads = threads

    @property
    def background(self) -> Background:
        return self._bound.background

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._bound.output_names

    def release(self, rows: int) -> None:
        self._ledger.release(rows)

    def outputs(self) -> Matrix:
        return self._bound.outputs

    def batch_count(self, replicate_count: int) -> int:
        return 1 + replicate_count  # each replicate costs as much as the background's weights

    @abstractmethod
    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix: ...

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        return (self.curve(features, points) for features, points in requests)

    @property
    def categories(self) -> frozenset[int]:
        return self._ensemble.categories

    def breakpoints(self, feature: int) -> Vector:
        return self._ensemble.axes[feature].breakpoints()

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        pairs = zip(features, points, strict=True)
        cells = np.stack([self._ensemble.codes(j, values) for j, values in pairs])
        n, n_points = len(self._bound.background), cells.shape[1]
        is_line = len(features) == 1
        is_together = len(features) <= 2 and self._descend_together(1 if is_line else n_points)
        if not (is_line or is_together):
            return self._bound.individual(features, cells)
        if is_together:
            moved = self._planes.outputs(features, cells)
        else:
            distinct, inverse = np.unique(cells[0], return_inverse=True)
            moved = self._step_functions.outputs(features[0], distinct, self._pool)[:, inverse]
        self._ledger.spend(n * n_points, 0)
        return self._of_scores(moved)

    @property
    @abstractmethod
    def _scale(self) -> LinkScale:
        """Map from sums of leaves to scores, which give the outputs."""

    @abstractmethod
    def _of_scores(self, scores: Array) -> Array:
        """Compute the selected outputs from scores, or averages of them: (..., n_scores)."""

    def _descend_together(self, times: int = 1) -> bool:
        """Return whether it is faster if 64 rows descend at once, than each row so many times."""
        visits = len(self._bound.background) * len(self._ensemble.roots) * times
        return visits >= _FEWEST_VISITS * len(self._ensemble.leaf)

    @cached_property
    def _step_functions(self) -> StepFunctions:
        return StepFunctions(self._ensemble, self._scale, self._bound.ranked, self._bound.sums)

    @cached_property
    def _planes(self) -> Planes:
        return Planes(self._ensemble, self._scale, self._step_functions.rows, self._pool)

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        return self._bound.permuted(features, permutations)

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        return self._bound.mixed(explained, mixture)

    def exact_attributions(self) -> ExactAttributions | None:
        return None

    def cached(
        self,
        identity: bytes,  # noqa: ARG002 - numbers that need no prediction are not cached
        shape: tuple[int, int],  # noqa: ARG002 - likewise
        rows: int,  # noqa: ARG002 - likewise
        compute: Callable[[], Matrix],
    ) -> Matrix:
        return compute()
