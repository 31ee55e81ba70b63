"""Results of accumulated local effects."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.resampling import Band, Conclusion, ReplicatedStatistic


@dataclass(frozen=True, slots=True, eq=False)
class AccumulatedLocalEffect:
    """Effects along one feature, or of two together beyond those of each.

    Attributes
    ----------
    features : tuple of str
    group : str
        Group of rows; empty if rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        float64 or str objects.
    values : (n_points, n_outputs)
        Their mean over the rows is 0; output unit.
    mean_predictions : (n_outputs,)
        Of the rows with a value.
    weight, missing_weight : float
        Total weight of the rows with a value, and of those without.
    bin_weights : (n_points - 1,), or (n_cells,) of two features
        Weights of the rows whose differences lead from each point to the next one.
    row_weights : (n_points,)
        Weights of the rows, shared between the points beside them.
    band : Band or None
        None without replicates.
    """

    features: tuple[str, ...]
    group: str
    grid: tuple[Array, ...]
    values: Matrix
    mean_predictions: Vector
    weight: float
    missing_weight: float
    bin_weights: Vector
    row_weights: Vector
    band: Band | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Effects in request order, each split by ascending group.

    Attributes
    ----------
    output_names : tuple of str
    curves : tuple of AccumulatedLocalEffect
    confidence_level : float
        0 without intervals.
    samples : mapping of feature to (n,) array
        Sample of the feature's values, for a rug plot under the curves.
    group_column : str
        Empty if rows are not grouped.
    notes : tuple of Note
    conclusions : tuple of Conclusion
        Slopes, and whether replicates agree.
    replicates : tuple of ReplicatedStatistic
        Where they are kept.
    """

    output_names: tuple[str, ...]
    curves: tuple[AccumulatedLocalEffect, ...]
    confidence_level: float
    samples: dict[str, Array]
    group_column: str = ""
    notes: tuple[Note, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    replicates: tuple[ReplicatedStatistic, ...] = ()
