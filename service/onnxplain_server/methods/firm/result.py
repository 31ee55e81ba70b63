"""Result of FIRM: importances with curves and intervals, contrasts, grids of pairs."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.firm.options import Contrast, Estimator
from onnxplain_server.methods.resampling import Conclusion, ReplicatedStatistic


@dataclass(frozen=True, slots=True, eq=False)
class ImportanceSpread:
    """Spread of an importance over replicates.

    Attributes
    ----------
    standard_errors, lower, upper : (n_outputs,)
    """

    standard_errors: Vector
    lower: Vector
    upper: Vector


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalExpectation:
    """Conditional expectation of the score given a feature, as estimated.

    Attributes
    ----------
    levels : (n_points,)
        Values of the feature, float64 or str objects; NaN or "" if missing.
    is_by_value : bool
        Whether `levels` are all distinct values; otherwise means of bins.
    expected : (n_points, n_outputs)
        Expected scores; unit of the output.
    shares : (n_points,)
        Shares of the weight.
    """

    levels: Array
    is_by_value: bool
    expected: Matrix
    shares: Vector


@dataclass(frozen=True, slots=True, eq=False)
class FirmImportance:
    """Importance of a feature: standard deviation of the expected score given its value.

    Attributes
    ----------
    feature : str
        As requested.
    estimator : Estimator
        The one used.
    values : (n_outputs,)
        Unit of the output, or none if standardised; signed by GAUSSIAN, TWO_VALUED and SLOPE.
    spread : ImportanceSpread or None
    curve : ConditionalExpectation
    grouped_features : tuple of str
        Features of a group; empty for a feature by itself.
    """

    feature: str
    estimator: Estimator
    values: Vector
    spread: ImportanceSpread | None
    curve: ConditionalExpectation
    grouped_features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ContrastImportance:
    """Contrast measure of a column, computed beside FIRM."""

    contrast: Contrast
    feature: str
    values: Vector


@dataclass(frozen=True, slots=True, eq=False)
class ScatterSample:
    """Sample of rows, for scatter plots behind the curves.

    Attributes
    ----------
    values : mapping of feature to (n_sample,)
        Most important features only.
    scores : (n_sample, n_outputs)
    """

    values: dict[str, Array]
    scores: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class PairGrid:
    """Grid of all pairs of some literals (features or their negations), for plots.

    Attributes
    ----------
    names : tuple of str
        Literals in order, without duplicates.
    cells : tuple of (int, int, int)
        Positions of two literals, and of their pair in the importances.
    singles : tuple of int
        Positions of the literals in the importances.
    combination : str
    """

    names: tuple[str, ...]
    cells: tuple[tuple[int, int, int], ...]
    singles: tuple[int, ...]
    combination: str


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Importances in request order; see `FirmResult` in the contract.

    Attributes
    ----------
    output_names : tuple of str
        Outputs of the model, then scores from the target.
    means, deviations : (n_outputs,)
        Means and standard deviations of the scores.
    confidence_level : float
        0 without resampling.
    conclusions : tuple of Conclusion
        Ranks of features, and whether replicates agree.
    replicates : tuple of ReplicatedStatistic
        Where they are kept: squares of the measures without a sign.
    """

    output_names: tuple[str, ...]
    importances: tuple[FirmImportance, ...]
    contrasts: tuple[ContrastImportance, ...]
    means: Vector
    deviations: Vector
    is_standardized: bool
    confidence_level: float
    scatter: ScatterSample
    pair_grids: tuple[PairGrid, ...]
    notes: tuple[Note, ...]
    conclusions: tuple[Conclusion, ...] = ()
    replicates: tuple[ReplicatedStatistic, ...] = ()
