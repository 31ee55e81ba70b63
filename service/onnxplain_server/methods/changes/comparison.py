"""Comparison of two answers: all their statistics, with one correction for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Matrix
from onnxplain_server.core.contract_limits import ComparisonOptions
from onnxplain_server.methods.changes.correction import Correction, adjusted
from onnxplain_server.methods.changes.curve_differences import compare_curves
from onnxplain_server.methods.changes.differences import (
    ReplicatedDifference,
    ReplicatedSide,
    difference,
    intervals,
    p_values,
)
from onnxplain_server.methods.changes.found import (
    Changes,
    ChangeTest,
    ComparedSubject,
    CurveDifference,
    OutputRankings,
    StatisticDifference,
)
from onnxplain_server.methods.changes.matching import (
    KeptStatistics,
    OutputPair,
    at_common_points,
    match,
    not_matched,
)
from onnxplain_server.methods.changes.rankings import compare_rankings, most_important
from onnxplain_server.methods.resampling import ReplicatedStatistic

MEAN_SQUARES = frozenset({
    *(f"{name}_INTERACTION" for name in ("TOTAL", "OVERALL", "PAIRWISE", "THREEWAY")),
    *(f"{name}_INTERACTION_SQUARE" for name in ("TOTAL", "OVERALL", "PAIRWISE", "THREEWAY")),
    *("IMPORTANCE", "IMPORTANCE_SQUARE"),
})  # fmt: skip
"""Kinds that are too large on average, as they average squares over the rows."""

_SIZES: Mapping[str, tuple[str, Callable[[Array], Array]]] = MappingProxyType({
    "IMPORTANCE_SQUARE": ("IMPORTANCE", lambda values: np.sqrt(np.maximum(values, 0))),
    "FIRM_IMPORTANCE": ("FIRM_IMPORTANCE", np.abs),
    "FIRM_IMPORTANCE_SQUARE": ("FIRM_IMPORTANCE", lambda values: np.sqrt(np.maximum(values, 0))),
    "MEAN_ABSOLUTE_ATTRIBUTION": ("MEAN_ABSOLUTE_ATTRIBUTION", np.abs),
    "PERMUTATION_IMPORTANCE": ("PERMUTATION_IMPORTANCE", lambda values: np.maximum(values, 0)),
})  # fmt: skip
"""Kinds that rank features: the kind of the ranking, and their sizes in the output's unit."""


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Options of a comparison; see `ComparisonOptions` in the contract."""

    confidence_level: float = ComparisonOptions.confidence_level.default
    correction: Correction = ComparisonOptions.correction.default
    leading_count: int = ComparisonOptions.leading_count.default


def compare(
    pairs: Sequence[tuple[int, KeptStatistics, KeptStatistics]],
    options: ChangeOptions,
    *,
    is_paired: bool,
    are_classes: bool,
) -> Changes:
    """Compare explanations of an answer with those of its reference.

    Parameters
    ----------
    pairs : sequence of (int, KeptStatistics, KeptStatistics)
        Index of the explanation in the answer, the reference's statistics, the answer's.
    is_paired : bool
        Whether replicates belong together by their numbers.
    are_classes : bool
        Whether outputs are classes, which are paired by name only.
    """
    parts = [
        _ExplanationPair(index, before, after, options, is_paired, are_classes).compare()
        for index, before, after in pairs
    ]
    whole = Changes(
        differences=tuple(each for part in parts for each in part.differences),
        curves=tuple(each for part in parts for each in part.curves),
        rankings=tuple(each for part in parts for each in part.rankings),
        unmatched=tuple(each for part in parts for each in part.unmatched),
    )
    return _judged(whole, options)


def _judged(changes: Changes, options: ChangeOptions) -> Changes:
    """Adjust the p-values of all numbers and curves, and judge by them."""
    given = [each.test for each in changes.differences]
    given += [each.test for each in changes.curves]
    found = adjusted(np.array([test.p_value for test in given]), options.correction)
    error = 1 - options.confidence_level
    tests = [
        replace(test, adjusted_p_value=p, verdict=_verdict(p, error))
        for test, p in zip(given, found.tolist(), strict=True)
    ]
    own = zip(changes.differences, tests, strict=False)
    of_curves = zip(changes.curves, tests[len(changes.differences) :], strict=True)
    return replace(
        changes,
        tested_count=int((~np.isnan(found)).sum()),
        differences=tuple(replace(each, test=test) for each, test in own),
        curves=tuple(replace(each, test=test) for each, test in of_curves),
    )


def _verdict(p_value: float, error: float) -> str:
    if np.isnan(p_value):
        return "NOT_TESTED"
    return "CHANGED" if p_value <= error else "NOT_SHOWN"


@dataclass(frozen=True, slots=True, eq=False)
class _ExplanationPair:
    """An explanation beside the reference's."""

    index: int
    reference: KeptStatistics
    answer: KeptStatistics
    options: ChangeOptions
    is_paired: bool
    are_classes: bool

    def compare(self) -> Changes:
        found = match(self.reference, self.answer, are_classes=self.are_classes)
        outputs, matched, unmatched = found.outputs, found.pairs, list(found.unmatched)
        numbers: list[StatisticDifference] = []
        curves: list[CurveDifference] = []
        for before, after in matched:
            if not before.grid:
                numbers += self._numbers(before, after, outputs)
            elif (common := at_common_points(before, after)) is None:
                reason = "both sides have no points in common"
                unmatched.append(not_matched(after, reason))
            else:
                curves += self._curves(*common, outputs)
        rankings = self._rankings(matched, outputs)
        return Changes(0, tuple(numbers), tuple(curves), tuple(rankings), tuple(unmatched))

    def _difference(
        self, before: ReplicatedStatistic, after: ReplicatedStatistic
    ) -> ReplicatedDifference:
        return difference(
            ReplicatedSide(before.values, before.replicates, before.unit_count),
            ReplicatedSide(after.values, after.replicates, after.unit_count),
            is_paired=self.is_paired,
            is_square=after.kind in MEAN_SQUARES,
        )

    def _numbers(
        self,
        before: ReplicatedStatistic,
        after: ReplicatedStatistic,
        outputs: Sequence[OutputPair],
    ) -> Iterator[StatisticDifference]:
        found = self._difference(before, after)
        lower, upper = intervals(found, self.options.confidence_level)
        tested = p_values(found)
        for k, output in enumerate(outputs):
            yield StatisticDifference(
                self._subject(after, output),
                float(before.values[0, k]),
                float(after.values[0, k]),
                float(found.values[0, k]),
                float(found.standard_errors[0, k]),
                float(found.biases[0, k]),
                float(lower[0, k]),
                float(upper[0, k]),
                ChangeTest(float(tested[0, k])),
            )

    def _curves(
        self,
        before: ReplicatedStatistic,
        after: ReplicatedStatistic,
        outputs: Sequence[OutputPair],
    ) -> Iterator[CurveDifference]:
        found = self._difference(before, after)
        tested = compare_curves(found, self.options.confidence_level)
        band = tested.band
        for k, output in enumerate(outputs):
            yield CurveDifference(
                self._subject(after, output),
                before.grid,
                before.values[:, k],
                after.values[:, k],
                found.values[:, k],
                band.standard_errors[:, k],
                band.lower[:, k],
                band.upper[:, k],
                band.simultaneous_lower[:, k],
                band.simultaneous_upper[:, k],
                ChangeTest(float(tested.p_values[k])),
            )

    def _subject(self, statistic: ReplicatedStatistic, output: OutputPair) -> ComparedSubject:
        own = statistic.kind, statistic.features, statistic.group
        return ComparedSubject(self.index, *own, output.name)

    def _rankings(
        self,
        matched: Sequence[tuple[ReplicatedStatistic, ReplicatedStatistic]],
        outputs: Sequence[OutputPair],
    ) -> Iterator[OutputRankings]:
        """Yield the rankings of each output, by each kind of importance of two features or more."""
        kinds = dict.fromkeys(_SIZES[a.kind][0] for _, a in matched if a.kind in _SIZES)
        for kind in kinds:
            ranked = [(b, a) for b, a in matched if _SIZES.get(a.kind, ("",))[0] == kind]
            features = [after.features for _, after in ranked]
            if len(features) < 2:
                continue
            before, after = (
                np.stack([_sizes(pair[side]) for pair in ranked], 1) for side in (0, 1)
            )
            for k, output in enumerate(outputs):
                own = self._together(before[:, :, k], after[:, :, k])
                ranked_ones = most_important(own[0][0], own[1][0])
                found = compare_rankings(
                    [features[i] for i in ranked_ones],
                    own[0][:, ranked_ones],
                    own[1][:, ranked_ones],
                    self.options.leading_count,
                    self.options.confidence_level,
                )
                yield OutputRankings(self.index, kind, output.name, len(ranked_ones), found)

    def _together(self, before: Matrix, after: Matrix) -> tuple[Matrix, Matrix]:
        """Put replicates together, (1 + n, n_features), without those that lack a number."""
        count = min(len(before), len(after))
        before, after = before[:count], after[:count]
        if not self.is_paired:
            before = np.concatenate([before[:1], np.roll(before[1:], 1, axis=0)])
        known: Flags = np.array(np.isfinite(before + after).all(axis=1))
        known[:1] = True
        return before[known], after[known]


def _sizes(statistic: ReplicatedStatistic) -> Matrix:
    """Return the sizes of an importance and its replicates: (1 + n_replicates, n_outputs)."""
    _, to_size = _SIZES[statistic.kind]
    sizes: Matrix = to_size(np.concatenate([statistic.values, statistic.replicates[:, 0]]))
    return sizes
