"""Linear part: what linear functions of feature columns add to the sums over trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.effects.background import distinct
from onnxplain_server.trees.reading.tensor_columns import Column, Lookup


@dataclass(frozen=True, eq=False)
class LinearPart:
    """Linear functions of columns, of which each is a function of one feature.

    So the part of each feature adds to the outputs, and does not interact.

    Attributes
    ----------
    columns : tuple of Column
    coefficients : (n_outputs, n_columns)
    """

    columns: tuple[Column, ...]
    coefficients: Matrix

    @cached_property
    def features(self) -> tuple[int, ...]:
        """Features of the columns, ascending."""
        return tuple(sorted({column.feature for column in self.columns}))

    def select(self, outputs: Indices) -> LinearPart:
        """Return the part of some outputs."""
        return replace(self, coefficients=self.coefficients[outputs])

    def at(self, feature: int, values: Array) -> Matrix:
        """Compute the part of a feature at values in the model's type: (n, n_outputs)."""
        own = [(i, c) for i, c in enumerate(self.columns) if c.feature == feature]
        if any(isinstance(column, Lookup) for _, column in own):
            levels, codes = distinct(values)  # one of many categories has a column each
            return self._sum(own, levels)[codes]
        return self._sum(own, values)

    def _sum(self, own: Sequence[tuple[int, Column]], values: Array) -> Matrix:
        total = np.zeros((len(values), len(self.coefficients)))
        with np.errstate(invalid="ignore"):  # infinity times 0
            for i, column in own:
                total += np.outer(column(values).astype(np.float64), self.coefficients[:, i])
        return total

    def size(self, columns: Sequence[Array]) -> Vector:
        """Bound the absolute sum of the terms of any row: (n_outputs,).

        Parameters
        ----------
        columns : sequence of (n_rows,)
            The rows, by feature, in the model's types.
        """
        largest = [np.abs(self._numbers(c, columns)).max(initial=0) for c in self.columns]
        bound: Vector = np.abs(self.coefficients) @ np.array(largest)
        return bound

    def not_finite(self, columns: Sequence[Array]) -> Iterator[int]:
        """Yield the features of columns with a value that is missing or infinite.

        Whatever their coefficients are, because 0 times such a value is no number.
        """
        for column in self.columns:
            if not np.isfinite(self._numbers(column, columns)).all():
                yield column.feature

    @staticmethod
    def _numbers(column: Column, columns: Sequence[Array]) -> Array:
        """Return the numbers of a column, or all that a lookup may give."""
        if isinstance(column, Lookup):
            return column.values.astype(np.float64)
        return column(columns[column.feature]).astype(np.float64)
