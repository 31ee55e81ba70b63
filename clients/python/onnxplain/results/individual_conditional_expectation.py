"""Results of `IndividualConditionalExpectation`: curves of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.columns import Values, feature_columns, from_column, stack
from onnxplain.results.origins import RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular, curves_frame, read_result
from onnxplain.v1 import explanation_service_pb2, individual_conditional_expectation_pb2
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)

if TYPE_CHECKING:
    import pandas as pd

_OWN_COLUMNS = ("curve", "row_index", "group", "group_1", "group_2", "output", "value")
_MOST_GROUP_COLUMNS = 2


@dataclass(frozen=True, slots=True, eq=False)
class IndividualConditionalExpectationCurves(Tabular):
    """Predictions of single rows over one grid.

    Attributes
    ----------
    features : tuple of str
        One, or those varied together.
    grid : tuple of (n_points,) arrays, one per feature
        float64, or str objects. Of several features the first varies fastest, where the
        grid was laid by the server.
    row_indices : (n_rows,)
        Rows that the curves belong to, counted from 0 in the table.
    groups : tuple of n_rows str
        The groups of each row, joined by " / "; empty where there are no group columns. Of two
        columns, a group that holds " / " itself is in quotation marks.
    group_labels : tuple of n_rows tuples of str
        The groups of each row, one for each group column.
    values : (n_rows, n_points, n_outputs)
        Unit of the output; relative to the middle of the grid where centred.
    output_names : tuple of str
    message : IndividualConditionalExpectationCurves
        As the server sent it.
    """

    features: tuple[str, ...]
    grid: tuple[Values, ...]
    row_indices: npt.NDArray[np.int32]
    groups: tuple[str, ...]
    group_labels: tuple[tuple[str, ...], ...]
    values: npt.NDArray[np.float64]
    output_names: tuple[str, ...]
    message: individual_conditional_expectation_pb2.IndividualConditionalExpectationCurves = field(
        repr=False
    )

    @classmethod
    def from_message(
        cls,
        message: individual_conditional_expectation_pb2.IndividualConditionalExpectationCurves,
        output_names: tuple[str, ...],
    ) -> IndividualConditionalExpectationCurves:
        """Read the message of the contract."""
        grid = tuple(from_column(column) for column in message.grid)
        shape = (len(message.row_indices), len(grid[0]), len(output_names))
        return read(
            cls,
            message,
            features=tuple(message.features) or (message.feature,),
            grid=grid,
            row_indices=np.array(message.row_indices, dtype=np.int32),
            group_labels=_by_row(message.group_labels, len(message.row_indices)),
            values=np.array(message.values).reshape(shape),
            output_names=output_names,
            message=message,
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per row of the table, grid point and output.

        Returns
        -------
        pyarrow.Table
            A column for each feature, then `row_index`, `group`, the same by each group column as
            `group_1` and `group_2`, `output`, `value`. A feature
            that is itself called like one of these, or "curve", gets " (feature)" after its
            name.
        """
        n_rows, n_points, n_outputs = self.values.shape
        columns = feature_columns(self.features, _OWN_COLUMNS)
        varied = {
            name: np.tile(np.repeat(values, n_outputs), n_rows)
            for name, values in zip(columns, self.grid, strict=True)
        }

        def of_rows(texts: Sequence[str | None]) -> pa.Array:
            own = np.array([*texts], dtype=object)
            return pa.array(np.repeat(own, n_points * n_outputs), pa.string())

        parts = [*zip(*self.group_labels, strict=True)]
        parts += [(None,) * n_rows] * (_MOST_GROUP_COLUMNS - len(parts))
        return pa.table(
            {
                **varied,
                "row_index": np.repeat(self.row_indices, n_points * n_outputs),
                "group": of_rows(self.groups),
                **{f"group_{k}": of_rows(part) for k, part in enumerate(parts, 1)},
                "output": pa.array(list(self.output_names) * (n_rows * n_points), pa.string()),
                "value": self.values.reshape(-1),
            }
        )


def _by_row(labels: Sequence[str], n_rows: int) -> tuple[tuple[str, ...], ...]:
    count = len(labels) // n_rows if n_rows else 0
    return tuple(tuple(labels[row * count : (row + 1) * count]) for row in range(n_rows))


@dataclass(frozen=True, slots=True, eq=False)
class IndividualConditionalExpectationResult(Tabular):
    """Curves of the predictions of single rows.

    Attributes
    ----------
    output_names : tuple of str
        The explained outputs, in the order of every array here.
    curves : tuple of IndividualConditionalExpectationCurves
        One entry per feature, then one per entry of `joint_features`, in the order asked for.
    plots : tuple of Plot
    options : IndividualConditionalExpectationOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : IndividualConditionalExpectationResult
        As the server sent it.

    Examples
    --------
    >>> curves = explanations.individual_conditional_expectation.curves[0]
    >>> curves.features, curves.values.shape
    (('age',), (100, 49, 1))
    """

    output_names: tuple[str, ...]
    curves: tuple[IndividualConditionalExpectationCurves, ...]
    plots: tuple[Plot, ...]
    options: IndividualConditionalExpectationOptions
    rows: RowsUsed | None
    message: individual_conditional_expectation_pb2.IndividualConditionalExpectationResult = field(
        repr=False
    )

    @classmethod
    def from_message(
        cls, message: explanation_service_pb2.Explanation
    ) -> IndividualConditionalExpectationResult:
        """Read the message of the contract."""
        result = message.individual_conditional_expectation
        names = tuple(result.output_names)
        from_message = IndividualConditionalExpectationCurves.from_message
        curves = tuple(from_message(curves, names) for curves in result.curves)
        return read_result(cls, message, curves=curves)

    def to_arrow(self) -> pa.Table:
        """Concatenate the rows of all curves.

        Returns
        -------
        pyarrow.Table
            First `curve`, the index in `curves`; then the columns of
            `IndividualConditionalExpectationCurves.to_arrow`, null for the other features.
        """
        return stack([curves.to_arrow() for curves in self.curves], _OWN_COLUMNS)

    def _frame(self) -> pd.DataFrame:
        """Return a column `at` for the values of all features; see `curves_frame`."""
        return curves_frame(self.curves, _OWN_COLUMNS)
