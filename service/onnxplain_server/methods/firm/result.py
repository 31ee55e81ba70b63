"""What is found."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.firm.options import Contrast, Estimator


@dataclass(frozen=True, slots=True, eq=False)
class ImportanceSpread:
    """What resampling tells of an importance.

    Attributes
    ----------
    standard_errors, lower, upper : (n_outputs,)
    """

    standard_errors: Vector
    lower: Vector
    upper: Vector


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalExpectation:
    """The conditional expected score of a feature, as the estimator has it.

    Attributes
    ----------
    levels : (n_points,)
        Values of the feature, float64 or str objects; NaN or "" where it is missing.
    is_by_value : bool
        Whether these are all the values; otherwise means of bins.
    expected : (n_points, n_outputs)
        Unit of the output.
    shares : (n_points,)
        Of the weight.
    """

    levels: Array
    is_by_value: bool
    expected: Matrix
    shares: Vector


@dataclass(frozen=True, slots=True, eq=False)
class FirmImportance:
    """How far a feature moves the expected score.

    Attributes
    ----------
    feature : str
        As it was asked for.
    estimator : Estimator
        Which one was used.
    values : (n_outputs,)
        Unit of the output, or without one where standardised; signed by GAUSSIAN, TWO_VALUED
        and SLOPE.
    spread : ImportanceSpread or None
    curve : ConditionalExpectation
    """

    feature: str
    estimator: Estimator
    values: Vector
    spread: ImportanceSpread | None
    curve: ConditionalExpectation


@dataclass(frozen=True, slots=True, eq=False)
class ContrastImportance:
    """Another measure of a column, which is not this method's."""

    contrast: Contrast
    feature: str
    values: Vector


@dataclass(frozen=True, slots=True, eq=False)
class ScatterSample:
    """Some rows, to be drawn behind the curves.

    Attributes
    ----------
    values : mapping of feature to (n_shown,)
        Of the most important features only.
    scores : (n_shown, n_outputs)
    """

    values: dict[str, Array]
    scores: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class PairGrid:
    """Features of which all pairs were asked for, as `plots` sets them into a square.

    Attributes
    ----------
    names : tuple of str
        Literals, each once, in order.
    cells : tuple of (int, int, int)
        Positions of two literals, and of their pair among the importances.
    singles : tuple of int
        Positions of the literals among the importances.
    combination : str
    """

    names: tuple[str, ...]
    cells: tuple[tuple[int, int, int], ...]
    singles: tuple[int, ...]
    combination: str


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Importances in the order asked for; see `FirmResult` in the contract.

    Attributes
    ----------
    output_names : tuple of str
        The model's, then those of the target.
    means, deviations : (n_outputs,)
        Of the scores.
    confidence_level : float
        0 without resampling.
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
