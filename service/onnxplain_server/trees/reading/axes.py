"""The values of a feature on one line of whole numbers, cut into cells by the trees.

Each value has a key: numbers in their order, a missing value after all of them, and text by its
place among the categories that the model knows. Cuts divide the keys into cells, in each of which
every comparison of the model comes out the same.
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
    """Number float64 values so that the numbers are in the same order: (n,)."""
    bits = (values + 0.0).view(np.int64)  # −0 becomes 0
    keys = np.where(bits < 0, np.int64(FIRST) - bits, bits)
    return np.where(np.isnan(values), MISSING, keys)


def value_of(keys: Keys) -> Vector:
    """Return the float64 values that have these keys."""
    bits = np.where(keys < 0, np.int64(FIRST) - keys, keys)
    values: Vector = bits.view(np.float64)
    return values


def range_of(dtype: DType) -> tuple[int, int]:
    """Return the keys of the least and the largest number of a type."""
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
    """One feature's line.

    Attributes
    ----------
    dtype : numpy dtype
        In which the model takes the feature.
    categories : (n_categories,) or None
        Of a feature that is text: what the model knows, ascending.
    cuts : (n_cells - 1,)
        Keys at which a new cell starts, ascending; the last one is `MISSING`.
    known : tuple of (lows, highs)
        Runs of keys outside which the model refuses to predict; empty where it takes any.
    """

    dtype: DType
    categories: Array | None
    cuts: Keys
    known: tuple[tuple[Keys, Keys], ...]

    def keys(self, values: Array) -> Keys:
        """Return the keys of values: text, or numbers in the model's type."""
        if self.categories is None:
            return key_of(values.astype(np.float64))
        place = np.searchsorted(self.categories, values)
        inside = place.clip(max=max(len(self.categories) - 1, 0))
        found = len(self.categories) > 0 and self.categories[inside] == values
        return np.where(found, inside, len(self.categories)).astype(np.int64)

    def cells(self, values: Array) -> Indices:
        """Return the cell of each value: (n,), from 0.

        Raises
        ------
        ExplainError
            PREDICTION_FAILED for a category that the model refuses.
        """
        keys = self.keys(values)
        refused = self._accepted(keys) != keys
        if refused.any():
            value = values[refused][0]
            message = f"The model refuses {value!r}: it is no category that it knows."
            raise ExplainError(Reason.PREDICTION_FAILED, message)
        return np.searchsorted(self.cuts, keys, side="right")

    def breakpoints(self) -> Vector:
        """Return the least number in each cell but the first: (n,), ascending; of text, none.

        In the type in which the model takes the feature. Cells that hold no number of this
        type are left out, and numbers that the model refuses are passed over.
        """
        if self.categories is not None:
            return np.zeros(0)
        keys = self._accepted(self.cuts)
        with np.errstate(over="ignore"):  # beyond the largest number of a type is infinity
            # Cuts were found by casting: so cast, a cut becomes the first number of its cell.
            cast = value_of(keys[keys < MISSING]).astype(self.dtype)
        return np.unique(cast.astype(np.float64))

    def _accepted(self, keys: Keys) -> Keys:
        """Move keys that the model refuses up to the next one that it takes, or to `END`."""
        while True:
            before = keys
            for lows, highs in self.known:
                place = np.searchsorted(lows, keys, side="right") - 1
                refused = (place < 0) | (keys >= highs[place])
                keys = np.where(refused, np.append(lows, END)[place + 1], keys)
            if (keys == before).all():
                return keys
