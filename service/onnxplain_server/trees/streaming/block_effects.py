"""Effects at the rows of one block, which average over all rows of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Int32Matrix, Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Joint, Single
from onnxplain_server.effects.row_predictions import check_finite, not_finite
from onnxplain_server.trees.counting.all_but_one import all_but_one_effects
from onnxplain_server.trees.counting.descent_counting import DescentCounter
from onnxplain_server.trees.counting.ranked_rows import RankedRows, number_sets, rank_rows
from onnxplain_server.trees.groups import parts_of
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.streaming.counts import Group, TreeCounts
from onnxplain_server.trees.streaming.pure_tables import PureTables

_MAX_EFFECT_BYTES = 64 << 20
"""Size of the all-but-one effects that are computed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class AffineOutputs:
    """Outputs of an ensemble that are explained: affine functions of the sums of leaves.

    Attributes
    ----------
    matrix : (n_outputs, n_targets)
    offset : (n_outputs,)
    names : tuple of str
    selected : (n_outputs,)
        Their positions among all outputs.
    """

    matrix: Matrix
    offset: Vector
    names: tuple[str, ...]
    selected: Indices

    @classmethod
    def of(cls, ensemble: Ensemble, all_names: Sequence[str], selected: Indices) -> AffineOutputs:
        """Select outputs of an ensemble by their positions."""
        names = tuple(all_names[k] for k in selected)
        return cls(ensemble.matrix[selected], ensemble.offset[selected], names, selected)

    def whole(self, targets: Matrix) -> Matrix:
        """Compute outputs from sums of leaves: (n, n_targets) to (n, n_outputs)."""
        return self.difference(targets) + self.offset

    def difference(self, targets: Array) -> Array:
        """Compute differences of outputs from differences of sums of leaves; these, if equal.

        Targets are the last axis.
        """
        if np.array_equal(self.matrix, np.eye(len(self.matrix), targets.shape[-1])):
            return targets
        difference: Array = targets @ self.matrix.T
        return difference


def predict_rows(
    leaves: Leaves,
    outputs: AffineOutputs,
    background: Background,
    codes: Int32Matrix,
    pool: BlockPool,
) -> Matrix:
    """Predict rows: (n, n_outputs).

    Parameters
    ----------
    codes : (n_features, n)
        Cells of the rows.

    Raises
    ------
    ExplainError
        NON_FINITE_PREDICTION.
    """
    sums = sum_leaves(leaves.ensemble, codes, pool, descent=leaves.descent())
    return check_finite(outputs.whole(sums), lambda rows: not_finite(background, rows))


class BlockEffects:
    """Effects at the rows of one block; what it computes is not memoized.

    Parameters
    ----------
    ensemble : Ensemble
    outputs : AffineOutputs
    counts : TreeCounts
        Of all rows.
    tables : PureTables
        Of the groups that are asked for, and of their parts.
    background : Background
        Rows of the block.
    pool : BlockPool
    """

    def __init__(
        self,
        ensemble: Ensemble,
        outputs: AffineOutputs,
        counts: TreeCounts,
        tables: PureTables,
        background: Background,
        pool: BlockPool,
    ) -> None:
        self.background = background
        self._ensemble = ensemble
        self._outputs = outputs
        self._counts = counts
        self._tables = tables
        self._pool = pool
        ranked = rank_rows(ensemble, background, pool, total=counts.weight)
        self._ranked: RankedRows = replace(ranked, below=counts.below)

    @property
    def weights(self) -> Vector:
        """Weights of the rows: (n,)."""
        return self.background.weights

    def outputs(self) -> Matrix:
        """Predict the rows: (n, n_outputs)."""
        leaves, pool = self._counts.leaves, self._pool
        return predict_rows(leaves, self._outputs, self.background, self._ranked.codes, pool)

    def single(self, features: Sequence[int]) -> Iterator[Single]:
        """Compute effects of single features, as `Effects.single` does."""
        others = self._spread if self._counts.spreads else self._all_but_one
        for j, rest in others(features):
            own = self._counts.mean + self._tables.at((j,), self._ranked.codes)
            yield Single(j, self._outputs.whole(own), self._outputs.whole(rest))

    def joint(self, groups: Sequence[Group]) -> Iterator[Joint]:
        """Compute effects of pairs or triples, as `Effects.joint` does."""
        for group in groups:
            whole = self._counts.mean
            for part in parts_of(group):
                pure = self._tables.at(part, self._ranked.codes)
                whole = whole + pure
            yield Joint(group, self._outputs.whole(whole), self._outputs.difference(pure))

    def _all_but_one(self, features: Sequence[int]) -> Iterator[tuple[int, Matrix]]:
        r"""Compute F_\j by bitsets of rows, of several features at once."""
        boxes, ranked = self._counts.boxes, self._ranked
        numbers = number_sets(self._ensemble, list(ranked.codes), range(len(ranked.codes)))
        step = max(1, _MAX_EFFECT_BYTES // (8 * len(ranked) * boxes.values.shape[1]))
        for start in range(0, len(features), step):
            part = features[start : start + step]
            yield from zip(
                part, all_but_one_effects(boxes, ranked, numbers, part, self._pool), strict=True
            )

    def _spread(self, features: Sequence[int]) -> Iterator[tuple[int, Matrix]]:
        r"""Compute F_\j as rows descend, feature by feature."""
        boxes, descent = self._counts.boxes, self._counts.leaves.descent()
        counter = DescentCounter(self._ensemble, descent, boxes, self._ranked)
        for j in features:
            leaves, conditions = boxes.with_all((j,))
            yield j, counter.count((j,), leaves, conditions, with_others=True)[2]
