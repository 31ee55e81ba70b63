"""Values of a column as grids and groups ask for them: distinct ones, quantiles, missing ones."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.quantiles import sorted_quantiles


class ColumnDistribution(Protocol):
    """Values of a column, in memory or not."""

    @property
    def is_text(self) -> bool:
        """Return whether the values are str objects; else they are float64."""

    @property
    def is_whole(self) -> bool:
        """Return whether all numbers are whole ones."""

    @property
    def missing(self) -> Array:
        """The missing value, if the column has any: (1,) or (0,)."""

    def levels(self, limit: int) -> Array | None:
        """Return the distinct values that are not missing, ascending: (n_levels,).

        None may take the place of more than `limit` numbers; of text, all are returned.
        """

    def quantiles(self, probabilities: Vector) -> Vector:
        """Return quantiles of type 1 of numbers; missing ones are ignored."""


class SortedColumn:
    """Implements `ColumnDistribution` on values in memory.

    Parameters
    ----------
    column : (n_rows,)
        float64, or str objects.
    """

    def __init__(self, column: Array) -> None:
        self.is_text = column.dtype == object
        self._known, self.missing = sort_values(column)

    @property
    def is_whole(self) -> bool:
        return self.is_text or bool((self._known == np.floor(self._known)).all())

    def levels(self, limit: int) -> Array | None:  # noqa: ARG002 - all are at hand
        known = self._known
        return np.append(known[:1], known[1:][known[1:] != known[:-1]])

    def quantiles(self, probabilities: Vector) -> Vector:
        return sorted_quantiles(self._known, probabilities)


def sort_values(column: Array) -> tuple[Array, Array]:
    """Sort a column.

    Returns
    -------
    known : (n_known,)
        Ascending; text without duplicates.
    missing : (1,) or (0,)
        The missing value, if the column has any.
    """
    if column.dtype == object:
        levels = np.unique(column)
        is_missing = levels == ""
        return levels[~is_missing], levels[is_missing]
    ordered = np.sort(column)  # NaN last
    count = len(ordered) - int(np.count_nonzero(np.isnan(ordered)))
    return ordered[:count], ordered[count : count + 1]
