"""Results of a comparison: differences of numbers and curves, rankings, and what is not matched."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.changes.matching import UnmatchedStatistic
from onnxplain_server.methods.changes.rankings import ComparedRanking


@dataclass(frozen=True, slots=True)
class ComparedSubject:
    """Subject of a difference; see `StatisticDifference` in the contract."""

    explanation_index: int
    kind: str
    features: tuple[str, ...]
    group: str
    output_name: str


@dataclass(frozen=True, slots=True)
class ChangeTest:
    """Test of a difference: NaN where its chance is not known."""

    p_value: float
    adjusted_p_value: float = float("nan")
    verdict: str = "NOT_TESTED"


@dataclass(frozen=True, slots=True, eq=False)
class StatisticDifference:
    """Difference of one number; see `StatisticDifference` in the contract."""

    subject: ComparedSubject
    reference_value: float
    value: float
    difference: float
    standard_error: float
    bias: float
    lower: float
    upper: float
    test: ChangeTest


@dataclass(frozen=True, slots=True, eq=False)
class CurveDifference:
    """Difference of one curve; see `CurveDifference` in the contract.

    Attributes
    ----------
    grid : tuple of (n_points,) arrays, one per feature
    reference_values, values, differences : (n_points,)
    standard_errors, lower, upper, simultaneous_lower, simultaneous_upper : (n_points,)
    """

    subject: ComparedSubject
    grid: tuple[Array, ...]
    reference_values: Vector
    values: Vector
    differences: Vector
    standard_errors: Vector
    lower: Vector
    upper: Vector
    simultaneous_lower: Vector
    simultaneous_upper: Vector
    test: ChangeTest


@dataclass(frozen=True, slots=True, eq=False)
class OutputRankings:
    """Rankings of one output; see `RankingComparison` in the contract."""

    explanation_index: int
    kind: str
    output_name: str
    feature_count: int
    ranking: ComparedRanking


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Differences of two answers; see `ExplanationComparison` in the contract."""

    tested_count: int = 0
    differences: tuple[StatisticDifference, ...] = ()
    curves: tuple[CurveDifference, ...] = ()
    rankings: tuple[OutputRankings, ...] = ()
    unmatched: tuple[UnmatchedStatistic, ...] = field(default=())
