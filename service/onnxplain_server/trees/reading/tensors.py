"""What a tensor of a graph is, as far as the trees engine understands it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.tensor_columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class FeatureColumns:
    """(n_rows, n_columns), each column a function of one feature, before any tree."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """(n_rows, n_columns), affine in what the trees add up.

    Attributes
    ----------
    matrix : (n_columns, n_targets)
        Targets of all tree operators met so far, in their order.
    offset : (n_columns,)
    """

    matrix: Matrix
    offset: Vector

    def wide(self, target_count: int) -> Scores:
        """The same, with room for so many targets."""
        matrix = np.zeros((len(self.matrix), target_count))
        matrix[:, : self.matrix.shape[1]] = self.matrix
        return Scores(matrix, self.offset)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Anything else.

    Attributes
    ----------
    reason : str
        Why the engine does not apply where an output needs this tensor.
    """

    reason: str


Tensor: TypeAlias = FeatureColumns | Scores | Opaque | Array
"""An array is a constant."""
