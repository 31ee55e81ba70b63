"""Results of `AccumulatedLocalEffects`: differences along features between rows as they occur."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.columns import Values, feature_columns, from_column, stack
from onnxplain.results.origins import Conclusion, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.results.tabular import (
    BAND_COLUMNS,
    BAND_FIELDS,
    Tabular,
    band_columns,
    curves_frame,
    read_result,
)
from onnxplain.v1 import accumulated_local_effects_pb2, explanation_service_pb2
from onnxplain.v1.accumulated_local_effects_pb2 import AccumulatedLocalEffectsOptions

if TYPE_CHECKING:
    import pandas as pd

_OWN_COLUMNS = ("curve", "group", "output", "value", *BAND_COLUMNS)


@dataclass(frozen=True, slots=True, eq=False)
class AccumulatedLocalEffect(Tabular):
    """Accumulated local effects along one feature, or of two together beyond those of each.

    Attributes
    ----------
    features : tuple of str
    group : str
        The group of rows; empty where rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        float64, or str objects. Of two features the first varies fastest.
    values : (n_points, n_outputs)
        Their mean over the rows is 0; unit of the output.
    mean_predictions : (n_outputs,)
        Of the rows; added to `values`, on the scale of partial dependence.
    weight, missing_weight : float
        Total weight of the rows with a value of the feature, and of those without.
    bin_weights : (n_points - 1,), or (n_cells,) of two features
        Weights of the rows that tell the difference between a point and the next one, or that lie
        in each cell.
    row_weights : (n_points,)
        Weights of the rows at each point, shared between points.
    output_names : tuple of str
    standard_errors, lower, upper : (n_points, n_outputs)
        Of each point by itself; (0, n_outputs) without replicates.
    simultaneous_lower, simultaneous_upper : (n_points, n_outputs)
        Ends of the band that holds all values of an output at once; likewise.
    message : AccumulatedLocalEffect
        As the server sent it.
    """

    features: tuple[str, ...]
    group: str
    grid: tuple[Values, ...]
    values: npt.NDArray[np.float64]
    mean_predictions: npt.NDArray[np.float64]
    weight: float
    missing_weight: float
    bin_weights: npt.NDArray[np.float64]
    row_weights: npt.NDArray[np.float64]
    output_names: tuple[str, ...]
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    simultaneous_lower: npt.NDArray[np.float64]
    simultaneous_upper: npt.NDArray[np.float64]
    message: accumulated_local_effects_pb2.AccumulatedLocalEffect = field(repr=False)

    @classmethod
    def from_message(
        cls,
        message: accumulated_local_effects_pb2.AccumulatedLocalEffect,
        output_names: tuple[str, ...],
    ) -> AccumulatedLocalEffect:
        """Read the message of the contract."""
        by_point = {
            name: np.array(getattr(message, name)).reshape(-1, len(output_names))
            for name in ("values", *BAND_FIELDS)
        }
        grid = tuple(from_column(column) for column in message.grid)
        return read(cls, message, grid=grid, output_names=output_names, message=message, **by_point)

    def to_arrow(self) -> pa.Table:
        """Return one row per grid point and output.

        Returns
        -------
        pyarrow.Table
            A column for each feature, then `group`, `output`, `value`, `standard_error`, `lower`,
            `upper`, `simultaneous_lower` and `simultaneous_upper`, which are null without
            replicates. A feature with one of these names, or "curve", gets " (feature)" after its
            name.
        """
        n_points, n_outputs = self.values.shape
        names = feature_columns(self.features, _OWN_COLUMNS)
        columns = {
            name: pa.array(np.repeat(values, n_outputs))
            for name, values in zip(names, self.grid, strict=True)
        }
        columns["group"] = pa.array([self.group] * self.values.size, pa.string())
        columns["output"] = pa.array(list(self.output_names) * n_points, pa.string())
        columns["value"] = pa.array(self.values.reshape(-1))
        return pa.table({**columns, **band_columns(self)})


@dataclass(frozen=True, slots=True, eq=False)
class AccumulatedLocalEffectsResult(Tabular):
    """Accumulated local effects.

    Attributes
    ----------
    output_names : tuple of str
        The explained outputs, in the order of every array here.
    curves : tuple of AccumulatedLocalEffect
        In the order of the request, each by its groups.
    confidence_level : float
        Of the intervals; 0 without any.
    plots : tuple of Plot
    options : AccumulatedLocalEffectsOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : AccumulatedLocalEffectsResult
        As the server sent it.
    conclusions : tuple of Conclusion
        What also holds in the replicates of the rows; empty without these.

    Examples
    --------
    >>> curve = explanations.accumulated_local_effects.curves[0]
    >>> curve.features, curve.grid[0].shape, curve.values.shape
    (('age',), (21,), (21, 1))
    """

    output_names: tuple[str, ...]
    curves: tuple[AccumulatedLocalEffect, ...]
    confidence_level: float
    plots: tuple[Plot, ...]
    options: AccumulatedLocalEffectsOptions
    rows: RowsUsed | None
    message: accumulated_local_effects_pb2.AccumulatedLocalEffectsResult = field(repr=False)
    conclusions: tuple[Conclusion, ...] = ()

    @classmethod
    def from_message(
        cls, message: explanation_service_pb2.Explanation
    ) -> AccumulatedLocalEffectsResult:
        """Read the message of the contract."""
        result = message.accumulated_local_effects
        names = tuple(result.output_names)
        curves = tuple(AccumulatedLocalEffect.from_message(curve, names) for curve in result.curves)
        return read_result(cls, message, curves=curves)

    def to_arrow(self) -> pa.Table:
        """Concatenate the rows of all curves.

        Returns
        -------
        pyarrow.Table
            First `curve`, its index in `curves`; then the columns of
            `AccumulatedLocalEffect.to_arrow`, null for features that a curve is not about.
        """
        return stack([curve.to_arrow() for curve in self.curves], _OWN_COLUMNS)

    def _frame(self) -> pd.DataFrame:
        """Return a column `at` for the values of all features; see `curves_frame`."""
        return curves_frame(self.curves, _OWN_COLUMNS)
