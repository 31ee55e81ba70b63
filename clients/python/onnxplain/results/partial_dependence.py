"""Results of `PartialDependence`: average predictions over grids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
from onnxplain.v1 import explanation_service_pb2, partial_dependence_pb2
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions

if TYPE_CHECKING:
    import pandas as pd

_OWN_COLUMNS = ("curve", "group", "output", "value", *BAND_COLUMNS)


@dataclass(frozen=True, slots=True, eq=False)
class PartialDependenceCurve(Tabular):
    """Average predictions over one grid.

    Attributes
    ----------
    features : tuple of str
        Features varied.
    group : str
        The group of rows averaged over; empty where rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        float64, or str objects. Of several features the first varies fastest, where the
        grid was laid by the server.
    values : (n_points, n_outputs)
        Not centred; unit of the output.
    weight : float
        Total weight of the rows averaged over; their number if no weights are given.
    output_names : tuple of str
    lower, upper : (n_points, n_outputs)
        Intervals of each point by itself, with replicates; in a partial explanation that comes from
        some of the rows, 90 % intervals of the values on all of them; otherwise (0, n_outputs).
    row_weights : (n_points,)
        Weights of the rows nearest to each point; empty for a table read in blocks.
    observed_means : (n_points, n_outputs)
        Mean true values of these rows, NaN where none lie; (0, n_outputs) without a target on the
        scale of the predictions, and for several features.
    standard_errors, simultaneous_lower, simultaneous_upper : (n_points, n_outputs)
        Standard errors of the values, and ends of the band that holds all values of an output at
        once; (0, n_outputs) without replicates.
    outside_shares : (n_points,)
        Share of the rows that lie outside the table's support once they are moved to each
        point; empty where the table has too few rows to tell.
    outside_share : float
        Their mean, weighted by the rows near each point; NaN where they are empty.
    outside_partner : str
        Feature whose values are lacking most often beside those of the points; empty without one.
    message : PartialDependenceCurve
        As the server sent it.
    """

    features: tuple[str, ...]
    group: str
    grid: tuple[Values, ...]
    values: npt.NDArray[np.float64]
    weight: float
    output_names: tuple[str, ...]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    row_weights: npt.NDArray[np.float64]
    observed_means: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64]
    simultaneous_lower: npt.NDArray[np.float64]
    simultaneous_upper: npt.NDArray[np.float64]
    outside_shares: npt.NDArray[np.float64]
    outside_share: float
    outside_partner: str
    message: partial_dependence_pb2.PartialDependenceCurve = field(repr=False)

    @classmethod
    def from_message(
        cls, message: partial_dependence_pb2.PartialDependenceCurve, output_names: tuple[str, ...]
    ) -> PartialDependenceCurve:
        """Read the message of the contract."""
        return read(
            cls,
            message,
            grid=tuple(from_column(column) for column in message.grid),
            output_names=output_names,
            row_weights=np.array(message.row_weights),
            outside_shares=np.array(message.outside_shares),
            outside_share=message.outside_share if message.outside_shares else np.nan,
            message=message,
            **_by_point(message, len(output_names), "observed_means"),
        )

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
        return _to_arrow(self)


@dataclass(frozen=True, slots=True, eq=False)
class GroupDifference(Tabular):
    """Curve of a group of rows less that of another one, along one grid.

    Attributes
    ----------
    features : tuple of str
    group, reference_group : str
        The group, and the one that is subtracted.
    grid : tuple of (n_points,) arrays, one per feature
        As of the curves.
    values : (n_points, n_outputs)
    output_names : tuple of str
    standard_errors, lower, upper : (n_points, n_outputs)
        Of each point by itself.
    simultaneous_lower, simultaneous_upper : (n_points, n_outputs)
        Ends of the band that holds the whole difference of an output.
    message : GroupDifference
        As the server sent it.
    """

    features: tuple[str, ...]
    group: str
    reference_group: str
    grid: tuple[Values, ...]
    values: npt.NDArray[np.float64]
    output_names: tuple[str, ...]
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    simultaneous_lower: npt.NDArray[np.float64]
    simultaneous_upper: npt.NDArray[np.float64]
    message: partial_dependence_pb2.GroupDifference = field(repr=False)

    @classmethod
    def from_message(
        cls, message: partial_dependence_pb2.GroupDifference, output_names: tuple[str, ...]
    ) -> GroupDifference:
        """Read the message of the contract."""
        return read(
            cls,
            message,
            grid=tuple(from_column(column) for column in message.grid),
            output_names=output_names,
            message=message,
            **_by_point(message, len(output_names)),
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per grid point and output; see `PartialDependenceCurve.to_arrow`."""
        return _to_arrow(self)


def _by_point(message: Any, output_count: int, *others: str) -> dict[str, npt.NDArray[np.float64]]:
    """Read numbers of points and outputs, and others of the same shape."""
    return {
        name: np.array(getattr(message, name)).reshape(-1, output_count)
        for name in ("values", *BAND_FIELDS, *others)
    }


def _to_arrow(curve: PartialDependenceCurve | GroupDifference) -> pa.Table:
    n_points, n_outputs = curve.values.shape
    names = feature_columns(curve.features, _OWN_COLUMNS)
    columns = {
        name: pa.array(np.repeat(values, n_outputs))
        for name, values in zip(names, curve.grid, strict=True)
    }
    columns["group"] = pa.array([curve.group] * curve.values.size, pa.string())
    columns["output"] = pa.array(list(curve.output_names) * n_points, pa.string())
    columns["value"] = pa.array(curve.values.reshape(-1))
    return pa.table({**columns, **band_columns(curve)})


@dataclass(frozen=True, slots=True, eq=False)
class PartialDependenceResult(Tabular):
    """Curves and surfaces of average predictions.

    Attributes
    ----------
    output_names : tuple of str
        The explained outputs, in the order of every array here.
    curves : tuple of PartialDependenceCurve
        In the order of the request, each by its groups.
    differences : tuple of GroupDifference
        Each group less the first one, in the order of the curves; empty without replicates.
    confidence_level : float
        Of intervals and bands; 0 without any.
    plots : tuple of Plot
    options : PartialDependenceOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : PartialDependenceResult
        As the server sent it.
    conclusions : tuple of Conclusion
        What also holds in the replicates of the rows; empty without these.

    Examples
    --------
    >>> curve = explanations.partial_dependence.curves[0]
    >>> curve.features, curve.grid[0].shape, curve.values.shape
    (('age',), (49,), (49, 1))
    """

    output_names: tuple[str, ...]
    curves: tuple[PartialDependenceCurve, ...]
    differences: tuple[GroupDifference, ...]
    confidence_level: float
    plots: tuple[Plot, ...]
    options: PartialDependenceOptions
    rows: RowsUsed | None
    message: partial_dependence_pb2.PartialDependenceResult = field(repr=False)
    conclusions: tuple[Conclusion, ...] = ()

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> PartialDependenceResult:
        """Read the message of the contract."""
        result = message.partial_dependence
        names = tuple(result.output_names)
        curves = tuple(PartialDependenceCurve.from_message(curve, names) for curve in result.curves)
        differences = tuple(GroupDifference.from_message(d, names) for d in result.differences)
        return read_result(cls, message, curves=curves, differences=differences)

    def to_arrow(self) -> pa.Table:
        """Concatenate the rows of all curves.

        Returns
        -------
        pyarrow.Table
            First `curve`, its index in `curves`; then the columns of
            `PartialDependenceCurve.to_arrow`, null for features that a curve does not vary.
        """
        return stack([curve.to_arrow() for curve in self.curves], _OWN_COLUMNS)

    def _frame(self) -> pd.DataFrame:
        """Return a column `at` for the values of all features; see `curves_frame`."""
        return curves_frame(self.curves, _OWN_COLUMNS)
