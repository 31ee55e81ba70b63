"""Predictions of rows of a table, and their comparison with what a library predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results import origins
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular
from onnxplain.v1 import prediction_comparison_pb2 as comparison_pb2
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
    warnings: tuple[origins.Warning, ...]
    message: PredictResponse = field(repr=False)

    @classmethod
    def from_message(cls, message: PredictResponse) -> Predictions:
        """Read the message of the contract."""
        shape = len(message.row_indices), len(message.output_names)
        return read(
            cls,
            message,
            values=np.array(message.values, dtype=np.float64).reshape(shape),
            warnings=tuple(map(origins.Warning.from_message, message.warnings)),
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


@dataclass(frozen=True, slots=True)
class LikelyCause:
    """Cause that explains differences.

    Attributes
    ----------
    kind : str
        Like "FEATURE_ORDER" or "THRESHOLD_ROUNDING".
    message : str
        What it means here, and what can be done.
    explained_row_count : int
        Rows among those tried that it explains.
    tried_row_count : int
    """

    kind: str
    message: str
    explained_row_count: int
    tried_row_count: int


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """Comparison of one output.

    Attributes
    ----------
    output_name : str
    expected_column : str
        Column with the expected predictions.
    largest_difference, median_difference : float
        Absolute, in the unit of the output.
    rounding : float
        Difference up to which predictions agree.
    differing_row_count : int
    """

    output_name: str
    expected_column: str
    largest_difference: float
    median_difference: float
    rounding: float
    differing_row_count: int


@dataclass(frozen=True, slots=True, eq=False)
class DifferingRow:
    """Row whose predictions differ.

    Attributes
    ----------
    row_index : int
        From 0 in the table.
    expected, predicted : (n_outputs,)
    """

    row_index: int
    expected: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictionComparison(Tabular):
    """Comparison of a model with what its library predicted; made by `Client.check`.

    Attributes
    ----------
    agrees : bool
        Whether no prediction differs by more than rounding.
    row_count, differing_row_count : int
    outputs : tuple of OutputComparison
    differing_rows : tuple of DifferingRow
        Those that differ most, at most 10.
    likely_causes : tuple of LikelyCause
    warnings : tuple of Warning
        What to know beside it; empty in a receipt, whose answer has them.
    message : PredictionComparison
        The comparison as the contract has it.
    """

    agrees: bool
    row_count: int
    differing_row_count: int
    outputs: tuple[OutputComparison, ...]
    differing_rows: tuple[DifferingRow, ...]
    likely_causes: tuple[LikelyCause, ...]
    warnings: tuple[origins.Warning, ...]
    message: comparison_pb2.PredictionComparison = field(repr=False)

    @classmethod
    def from_message(
        cls, message: comparison_pb2.PredictionComparison, warnings: Iterable[Any] = ()
    ) -> PredictionComparison:
        """Read the message of the contract."""
        return read(
            cls,
            message,
            outputs=tuple(read(OutputComparison, each) for each in message.outputs),
            differing_rows=tuple(read(DifferingRow, each) for each in message.differing_rows),
            likely_causes=tuple(read(LikelyCause, each) for each in message.likely_causes),
            warnings=tuple(map(origins.Warning.from_message, warnings)),
            message=message,
        )

    def __repr__(self) -> str:
        count, is_one = self.row_count, self.row_count == 1
        if self.agrees:
            agreeing = "the only row agrees" if is_one else f"all {count:,} rows agree"
            return f"PredictionComparison: {agreeing}"
        causes = "".join(f"\n{cause.message}" for cause in self.likely_causes)
        rows = "the only row" if is_one else f"{self.differing_row_count:,} of {count:,} rows"
        differ = "differs" if self.differing_row_count == 1 else "differ"
        return (
            f"PredictionComparison: {rows} {differ}, by up to {self.largest_difference:.3g}{causes}"
        )

    @property
    def largest_difference(self) -> float:
        """Largest absolute difference of all outputs."""
        return max((each.largest_difference for each in self.outputs), default=0.0)

    def to_arrow(self) -> pa.Table:
        """Return one row per output: its differences, and how much is rounding."""
        names: Sequence[str] = OutputComparison.__slots__
        return pa.table({name: [getattr(each, name) for each in self.outputs] for name in names})
