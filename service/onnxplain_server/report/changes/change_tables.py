"""Tables of what has changed between two answers, and of rules about it, as rows of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from onnxplain.v1.explanation_comparison_pb2 import (
    CurveDifference,
    ExplanationComparison,
    RankingComparison,
    ReplicatedStatistic,
    RuleFinding,
    StatisticDifference,
)

from onnxplain_server.methods.changes.comparison import MEAN_SQUARES
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.changes.change_words import change_words
from onnxplain_server.report.sentences.changes import significant, subject, words
from onnxplain_server.report.sentences.words import feature_names


class TextTable(NamedTuple):
    """A table of text: titles, and rows of as many cells."""

    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


def differences(comparison: ExplanationComparison) -> TextTable:
    """Return the numbers that are compared, the surest change first."""
    ordered = sorted(comparison.differences, key=_by_p_value)
    titles = "statistic", "before", "after", "change", "interval", "adjusted p", "verdict"
    return TextTable(titles, [_row(each) for each in ordered])


def _by_p_value(each: StatisticDifference | CurveDifference) -> float:
    value = float(each.adjusted_p_value)
    return value if value == value else 2.0  # noqa: PLR0124 - NaN last


def _row(each: StatisticDifference) -> tuple[str, ...]:
    return (
        subject(each),
        significant(each.reference_value, 4),
        significant(each.value, 4),
        significant(each.difference, 3, is_change=True),
        " to ".join(significant(end, 3, is_change=True) for end in (each.lower, each.upper)),
        f"{each.adjusted_p_value:.2g}",
        _verdict(each),
    )


def _verdict(each: StatisticDifference | CurveDifference) -> str:
    return change_words().verdicts[ExplanationComparison.Verdict.Name(each.verdict)]


def curves(comparison: ExplanationComparison) -> TextTable:
    """Return the curves that are compared, with their largest difference."""
    ordered = sorted(comparison.curves, key=_by_p_value)
    titles = "curve", "points", "largest change", "adjusted p", "verdict"
    return TextTable(titles, [_curve_row(each) for each in ordered])


def _curve_row(each: CurveDifference) -> tuple[str, ...]:
    largest = max(each.differences, key=abs)
    return (
        subject(each),
        f"{len(each.differences):,}",
        significant(largest, 3, is_change=True),
        f"{each.adjusted_p_value:.2g}",
        _verdict(each),
    )


def rankings(comparison: ExplanationComparison) -> TextTable:
    """Return the rankings that are compared."""
    titles = "ranking", "features", "rank correlation", "NDCG", "leading ones changed"
    return TextTable(titles, [_ranking(each) for each in comparison.rankings])


def _ranking(each: RankingComparison) -> tuple[str, ...]:
    correlation = each.rank_correlation_lower, each.rank_correlation_upper
    changes = (
        f"{feature_names(change.features)}: {_rank(each, change.reference_rank)} to "
        f"{_rank(each, change.rank)}"
        for change in each.leading_changes
    )
    return (
        f"{words(each.kind)} for {clean(each.output_name)}",
        f"{each.feature_count:,}",
        f"{each.rank_correlation:.2f} ({correlation[0]:.2f} to {correlation[1]:.2f})",
        f"{each.ndcg:.3f} ({each.ndcg_lower:.3f} to {each.ndcg_upper:.3f})",
        ", ".join(changes),
    )


def _rank(ranking: RankingComparison, rank: int) -> str:
    return f"{rank:,}" if rank <= ranking.feature_count else "not used"


def unmatched(comparison: ExplanationComparison) -> TextTable:
    """Return what is not compared, and why."""
    titles = "not compared", "why"
    rows = dict.fromkeys(
        (
            " of ".join(filter(None, [words(each.kind) if each.kind else "output", _about(each)])),
            each.reason,
        )
        for each in comparison.unmatched
    )
    return TextTable(titles, list(rows))


def _about(each: Sequence[str] | object) -> str:
    features = feature_names(getattr(each, "features", ()))
    names = (features, getattr(each, "group", ""), getattr(each, "output_name", ""))
    return " in ".join(clean(name) for name in names if name)


def rules(comparison: ExplanationComparison) -> TextTable:
    """Return the rules with their verdicts."""
    titles = "rule", "verdict", "figures"
    rows: list[tuple[str, ...]] = [
        (each.rule.name, RuleFinding.Verdict.Name(each.verdict), figures(each))
        for each in comparison.findings
    ]
    return TextTable(titles, rows)


def figures(finding: RuleFinding) -> str:
    """Tell the figures behind a verdict, of the statistic that is nearest to failing."""
    return "; ".join(_figures(finding))


def _figures(finding: RuleFinding) -> Iterator[str]:
    rule = finding.rule
    if finding.kind:
        kind = ReplicatedStatistic.Kind.Name(finding.kind)
        about = " of ".join(filter(None, [kind.lower().replace("_", " "), _about(finding)]))
        is_rank = rule.HasField("new_leading_features")
        sides = (
            _figure(side, is_rank=is_rank) for side in (finding.reference_value, finding.value)
        )
        yield f"{about}: {' to '.join(sides)}"
    if finding.reason:
        yield finding.reason
    else:
        is_square = ReplicatedStatistic.Kind.Name(rule.statistic) in MEAN_SQUARES
        corrected = ", corrected for bias" if is_square else ""
        interval = f"{finding.lower:.3g} to {finding.upper:.3g} at {rule.level:.3g}"
        yield f"margin {finding.margin:.3g}, {interval}{corrected}"
    if finding.count > 1:
        yield f"the nearest of {finding.count:,}"
    if finding.missed_count:
        of = finding.count + finding.missed_count
        yield f"the curves have {finding.count:,} of {of:,} points of the reference in common"


def _figure(value: float, *, is_rank: bool) -> str:
    if is_rank:
        return f"rank {value:.0f}" if value < float("inf") else "not used"
    return f"{value:.4g}"
