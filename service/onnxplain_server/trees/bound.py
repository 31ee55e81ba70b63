"""Rows bound to trees: what the engines on sums of trees and on links of sums have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.predictor import check_finite, describe_rows
from onnxplain_server.trees.counting.ranked_rows import RankedRows, rank_rows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.ensemble import Ensemble, Int32Array

_HYBRIDS = 1 << 18
"""Rows with moved features that are predicted at once."""


@dataclass(frozen=True, eq=False)
class BoundRows:
    """Rows as trees see them, and what a model makes of the sums.

    Attributes
    ----------
    ensemble : Ensemble
    background : Background
    all_names : tuple of str
        Of all outputs of the model.
    wanted : (n_outputs,)
        Which of them are wanted.
    answer : callable ((n, n_targets)) -> (n, n_outputs)
        The wanted outputs, from what the trees add up.
    pool : BlockPool
    """

    ensemble: Ensemble
    background: Background
    all_names: tuple[str, ...]
    wanted: Indices
    answer: Callable[[Matrix], Matrix]
    pool: BlockPool

    @property
    def output_names(self) -> tuple[str, ...]:
        """See `Effects.output_names`."""
        return tuple(self.all_names[k] for k in self.wanted)

    @cached_property
    def ranked(self) -> RankedRows:
        """The rows as cells."""
        return rank_rows(self.ensemble, self.background)

    @cached_property
    def sums(self) -> Matrix:
        """What the trees add up for each row: (n, n_targets)."""
        return sum_leaves(self.ensemble, self.ranked.codes, self.pool)

    @cached_property
    def outputs(self) -> Matrix:
        """See `Effects.outputs`."""
        predicted = self.answer(self.sums)
        self.pool.ledger.spend(len(predicted), 0)
        return check_finite(
            predicted,
            lambda rows: (
                "the model's prediction is not finite for "
                f"{describe_rows(self.background, rows)}; mend the model"
            ),
        )

    def predict(self, codes: Int32Array) -> Matrix:
        """Outputs of rows that are given by their cells, (n_features, n): (n, n_outputs)."""
        return self.answer(sum_leaves(self.ensemble, codes, self.pool))

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """See `Effects.individual`."""
        pairs = zip(features, points, strict=True)
        cells = np.stack([self.ensemble.codes(j, values) for j, values in pairs])
        step = max(1, _HYBRIDS // cells.shape[1])
        starts = range(0, len(self.background), step)
        return np.concatenate([self._move(features, cells, slice(s, s + step)) for s in starts])

    def _move(self, features: Sequence[int], cells: Int32Array, rows: slice) -> Cube:
        """As `individual`, for some of the rows, with the features in cells."""
        own, n_points = self.ranked.codes[:, rows], cells.shape[1]
        codes = np.repeat(own, n_points, axis=1)
        codes[list(features)] = np.tile(cells, own.shape[1])
        predicted = self.predict(codes)
        self.pool.ledger.spend(len(predicted), 0)
        return predicted.reshape(own.shape[1], n_points, -1)

    def permuted(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """See `Effects.permuted`."""
        return [self._exchange(features, order) for order in orders]

    def _exchange(self, features: Sequence[int], order: Indices) -> Matrix:
        codes = self.ranked.codes.copy()
        for j in features:
            codes[j] = codes[j, order]
        self.pool.ledger.spend(len(order), 0)
        return self.predict(codes)
