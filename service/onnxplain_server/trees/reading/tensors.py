"""Tensors of a graph as the trees engine understands them: feature columns, scores or opaque."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Tensor after the trees: (n_rows, n_columns), affine in the sums of leaves.

    Attributes
    ----------
    matrix : (n_columns, n_targets)
        Targets of all tree operators visited so far, in their order.
    offset : (n_columns,)
    """

    matrix: Matrix
    offset: Vector

    def wide(self, target_count: int) -> Scores:
        """Return the same scores over `target_count` targets."""
        matrix = np.zeros((len(self.matrix), target_count))
        matrix[:, : self.matrix.shape[1]] = self.matrix
        return Scores(matrix, self.offset)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Any other tensor.

    Attributes
    ----------
    reason : str
        Reason of the refusal if an output needs this tensor.
    """

    reason: str


Tensor: TypeAlias = FeatureColumns | Scores | Opaque | Array
"""An array is a constant."""
