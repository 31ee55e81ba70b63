"""Comparison of an answer with a reference: what has changed, and what is within chance."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.columns import Values, from_column
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular, joined
from onnxplain.v1 import explanation_comparison_pb2 as comparison_pb2

_CHANGED = "CHANGED"


@dataclass(frozen=True, slots=True)
class StatisticDifference:
    """Difference of one number between an answer and its reference.

    Attributes
    ----------
    explanation_index : int
        Of the explanation in the answer.
    kind : str
        Like "IMPORTANCE" or "AVERAGE_LOSS".
    features : tuple of str
    group, output_name : str
    reference_value, value, difference : float
        The last one is the answer less the reference.
    standard_error, bias, lower, upper : float
        Of the difference; the interval is corrected for the bias.
    p_value, adjusted_p_value : float
        The second one for all tests of the comparison.
    verdict : str
        "CHANGED", "NOT_SHOWN" or "NOT_TESTED".
    """

    explanation_index: int
    kind: str
    features: tuple[str, ...]
    group: str
    output_name: str
    reference_value: float
    value: float
    difference: float
    standard_error: float
    bias: float
    lower: float
    upper: float
    p_value: float
    adjusted_p_value: float
    verdict: str


@dataclass(frozen=True, slots=True, eq=False)
class CurveDifference:
    """Difference of one curve or surface between an answer and its reference.

    Attributes
    ----------
    explanation_index : int
    kind : str
        "PARTIAL_DEPENDENCE" or "ACCUMULATED_LOCAL_EFFECT".
    features : tuple of str
    group, output_name : str
    grid : mapping of feature to (n_points,)
    reference_values, values, differences, standard_errors : (n_points,)
    lower, upper : (n_points,)
        Interval of each difference.
    simultaneous_lower, simultaneous_upper : (n_points,)
        Band of the whole difference.
    p_value, adjusted_p_value : float
    verdict : str
    """

    explanation_index: int
    kind: str
    features: tuple[str, ...]
    group: str
    output_name: str
    grid: dict[str, Values]
    reference_values: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    differences: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    simultaneous_lower: npt.NDArray[np.float64]
    simultaneous_upper: npt.NDArray[np.float64]
    p_value: float
    adjusted_p_value: float
    verdict: str


@dataclass(frozen=True, slots=True)
class LeadingChange:
    """Feature that is among the leading ones of one side only.

    Attributes
    ----------
    features : tuple of str
    reference_rank, rank : int
        From 1; a feature of size 0 ranks after all that are used.
    replicate_share : float
        Of the replicates that say the same.
    """

    features: tuple[str, ...]
    reference_rank: int
    rank: int
    replicate_share: float


@dataclass(frozen=True, slots=True)
class RankingComparison:
    """Two rankings of features by importance.

    Attributes
    ----------
    explanation_index : int
    kind, output_name : str
    feature_count : int
    rank_correlation, rank_correlation_lower, rank_correlation_upper : float
        Kendall's tau-b, with its interval.
    ndcg, ndcg_lower, ndcg_upper : float
        As SageMaker Clarify computes it, with its interval.
    leading_changes : tuple of LeadingChange
    same_leading_share : float
        Of the replicates in which both sides have the same leading features.
    """

    explanation_index: int
    kind: str
    output_name: str
    feature_count: int
    rank_correlation: float
    rank_correlation_lower: float
    rank_correlation_upper: float
    ndcg: float
    ndcg_lower: float
    ndcg_upper: float
    leading_changes: tuple[LeadingChange, ...]
    same_leading_share: float


@dataclass(frozen=True, slots=True)
class UnmatchedStatistic:
    """Statistic that is not compared, and why."""

    kind: str
    features: tuple[str, ...]
    group: str
    output_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """Verdict on a rule, with the figures of the statistic that is nearest to failing.

    Attributes
    ----------
    rule : str
        Its name.
    verdict : str
        "HOLDS", "FAILS" or "UNDECIDED".
    kind : str
        Of the statistic; "KIND_UNSPECIFIED" where there is none.
    features : tuple of str
    group, output_name : str
    reference_value, value : float
    margin, lower, upper : float
        The larger side of the condition less the smaller one, and the interval of that.
    count, missed_count : int
        Statistics and points of curves that the rule is about, and points that cannot be compared.
    reason : str
        Why there are no figures; empty where there are some.
    """

    rule: str
    verdict: str
    kind: str
    features: tuple[str, ...]
    group: str
    output_name: str
    reference_value: float
    value: float
    margin: float
    lower: float
    upper: float
    count: int
    missed_count: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExplanationComparison(Tabular):
    """An answer beside its reference: `Explanations.comparison`.

    Attributes
    ----------
    is_paired : bool
        Whether both sides have the same rows, so that their common chance cancels out.
    pairing_reason : str
    tested_count : int
        Numbers and curves, for which p-values are adjusted.
    differences : tuple of StatisticDifference
    curves : tuple of CurveDifference
    rankings : tuple of RankingComparison
    unmatched : tuple of UnmatchedStatistic
        What one side lacks.
    findings : tuple of RuleFinding
        Verdicts on the rules of the reference.
    plots : tuple of Plot
        Of the numbers of each kind; none without `plots` in the request.
    summary : tuple of str
        What has changed, in sentences.
    message : ExplanationComparison
        The comparison as the contract has it.
    """

    is_paired: bool
    pairing_reason: str
    tested_count: int
    differences: tuple[StatisticDifference, ...]
    curves: tuple[CurveDifference, ...]
    rankings: tuple[RankingComparison, ...]
    unmatched: tuple[UnmatchedStatistic, ...]
    findings: tuple[RuleFinding, ...]
    plots: tuple[Plot, ...]
    summary: tuple[str, ...]
    message: comparison_pb2.ExplanationComparison = field(repr=False)

    @classmethod
    def from_message(cls, message: comparison_pb2.ExplanationComparison) -> ExplanationComparison:
        """Read the message of the contract."""
        return read(
            cls,
            message,
            differences=tuple(read(StatisticDifference, each) for each in message.differences),
            curves=tuple(map(_curve, message.curves)),
            rankings=tuple(map(_ranking, message.rankings)),
            unmatched=tuple(read(UnmatchedStatistic, each) for each in message.unmatched),
            findings=tuple(map(_finding, message.findings)),
            plots=tuple(map(Plot.from_message, message.plots)),
            summary=tuple(message.summary),
            message=message,
        )

    def __repr__(self) -> str:
        own = [(each.kind, each.features) for each in self.changed]
        own += [(each.kind, each.features) for each in self.changed_curves]
        changed = [f"{kind} {joined(features)}".strip() for kind, features in own]
        names = f": {', '.join(dict.fromkeys(changed))}" if changed else ""
        return f"ExplanationComparison: {len(changed)} of {self.tested_count} have changed{names}"

    @property
    def changed(self) -> tuple[StatisticDifference, ...]:
        """The numbers that have changed."""
        return tuple(each for each in self.differences if each.verdict == _CHANGED)

    @property
    def changed_curves(self) -> tuple[CurveDifference, ...]:
        """The curves that have changed somewhere."""
        return tuple(each for each in self.curves if each.verdict == _CHANGED)

    def to_arrow(self) -> pa.Table:
        """Return one row per number that is compared."""
        columns = {
            name: [getattr(each, name) for each in self.differences]
            for name in StatisticDifference.__slots__
            if name != "features"
        }
        names = [joined(each.features) for each in self.differences]
        return pa.table({"features": pa.array(names, pa.string()), **columns})


def _curve(message: comparison_pb2.CurveDifference) -> CurveDifference:
    grid = {column.name: from_column(column) for column in message.grid}
    return read(CurveDifference, message, grid=grid)


def _ranking(message: comparison_pb2.RankingComparison) -> RankingComparison:
    changes = tuple(read(LeadingChange, each) for each in message.leading_changes)
    return read(RankingComparison, message, leading_changes=changes)


def _finding(message: comparison_pb2.RuleFinding) -> RuleFinding:
    return read(RuleFinding, message, rule=message.rule.name)
