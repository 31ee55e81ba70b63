"""Gate: rules about an answer and its change, each of which HOLDS, FAILS, or is UNDECIDED.

A rule is a comparison, as `change <= 0.01`, over the value of the reference, that of the answer,
and their difference. Its margin is the larger side less the smaller one, at values that are
corrected for their bias. Margins of all statistics that a rule is about have one sup-t band (see
`resampling.bands`) from replicates. The rule HOLDS where the band of each margin is at 0 or above,
of < and > above 0, FAILS where that of one is below, of < and > at 0 or below, and is UNDECIDED
otherwise: at the level, neither claim is made by chance, however many statistics there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.language import ColumnValues, Expression, evaluate_unchecked
from onnxplain_server.language.tree import Computation, Node
from onnxplain_server.methods.changes.comparison import MEAN_SQUARES
from onnxplain_server.methods.changes.found import Changes, ComparedSubject
from onnxplain_server.methods.changes.matching import (
    KeptStatistics,
    MatchedStatistics,
    OutputPair,
    at_common_points,
    match,
)
from onnxplain_server.methods.changes.rules import NAMES, GateFinding, GateRule
from onnxplain_server.methods.resampling import Deviations, ReplicatedStatistic


def judge(
    rules: Sequence[GateRule],
    pairs: Sequence[tuple[int, KeptStatistics, KeptStatistics]],
    changes: Changes,
    *,
    is_paired: bool,
    are_classes: bool,
) -> Iterator[GateFinding]:
    """Judge each rule; arguments are those, and the result, of `comparison.compare`."""
    statistics = [
        judged
        for index, *sides in pairs
        for judged in _statistics(index, match(*sides, are_classes=are_classes))
    ]
    for rule in rules:
        if rule.condition is None:
            yield _of_leading(rule, changes)
            continue
        own = [each for each in statistics if _is_about(rule, each.subject)]
        yield _of_condition(rule, rule.condition, own, is_paired=is_paired)


def _statistics(index: int, found: MatchedStatistics) -> Iterator[_JudgedStatistic]:
    for pair in found.pairs:
        common = _at_points(pair)
        point_count = len(pair[0].values)
        for k, output in enumerate(found.outputs):
            sides = _one_output(*common, k) if common else None
            missed = point_count - (len(sides[0].values) if sides else 0)
            yield _JudgedStatistic(_subject(index, pair[1], output), sides, missed)


def _at_points(
    pair: tuple[ReplicatedStatistic, ReplicatedStatistic],
) -> tuple[ReplicatedStatistic, ReplicatedStatistic] | None:
    return at_common_points(*pair) if pair[0].grid else pair


def _subject(index: int, statistic: ReplicatedStatistic, output: OutputPair) -> ComparedSubject:
    own = statistic.kind, statistic.features, statistic.group
    return ComparedSubject(index, *own, output.name)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Values of one side, (n_points,), and replicates: (n_replicates, n_points)."""

    values: Vector
    replicates: Matrix
    unit_count: float


@dataclass(frozen=True, slots=True, eq=False)
class _JudgedStatistic:
    """Both sides of a statistic, None without points in common, and how many points are missed."""

    subject: ComparedSubject
    sides: tuple[_Side, _Side] | None
    missed_count: int


def _one_output(
    before: ReplicatedStatistic, after: ReplicatedStatistic, output: int
) -> tuple[_Side, _Side]:
    first, second = (
        _Side(each.values[:, output], each.replicates[:, :, output], each.unit_count)
        for each in (before, after)
    )
    return first, second


def _is_about(rule: GateRule, subject: ComparedSubject) -> bool:
    return (
        subject.kind == rule.kind
        and rule.features in {frozenset(), frozenset(subject.features)}
        and rule.group in {"", subject.group}
        and rule.output in {"", subject.output_name}
    )


def _of_condition(
    rule: GateRule,
    condition: Expression,
    given: Sequence[_JudgedStatistic],
    *,
    is_paired: bool,
) -> GateFinding:
    statistics = [(each.subject, *each.sides) for each in given if each.sides]
    if not statistics:
        what = "curves have no points in common" if given else "both answers have no such statistic"
        return GateFinding(rule, "UNDECIDED", reason=what)
    parts = [_margins(condition, *each, is_paired=is_paired) for each in statistics]
    count = min(len(part.replicates) for part in parts)
    margins = np.concatenate([part.margins for part in parts])
    replicates = np.concatenate([part.replicates[:count] for part in parts], axis=1)
    if not np.isfinite(margins).all():
        return GateFinding(rule, "UNDECIDED", reason="the condition is not finite")
    units = min(side.unit_count for _, *sides in statistics for side in sides)
    lower, upper = _band(margins, replicates, rule.level, units)
    if np.isnan(lower).any():
        return GateFinding(rule, "UNDECIDED", reason="replicates are too few")
    verdict = _verdict(condition, lower, upper)
    at = int(np.argmin(upper if verdict == "FAILS" else lower))
    owner = int(np.repeat(np.arange(len(parts)), [len(p.margins) for p in parts])[at])
    place = at - sum(len(part.margins) for part in parts[:owner])
    subject, before, after = statistics[owner]
    point = place % len(before.values)
    return GateFinding(
        rule,
        verdict,
        subject,
        reference_value=float(before.values[point]),
        value=float(after.values[point]),
        margin=float(margins[at]),
        lower=float(lower[at]),
        upper=float(upper[at]),
        count=sum(len(side.values) for _, side, _ in statistics),
        missed_count=sum(each.missed_count for each in given),
    )


def _band(
    margins: Vector, replicates: Matrix, level: float, unit_count: float
) -> tuple[Vector, Vector]:
    """Return the ends of the band that holds all margins at once: (n_margins,) each."""
    deviations = Deviations()
    around = (replicates - _mean(replicates))[:, :, None]
    deviations.add(around, np.abs(replicates).max(axis=(0, 1), keepdims=True)[0])
    band = deviations.band(margins[:, None], level, unit_count)
    return band.simultaneous_lower[:, 0], band.simultaneous_upper[:, 0]


def _verdict(condition: Expression, lower: Vector, upper: Vector) -> str:
    """Judge by the band of the margins: at 0, what is to be smaller is equal."""
    is_strict = _comparison(condition).name in {"<", ">"}
    holds, fails = (lower > 0, upper <= 0) if is_strict else (lower >= 0, upper < 0)
    return "HOLDS" if holds.all() else "FAILS" if fails.any() else "UNDECIDED"


def _comparison(condition: Expression) -> Computation:
    assert isinstance(condition.root, Computation)  # noqa: S101 - by `is_condition`
    return condition.root


@dataclass(frozen=True, slots=True, eq=False)
class _Margins:
    """Margins of a statistic, (n_margins,), and of its replicates: (n_replicates, n_margins).

    There are one or two for each point, those of the second side of an absolute value last.
    """

    margins: Vector
    replicates: Matrix


def _margins(
    condition: Expression,
    subject: ComparedSubject,
    before: _Side,
    after: _Side,
    *,
    is_paired: bool,
) -> _Margins:
    count = min(len(before.replicates), len(after.replicates))
    drawn = [before.replicates[:count], after.replicates[:count]]
    drawn[0] = drawn[0] if is_paired else np.roll(drawn[0], 1, axis=0)
    is_square = subject.kind in MEAN_SQUARES
    own = [
        2 * side.values - _mean(side.replicates) if is_square else side.values
        for side in (before, after)
    ]
    shape = drawn[0].shape
    first, second = (
        np.concatenate([values, replicates.ravel()])
        for values, replicates in zip(own, drawn, strict=True)
    )
    columns = ColumnValues(dict(zip(NAMES, (first, second, second - first), strict=True)))
    sides = [_numbers(condition, side, columns) for side in _sides(condition)]
    points = shape[1]
    return _Margins(
        np.concatenate([side[:points] for side in sides]),
        np.concatenate([side[points:].reshape(shape) for side in sides], axis=1),
    )


def _mean(replicates: Matrix) -> Vector:
    """Average the replicates that have rows: (n_points,), NaN without any."""
    known = replicates[np.isfinite(replicates).all(axis=1)]
    return known.mean(axis=0) if len(known) else np.full(replicates.shape[1], np.nan)


def _numbers(condition: Expression, side: tuple[Node, Node], columns: ColumnValues) -> Vector:
    """Return the larger part of a comparison less the smaller one."""
    small, large = (
        evaluate_unchecked(Expression(condition.text, condition.path, node), columns)
        for node in side
    )
    margins: Vector = np.broadcast_to(large - small, columns[NAMES[0]].shape)
    return margins


def _sides(condition: Expression) -> Iterator[tuple[Node, Node]]:
    """Yield what is to be smaller, and what larger: twice for a bounded absolute value."""
    root = _comparison(condition)
    left, right = root.operands
    small, large = (right, left) if root.name.startswith(">") else (left, right)
    if not isinstance(small, Computation) or small.name != "abs":
        yield small, large
        return
    inner = small.operands[0]
    yield inner, large
    yield Computation("negative", (inner,), small.kind, small.place), large


def _of_leading(rule: GateRule, changes: Changes) -> GateFinding:
    """Judge that no feature is new among the leading ones, by the share of the replicates."""
    rankings = [
        each
        for each in changes.rankings
        if each.kind == rule.kind and rule.output in {"", each.output_name}
    ]
    if not rankings:
        return GateFinding(rule, "UNDECIDED", reason="both answers have no such ranking")
    entered = [
        (change, each)
        for each in rankings
        for change in each.ranking.leading_changes
        if change.rank < change.reference_rank
    ]
    if entered:
        change, of = max(entered, key=lambda pair: pair[0].replicate_share)
        is_sure = change.replicate_share >= rule.level
        subject = ComparedSubject(
            of.explanation_index, of.kind, change.features, "", of.output_name
        )
        before = change.reference_rank
        ranks = float(before) if before <= of.feature_count else float("inf"), float(change.rank)
        reason = f"new in {change.replicate_share:.0%} of the replicates"
        verdict = "FAILS" if is_sure else "UNDECIDED"
        return GateFinding(rule, verdict, subject, *ranks, count=len(rankings), reason=reason)
    share = min(each.ranking.no_new_share for each in rankings)
    reason = f"none is new in {share:.0%} of the replicates"
    verdict = "HOLDS" if share >= rule.level else "UNDECIDED"
    return GateFinding(rule, verdict, count=len(rankings), reason=reason)
