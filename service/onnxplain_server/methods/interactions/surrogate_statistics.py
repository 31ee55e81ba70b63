"""Interaction statistics of a model by a surrogate: values, standard errors and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.interactions.measurement_plan import strongest
from onnxplain_server.methods.interactions.options import Options
from onnxplain_server.methods.interactions.pair_choice import FEWEST_PAIRS, FEWEST_PER_OUTPUT
from onnxplain_server.methods.interactions.result import Result, Statistic, ratio
from onnxplain_server.methods.interactions.strength import Clip
from onnxplain_server.methods.interactions.surrogate_measurement import (
    FEWEST_BLOCKS,
    MeasuredOutput,
    SurrogateMeasurement,
    SurrogateSizes,
)
from onnxplain_server.methods.resampling import ReplicateSpread, mean_square_interval
from onnxplain_server.methods.surrogates.row_blocks import Group
from onnxplain_server.methods.surrogates.shrinkage import Estimates
from onnxplain_server.methods.surrogates.shrinkage import estimate as estimate_alike

Key: TypeAlias = tuple[str, Group]
_TARGETED = {"total", "overall", "pairwise"}
"""Orders whose numerators have a target error."""
_LOW_FIDELITY = 0.5
_OWN_PAIR_SHARE = 0.5
"""Least part of a pair's denominator that its interval may leave, before it is widened."""


@dataclass(frozen=True, slots=True)
class EstimatedSquare:
    """Estimate of one output's mean square, with an interval that holds the value: all finite."""

    value: float
    unbiased: float
    error: float
    reach: float

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end; see `mean_square_interval`."""
        center, reach = np.atleast_1d(self.unbiased), np.atleast_1d(self.reach)
        lower, upper = mean_square_interval(np.maximum(center, 0), center, reach)
        return min(float(lower[0]), self.value), max(float(upper[0]), self.value)


class AskedEstimate(NamedTuple):
    """Question that an estimate answers.

    Attributes
    ----------
    names : sequence of str
        Features of the model.
    output_names : tuple of str
    options : Options
    clip : Clip
        Sets mean squares that are rounding errors to 0.
    because : str
        Why they are estimated, where the request did not ask for that.
    """

    names: Sequence[str]
    output_names: tuple[str, ...]
    options: Options
    clip: Clip
    because: str = ""


def compute_by_surrogate(
    measure: SurrogateMeasurement,
    asked: AskedEstimate,
    tell: Callable[[Result], object] = lambda _result: None,
) -> Result:
    """Estimate the statistics: in rounds, where there is a target error.

    Parameters
    ----------
    measure : SurrogateMeasurement
    asked : AskedEstimate
    tell : callable (Result)
        Takes the estimate of each round but the last.
    """

    def choose(sizes: SurrogateSizes) -> Sequence[Group]:
        return _pairs(sizes, asked.options, measure, len(asked.output_names))

    target = asked.options.target_error
    if target is None:
        return _result(_Estimate.of(measure, measure.run(choose), asked), asked)
    for outputs in measure.rounds(choose):
        estimate = _Estimate.of(measure, outputs, asked)
        result = _result(estimate, asked)
        if estimate.largest_error <= target or measure.is_spent:
            break
        tell(result)
    return result


class _Estimate(NamedTuple):
    """Estimates of all outputs: mean squares by order and features, and how well trees fit."""

    measure: SurrogateMeasurement
    tables: Sequence[Mapping[Key, EstimatedSquare]]
    fidelity: float

    @classmethod
    def of(
        cls, measure: SurrogateMeasurement, outputs: Sequence[MeasuredOutput], asked: AskedEstimate
    ) -> _Estimate:
        """Estimate like statistics together."""
        level = asked.options.resampling.confidence_level
        tables = [_intervals(own, level) for own in outputs]
        return cls(measure, tables, min(own.fidelity for own in outputs))

    @property
    def largest_error(self) -> float:
        """Largest standard error of a numerator, as a share of the predictions' mean square."""
        errors = [
            each.error / square
            for own, square in zip(self.tables, self.measure.squares.tolist(), strict=True)
            for (order, _), each in own.items()
            if order in _TARGETED and square > 0
        ]
        return max(errors, default=0.0)


def _result(estimate: _Estimate, asked: AskedEstimate) -> Result:
    measure, tables = estimate.measure, estimate.tables
    names, squares = asked.names, measure.squares
    exact = [EstimatedSquare(square, square, 0.0, 0.0) for square in squares.tolist()]

    def of(order: str, group: Group) -> Statistic:
        own = tuple(names[j] for j in group)
        numerators = [table[order, group] for table in tables]
        joint = [table["joint", group] for table in tables] if order == "pairwise" else exact
        return _statistic(own, numerators, joint, asked.clip)

    def of_all(order: str, groups: Sequence[Group]) -> tuple[Statistic, ...]:
        return tuple(of(order, group) for group in groups)

    single = [(j,) for j in measure.features]
    return Result(
        asked.output_names,
        squares,
        of("total", ()),
        of_all("overall", single),
        of_all("pairwise", measure.pairs),
        (),
        of_all("importance", single),
        asked.options.resampling,
        (_note(estimate, asked),),
    )


def _pairs(
    sizes: SurrogateSizes, options: Options, measure: SurrogateMeasurement, output_count: int
) -> Sequence[Group]:
    """Choose pairs: those of the features asked for, or all that the predictions suffice for."""
    features = measure.features
    asked = options.pairwise_feature_count
    if asked is not None:
        chosen = strongest(features, sizes.overall, min(asked, len(features)))
        spare = [j for j in features if j not in chosen][: max(0, asked - len(chosen))]
        return list(combinations(sorted((*chosen, *spare)), 2))
    limit = max(pair_limit(output_count), measure.units_left // FEWEST_BLOCKS)
    ranked = sorted(sizes.pairs, key=lambda pair: -sizes.pairs[pair])
    return sorted(ranked[:limit])


def pair_limit(output_count: int) -> int:
    """Return the fewest pairs that are estimated where a request does not say how many."""
    return max(FEWEST_PAIRS, FEWEST_PER_OUTPUT * output_count)


def _intervals(own: MeasuredOutput, level: float) -> dict[Key, EstimatedSquare]:
    """Estimate statistics of one output, like ones together."""
    found: dict[Key, EstimatedSquare] = {}
    for order in ("total", "overall", "importance", "pairwise", "joint"):
        keys = [key for key in own.parts if key[0] == order]
        if keys:
            estimates = estimate_alike([own.parts[key] for key in keys])
            found |= zip(keys, _with_reach(estimates, level), strict=True)
    return found


def _with_reach(estimates: Estimates, level: float) -> list[EstimatedSquare]:
    from scipy.special import stdtrit  # noqa: PLC0415 - other engines load none of it

    reach = stdtrit(estimates.freedom, 0.5 + level / 2) * estimates.errors
    columns = estimates.values, estimates.unbiased, estimates.errors, reach
    return [EstimatedSquare(*map(float, row)) for row in zip(*columns, strict=True)]


def _statistic(
    names: tuple[str, ...],
    numerators: Sequence[EstimatedSquare],
    denominators: Sequence[EstimatedSquare],
    clip: Clip,
) -> Statistic:
    """Return a statistic of all outputs."""
    above = clip(np.array([own.value for own in numerators]))
    below = np.array([own.value for own in denominators])
    values = ratio(above, below)
    spreads = [
        _spread(value, *parts)
        for value, parts in zip(
            values.tolist(), zip(numerators, denominators, strict=True), strict=True
        )
    ]
    spread = ReplicateSpread(*np.array(spreads).T)
    return Statistic(names, above, below, spread)


def _spread(
    value: float, above: EstimatedSquare, below: EstimatedSquare
) -> tuple[float, float, float, float]:
    """Return standard error, ends of the interval and bias of a ratio of two mean squares.

    Their errors are taken as independent, which overstates that of their ratio where they are
    estimated from the same hybrids. Where the denominator may be a small part of its estimate, a
    ratio is not about linear in it: the interval then holds the ratios to both ends of it, up
    to 1. Nothing is known of a ratio to an estimate of 0 that may be more: 0 to 1.
    """
    if below.value == 0:
        return (1.0, 0.0, 1.0, 0.0) if below.reach > 0 else (0.0, 0.0, 0.0, 0.0)
    if below.unbiased - below.reach < _OWN_PAIR_SHARE * below.value:
        (low, high), (least, most) = above.ends, below.ends
        high = min(high / least, 1.0) if least > 0 else 1.0
        error = np.hypot(above.error, value * below.error) / below.value
        return float(error), low / most, max(high, value), 0.0
    center = above.unbiased / below.unbiased
    error = np.hypot(above.error, center * below.error) / below.unbiased
    reach = np.hypot(above.reach, center * below.reach) / below.unbiased
    low, high = EstimatedSquare(value, center, float(error), float(reach)).ends
    return float(error), low, high, value - center


def _note(estimate: _Estimate, asked: AskedEstimate) -> Note:
    fidelity, because = estimate.fidelity, asked.because
    of_outputs = " for the output where it is lowest" if len(estimate.tables) > 1 else ""
    doubt = (
        " So it helps little, and the intervals are as wide as hybrid rows alone make them."
        if fidelity < _LOW_FIDELITY
        else ""
    )
    subject = f"As {because}, interactions" if because else "Interactions"
    smaller = (
        "ask for the engine SURROGATE with a larger budget_predicted_row_count, or for BLACK_BOX"
        if because
        else "raise budget_predicted_row_count"
    )
    message = (
        f"{subject} are estimates from {estimate.measure.predicted_count:,} predicted hybrid "
        f"rows, by boosted trees that explain {max(fidelity, 0):.1%} of the variance of hybrid "
        f"rows that they have not seen{of_outputs}.{doubt}{_reached(estimate, asked)} Standard "
        "errors and intervals are those of the estimate for these rows; for smaller ones, "
        f"{smaller}."
    )
    return Note(MethodWarning.ESTIMATED_BY_SURROGATE, message)


def _reached(estimate: _Estimate, asked: AskedEstimate) -> str:
    """Tell whether the target error was reached, if there is one."""
    target, error = asked.options.target_error, estimate.largest_error
    if target is None:
        return ""
    is_spent = estimate.measure.is_spent
    rest = "the budget was spent before it was reached" if is_spent else "more rows are predicted"
    return (
        f" The largest standard error of a numerator is {error:.2g} of the predictions' mean "
        f"square; target_error is {target:.2g}{'' if error <= target else f', and {rest}'}."
    )
