"""Sums of leaves at rows, added block by block to the outputs of all rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Int32Matrix
from onnxplain_server.trees.kernels.block_pool import BlockPool, blocks

ToOutputs: TypeAlias = Callable[[Array], Array]
"""Linear map from sums of leaves to outputs: (..., n_targets) to (..., n_outputs)."""
_ROWS, _FEWEST_ROWS = 1024, 32
"""Rows per block, and of one whose rows have very many numbers."""
_BLOCK_NUMBERS = 1 << 21
"""Numbers of a block: 16 MiB, as blocks stand beside the numbers of all rows."""


class RowSums:
    """Numbers of rows as outputs, made of sums of leaves.

    Beside the outputs of all rows, there are the sums of the blocks that are computed at the time.

    Parameters
    ----------
    codes : (n_features, n)
        Cells of the rows.
    target_count, number_count : int
    to_outputs : callable
    pool : BlockPool

    Attributes
    ----------
    values : (n, n_numbers, n_outputs)
    """

    def __init__(
        self,
        codes: Int32Matrix,
        target_count: int,
        number_count: int,
        to_outputs: ToOutputs,
        pool: BlockPool,
    ) -> None:
        self._codes = codes
        self._shape = target_count, number_count
        self._to_outputs = to_outputs
        self._pool = pool
        output_count = to_outputs(np.zeros((1, target_count))).shape[1]
        self.values: Cube = np.zeros((codes.shape[1], number_count, output_count))

    def add(self, compute: Callable[[Int32Matrix, Cube], None]) -> None:
        """Add sums of leaves to all rows.

        Parameters
        ----------
        compute : callable (codes, sums) -> None
            Adds them for the rows of a block: (n_targets, n_numbers, n_rows).
        """

        def add_block(span: tuple[int, int]) -> None:
            first, last = span
            sums = np.zeros((*self._shape, last - first))
            compute(np.ascontiguousarray(self._codes[:, first:last]), sums)
            self.values[first:last] += self._to_outputs(sums.T)

        rows = _BLOCK_NUMBERS // max(math.prod(self._shape), 1)
        size = min(max(rows, _FEWEST_ROWS), _ROWS)
        self._pool.run(add_block, blocks(self._codes.shape[1], size))
