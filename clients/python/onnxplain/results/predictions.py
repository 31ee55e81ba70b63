"""Predictions of rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results import provenance
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular
from onnxplain.v1.explanation_service_pb2 import PredictResponse


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Predictions(Tabular):
    """Predictions of rows; made by `Client.predict`. `numpy.asarray` gives `values`.

    Attributes
    ----------
    output_names : tuple of str
        Names of the predicted outputs.
    row_indices : tuple of int
        The rows that were predicted, from 0 in the table.
    values : (n_rows, n_outputs)
        In the unit of each output; NaN where the model answers so.
    warnings : tuple of Warning
        What to know before trusting the predictions.
    message : PredictResponse
        The predictions as the contract has them.
    """

    output_names: tuple[str, ...]
    row_indices: tuple[int, ...]
    values: npt.NDArray[np.float64]
    warnings: tuple[provenance.Warning, ...]
    message: PredictResponse = field(repr=False)

    @classmethod
    def from_message(cls, message: PredictResponse) -> Predictions:
        """Read the message of the contract."""
        shape = len(message.row_indices), len(message.output_names)
        return read(
            cls,
            message,
            values=np.array(message.values, dtype=np.float64).reshape(shape),
            warnings=tuple(map(provenance.Warning.from_message, message.warnings)),
            message=message,
        )

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return `values`; a copy where `copy` asks for it."""
        values = np.asarray(self.values, dtype=dtype)
        return values.copy() if copy and values is self.values else values

    def __repr__(self) -> str:
        names = ", ".join(self.output_names)
        return f"Predictions of {len(self.row_indices):,} rows: {names}"

    def to_arrow(self) -> pa.Table:
        """Return one row per predicted row: its number, and a column for each output."""
        columns = {"row": pa.array(self.row_indices, pa.int64())}
        for name, values in zip(self.output_names, self.values.T, strict=True):
            columns[name if name != "row" else "row (output)"] = pa.array(values)
        return pa.table(columns)
