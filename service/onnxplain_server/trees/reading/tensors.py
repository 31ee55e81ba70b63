"""Tensors of a graph as the trees engine understands them: feature columns, scores or opaque."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.tensor_columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class FeatureColumns:
    """Tensor before the trees: (n_rows, n_columns), each column a function of one feature."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Tensor after the trees: (n_rows, n_columns), affine in targets or in exponentials.

    Attributes
    ----------
    matrix : (n_columns, n_targets)
        Targets visited so far: sums of leaves of tree operators, and feature columns that linear
        functions take; or exponentials likewise.
    offset : (n_columns,)
    is_exponential : bool
        Whether the columns are affine in exponentials of sums, and not in the sums.
    is_stack : bool
        Whether each column is a layer of the tensor, (n_columns, n_rows, 1).
    """

    matrix: Matrix
    offset: Vector
    is_exponential: bool = False
    is_stack: bool = False

    def wide(self, target_count: int) -> Scores:
        """Return the same scores over `target_count` targets."""
        matrix = np.zeros((len(self.matrix), target_count))
        matrix[:, : self.matrix.shape[1]] = self.matrix
        return replace(self, matrix=matrix)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Any other tensor.

    Attributes
    ----------
    reason : str
        Reason of the refusal if an output needs this tensor.
    feeds_trees : bool
        Whether trees are between it and the operator that the reason names.
    """

    reason: str
    feeds_trees: bool = False

    def beside_trees(self) -> Opaque:
        """Return the same tensor where it meets scores, or is an output."""
        if self.feeds_trees:
            return self
        return replace(self, reason=self.reason.replace(BEFORE_TREES, "beside its trees"))


BEFORE_TREES = "before its trees"
"""End of the reasons of operators on features, as long as they may feed trees."""

Tensor: TypeAlias = FeatureColumns | Scores | Opaque | Array
"""An array is a constant."""
