"""Feature axis: values mapped to ordered integer keys, which the trees cut into cells.

Numbers keep their order, a missing value comes after all of them, and text is its position among
the categories that the model knows. Within a cell, every comparison of the model has the same
result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.trees.reading.tensor_columns import DType

Keys = npt.NDArray[np.int64]
"""(n,)"""

FIRST = np.iinfo(np.int64).min
"""Before all keys."""
MISSING = np.iinfo(np.int64).max - 1
"""Key of a missing value, after those of all numbers."""
END = np.iinfo(np.int64).max
"""After all keys."""
_WHOLE = 2.0**53


def key_of(values: Vector) -> Keys:
    """Map float64 values to integers in the same order: (n,)."""
    bits = (values + 0.0).view(np.int64)  # −0 becomes 0
    keys = np.where(bits < 0, np.int64(FIRST) - bits, bits)
    return np.where(np.isnan(values), MISSING, keys)


def value_of(keys: Keys) -> Vector:
    """Return the float64 values that have these keys."""
    bits = np.where(keys < 0, np.int64(FIRST) - keys, keys)
    values: Vector = bits.view(np.float64)
    return values


def range_of(dtype: DType) -> tuple[int, int]:
    """Return the keys of the least and the greatest number of a type."""
    if dtype.kind == "f":
        low, high = -np.inf, np.inf
    elif dtype.kind == "b":
        low, high = 0.0, 1.0
    else:
        info = np.iinfo(dtype)
        low, high = max(float(info.min), -_WHOLE), min(float(info.max), _WHOLE)
    ends = key_of(np.array([low, high]))
    return int(ends[0]), int(ends[1])


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Keys and cells of one feature.

    Attributes
    ----------
    dtype : numpy dtype
        Type in which the model takes the feature.
    categories : (n_categories,) or None
        Categories that the model knows of a text feature, ascending.
    cuts : (n_cells - 1,)
        Keys at which new cells start, ascending; the last is `MISSING`.
    accepted : tuple of (lows, highs)
        Runs of keys outside which the model refuses to predict; empty if it accepts all.
    """

    dtype: DType
    categories: Array | None
    cuts: Keys
    accepted: tuple[tuple[Keys, Keys], ...]

    def keys(self, values: Array) -> Keys:
        """Return the keys of text, or of numbers in the model's type."""
        if self.categories is None:
            return key_of(values.astype(np.float64))
        place = np.searchsorted(self.categories, values)
        inside = place.clip(max=max(len(self.categories) - 1, 0))
        is_known = len(self.categories) > 0 and self.categories[inside] == values
        return np.where(is_known, inside, len(self.categories)).astype(np.int64)

    def cells(self, values: Array) -> Indices:
        """Return the cell of each value: (n,), from 0.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED for a category that the model refuses.
        """
        keys = self.keys(values)
        refused = self._next_accepted(keys) != keys
        if refused.any():
            value = values[refused][0]
            message = f"The model refuses {value!r}, which is not one of its categories."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return np.searchsorted(self.cuts, keys, side="right")

    def breakpoints(self) -> Vector:
        """Return the least number in each cell but the first: (n,), ascending; none for text.

        The numbers are exact in the feature's type. Cells without a number of this type are left
        out, and numbers that the model refuses are skipped.
        """
        if self.categories is not None:
            return np.zeros(0)
        keys = self._next_accepted(self.cuts)
        with np.errstate(over="ignore"):  # infinity beyond the largest number of a type
            # Cuts were found by casting, so casting a cut gives the first number of its cell.
            cast = value_of(keys[keys < MISSING]).astype(self.dtype)
        return np.unique(cast.astype(np.float64))

    def _next_accepted(self, keys: Keys) -> Keys:
        """Move keys that the model refuses up to the next accepted one, or to `END`."""
        while True:
            before = keys
            for lows, highs in self.accepted:
                place = np.searchsorted(lows, keys, side="right") - 1
                refused = (place < 0) | (keys >= highs[place])
                keys = np.where(refused, np.append(lows, END)[place + 1], keys)
            if (keys == before).all():
                return keys
