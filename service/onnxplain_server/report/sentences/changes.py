"""Sentences about what has changed between two answers: only what is decided."""

from __future__ import annotations

from collections.abc import Iterator

from onnxplain.v1.explanation_comparison_pb2 import (
    ComparisonOptions,
    CurveDifference,
    ExplanationComparison,
    RankingComparison,
    ReplicatedStatistic,
    StatisticDifference,
)

from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.sentences.words import feature_names, few_of

_CHANGED = ExplanationComparison.CHANGED
_NOT_TESTED = ExplanationComparison.NOT_TESTED
_CORRECTIONS = {
    ComparisonOptions.HOLM: "after Holm's correction",
    ComparisonOptions.BENJAMINI_HOCHBERG: "after Benjamini and Hochberg's correction",
    ComparisonOptions.NONE: "without a correction for their number",
}
_MAX_TOLD = 8


def changed(comparison: ExplanationComparison) -> Iterator[str]:
    """Tell what has changed, the surest change first; one sentence where nothing has."""
    own: list[StatisticDifference | CurveDifference] = [
        each for each in comparison.differences if each.verdict == _CHANGED
    ]
    own += [each for each in comparison.curves if each.verdict == _CHANGED]
    options, count = comparison.options, comparison.tested_count
    how = (
        f"at {options.confidence_level:.3g} confidence, "
        f"{_CORRECTIONS.get(options.correction, _CORRECTIONS[ComparisonOptions.HOLM])}"
    )
    if not count:
        yield "Nothing could be tested."
        return
    what = "curve" if any(each.verdict != _NOT_TESTED for each in comparison.curves) else "number"
    if not own:
        of = f"{count:,} numbers and curves" if count > 1 else f"only {what}"
        yield f"No change is shown in the {of} compared, {how}."
    elif count == 1:
        yield f"The only {what} compared has changed, {how}."
    else:
        have = "has" if len(own) == 1 else "have"
        yield f"{len(own):,} of {count:,} numbers and curves {have} changed, {how}."
    own.sort(key=lambda each: each.adjusted_p_value)
    yield from (_sentence(each) for each in own[:_MAX_TOLD])
    if len(own) > _MAX_TOLD:
        yield f"{len(own) - _MAX_TOLD:,} more have changed: see the table."
    for ranking in comparison.rankings:
        yield from _ranking(ranking, options.confidence_level)


def _sentence(each: StatisticDifference | CurveDifference) -> str:
    what = subject(each)
    if isinstance(each, CurveDifference):
        return f"The curve of {what} has changed."
    verb = "rose" if each.difference > 0 else "fell"
    interval = f"{each.lower:.3g} to {each.upper:.3g}"
    return (
        f"{what[:1].upper()}{what[1:]} {verb} from {each.reference_value:.3g} to {each.value:.3g} "
        f"(change {interval})."
    )


def _ranking(ranking: RankingComparison, level: float) -> Iterator[str]:
    sure = [each for each in ranking.leading_changes if each.replicate_share >= level]
    for is_new, verb in ((True, "entered"), (False, "left")):
        names = [
            feature_names(each.features)
            for each in sure
            if (each.rank < each.reference_rank) is is_new
        ]
        if names:
            of = f" for {clean(ranking.output_name)}"
            yield f"{few_of(names)} {verb} the leading features by {words(ranking.kind)}{of}."


def subject(each: StatisticDifference | CurveDifference) -> str:
    """Name what a difference is about, like "importance of zip for price"."""
    features = f" of {feature_names(each.features)}" if each.features else ""
    group = f" in {clean(each.group)}" if each.group else ""
    return f"{words(each.kind)}{features}{group} for {clean(each.output_name)}"


def words(kind: int) -> str:
    """Name a kind of statistic."""
    name = ReplicatedStatistic.Kind.Name(kind).lower().replace("_", " ")
    return name.replace(" square", ", as a mean square,") if name.endswith("square") else name
