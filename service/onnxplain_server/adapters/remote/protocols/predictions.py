"""Prediction columns of a remote model: what its answers must be, the same from call to call."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.core.arrays import Array

COLUMN_LIMIT = 100_000
"""Most columns of an input, or of predictions, that a server may tell."""


class PredictionColumns:
    """Prediction columns of one model, for the calls of one request.

    Parameters
    ----------
    stated_names : sequence of str
        From the request; empty: none.
    failures : ModelFailures
    """

    def __init__(self, stated_names: Sequence[str], failures: ModelFailures) -> None:
        self._stated = tuple(stated_names)
        self._failures = failures
        self._lock = threading.Lock()
        self._count = 0
        self._names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names: stated ones, the server's, or numbers; empty while their count is unknown."""
        return self._stated or self._names or tuple(map(str, range(self._count)))

    def expect(self, count: int, names: Sequence[str] = ()) -> None:
        """Take the number of columns that the server tells, and their names where it has some.

        Raises
        ------
        ExplainError
            INVALID_REQUEST if the request names another number; REMOTE_MODEL_ANSWER if it was
            another one before.
        """
        if count > COLUMN_LIMIT:
            fault = f"gives {count:,} prediction columns; at most {COLUMN_LIMIT:,} are taken"
            raise self._failures.answer(fault)
        if self._stated and len(self._stated) != count:
            raise self._failures.invalid(
                "output_names", f"has {count:,} prediction columns; {len(self._stated)} are named"
            )
        with self._lock:
            if self._count and self._count != count:
                fault = f"gives {count:,} prediction columns, but {self._count:,}"
                raise self._failures.answer(f"{fault} in an earlier answer or in its metadata")
            if names and self._names and tuple(names) != self._names:
                raise self._failures.answer("names other prediction columns than before")
            self._count = count
            self._names = tuple(names) or self._names

    def matrix(self, values: Array, row_count: int, names: Sequence[str] = ()) -> Array:
        """Return predictions as (n_rows, n_outputs), float32 or float64.

        Parameters
        ----------
        values : array of numbers
            (n_rows,), (n_rows, n_outputs), or these with dimensions of size 1 behind.
        row_count : int
            Rows that were sent.
        names : sequence of str
            Names of the columns, where the answer has some.
        """
        if values.ndim == 0 or values.shape[0] != row_count:
            size = "one number" if values.ndim == 0 else f"{values.shape[0]:,} rows"
            raise self._failures.answer(f"answers with {size} when {row_count:,} rows were sent")
        shape = list(values.shape)
        while len(shape) > 2 and shape[-1] == 1:
            shape.pop()
        if len(shape) > 2 or 0 in shape:
            raise self._failures.answer(
                f"answers with the shape {values.shape}; predictions are (rows,) or (rows, columns)"
            )
        columns = values.reshape(row_count, -1)
        self.expect(columns.shape[1], names)
        if values.dtype in {np.dtype(np.float32), np.dtype(np.float16)}:
            return columns.astype(np.float32, copy=False)
        return columns.astype(np.float64, copy=False)
