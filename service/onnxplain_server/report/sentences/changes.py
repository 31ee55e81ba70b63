"""Sentences about what has changed between two answers: only what is decided."""

from __future__ import annotations

import math
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
from onnxplain_server.plots.elements.number_formats import not_finite
from onnxplain_server.report.sentences.words import feature_names, few_of

_CHANGED = ExplanationComparison.CHANGED
_NOT_TESTED = ExplanationComparison.NOT_TESTED
_CORRECTIONS = {
    ComparisonOptions.HOLM: "after Holm's correction",
    ComparisonOptions.BENJAMINI_HOCHBERG: "after Benjamini and Hochberg's correction",
    ComparisonOptions.NONE: "without a correction for their number",
}
_MAX_TOLD = 8
_LOSS = ReplicatedStatistic.AVERAGE_LOSS
_CURVES = {ReplicatedStatistic.PARTIAL_DEPENDENCE, ReplicatedStatistic.ACCUMULATED_LOCAL_EFFECT}


def changed(comparison: ExplanationComparison, *, has_key_figures: bool = False) -> Iterator[str]:
    """Tell what has changed: losses first, mean squares last, and of each the surest change first.

    One sentence where nothing has.

    Parameters
    ----------
    has_key_figures : bool
        Whether key figures tell losses of all rows.
    """
    own: list[StatisticDifference | CurveDifference] = [
        each for each in comparison.differences if each.verdict == _CHANGED
    ]
    own += [each for each in comparison.curves if each.verdict == _CHANGED]
    yield _count(comparison, len(own))
    if not comparison.tested_count:
        return
    if has_key_figures:
        own = [each for each in own if each.kind != _LOSS or each.group]
    own.sort(key=lambda each: (_place(each.kind), each.adjusted_p_value))
    outputs = {each.output_name for each in comparison.differences}
    outputs |= {each.output_name for each in comparison.curves}
    has_several = len(outputs) > 1
    yield from (_sentence(each, names_output=has_several) for each in own[:_MAX_TOLD])
    for ranking in comparison.rankings:
        yield from _ranking(ranking, comparison.options.confidence_level, names_output=has_several)
    if len(own) > _MAX_TOLD:
        yield f"{len(own) - _MAX_TOLD:,} more have changed: see the table."


def _count(comparison: ExplanationComparison, changed_count: int) -> str:
    """Count what has changed, of what was tested and how."""
    options, count = comparison.options, comparison.tested_count
    how = (
        f"at {options.confidence_level:.3g} confidence, "
        f"{_CORRECTIONS.get(options.correction, _CORRECTIONS[ComparisonOptions.HOLM])}"
    )
    if not count:
        return "Nothing could be tested."
    what = "curve" if any(each.verdict != _NOT_TESTED for each in comparison.curves) else "number"
    if not changed_count:
        of = f"{count:,} numbers and curves" if count > 1 else f"only {what}"
        return f"No change is shown in the {of} compared, {how}."
    if count == 1:
        return f"The only {what} compared has changed, {how}."
    have = "has" if changed_count == 1 else "have"
    return f"{changed_count:,} of {count:,} numbers and curves {have} changed, {how}."


def _place(kind: int) -> int:
    """Return the place among sentences: how good, curves, shares, and what shares tell too."""
    if kind == _LOSS:
        return 0
    if kind in _CURVES:
        return 1
    return 3 if ReplicatedStatistic.Kind.Name(kind).endswith("SQUARE") else 2


def _sentence(each: StatisticDifference | CurveDifference, *, names_output: bool) -> str:
    what = subject(each, names_output=names_output)
    if isinstance(each, CurveDifference):
        largest = significant(max(each.differences, key=abs, default=0.0), 3, is_change=True)
        return f"The curve of {what} has changed, by up to {largest}."
    verb = "rose" if each.difference > 0 else "fell"
    ends = (significant(end, 3, is_change=True) for end in (each.lower, each.upper))
    before, after = (significant(value, 3) for value in (each.reference_value, each.value))
    return (
        f"{what[:1].upper()}{what[1:]} {verb} from {before} to {after} (change "
        f"{' to '.join(ends)})."
    )


def _ranking(ranking: RankingComparison, level: float, *, names_output: bool) -> Iterator[str]:
    sure = [each for each in ranking.leading_changes if each.replicate_share >= level]
    for is_new, verb in ((True, "entered"), (False, "left")):
        names = [
            feature_names(each.features)
            for each in sure
            if (each.rank < each.reference_rank) is is_new
        ]
        if names:
            of = f" for {clean(ranking.output_name)}" if names_output else ""
            yield f"{few_of(names)} {verb} the leading features by {words(ranking.kind)}{of}."


def subject(each: StatisticDifference | CurveDifference, *, names_output: bool = True) -> str:
    """Name what a difference is about, like "importance of zip for price"."""
    features = f" of {feature_names(each.features)}" if each.features else ""
    group = f" in {clean(each.group)}" if each.group else ""
    output = f" for {clean(each.output_name)}" if names_output else ""
    return f"{words(each.kind)}{features}{group}{output}"


def words(kind: int) -> str:
    """Name a kind of statistic."""
    name = ReplicatedStatistic.Kind.Name(kind).lower().replace("_", " ")
    return name.replace(" square", ", as a mean square,") if name.endswith("square") else name


def significant(value: float, digits: int, *, is_change: bool = False) -> str:
    """Write a number with significant digits, and without an exponent where people read it.

    Parameters
    ----------
    is_change : bool
        Whether a number above 0 has its sign.
    """
    if not math.isfinite(value):
        return not_finite(value)
    text = f"{value:{'+' if is_change and value else ''}.{digits}g}"
    if "e" in text and _LEAST <= abs(value) < _LARGEST:
        decimals = digits - 1 - math.floor(math.log10(abs(value)))
        text = f"{round(value, decimals):{'+' if is_change else ''},.{max(decimals, 0)}f}"
    return text.replace("-", "−")


_LEAST, _LARGEST = 1e-4, 1e15
"""Sizes between which numbers have no exponent."""
