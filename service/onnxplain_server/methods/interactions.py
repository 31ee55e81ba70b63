r"""Interaction statistics of Friedman and Popescu: which features act together, how strongly.

Friedman and Popescu (2008), "Predictive Learning via Rule Ensembles", Annals of
Applied Statistics 2(3), 916-954, section 8.1. doi:10.1214/07-AOAS148

Below, F is a partial dependence at the rows' own values, centred to weighted
mean zero, f the centred prediction, and every sum a weighted mean over rows:

    H²      =  Σ (f − Σ_j F_j)²  /  Σ f²
    H²_j    =  Σ (f − F_j − F_\j)²  /  Σ f²
    H²_jk   =  Σ (F_jk − F_j − F_k)²  /  Σ F_jk²
    H²_jkl  =  Σ (F_jkl − F_jk − F_jl − F_kl + F_j + F_k + F_l)²  /  Σ F_jkl²
    importance_j  =  Σ (f − F_\j)²  /  Σ f²
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from onnxplain_server.arrays import Array, Matrix, Vector
from onnxplain_server.effects.effects import Effects
from onnxplain_server.effects.quantiles import to_bin_midpoints
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.methods.knots import check_knots
from onnxplain_server.methods.measuring import Measure, Plan
from onnxplain_server.methods.options import choose, within
from onnxplain_server.methods.permutation_test import PermutationTest
from onnxplain_server.methods.resampling import (
    Resampling,
    Spread,
    effective_count,
    replicate,
    spread,
)
from onnxplain_server.model import Note
from onnxplain_server.rows import Features


@dataclass(frozen=True, slots=True)
class Options:
    """What to compute; see `InteractionsOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        In table order; empty, before `resolve`, for all.
    pairwise_feature_count, threeway_feature_count : int
        How many of the features that interact most enter pairs and triples.
    quantile_bin_count : int
        0, or the number of quantile bins that replace dense features.
    absolute_threshold : float or None
        Numerators below it count as 0; None: relative to the predictions.
    knot_count : int
        0, or the number of knots between which effects of dense features are interpolated.
    resampling : Resampling
        Whether, and how, to tell the spread of the statistics.
    permutation_count : int
        0, or how often to permute each term to test whether it explains the target.
    """

    features: tuple[str, ...] = ()
    pairwise_feature_count: int = 5
    threeway_feature_count: int = 0
    quantile_bin_count: int = 0
    absolute_threshold: float | None = None
    knot_count: int = 0
    resampling: Resampling = field(default_factory=Resampling)
    permutation_count: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """A statistic of some features, kept as the two parts of its ratio.

    Attributes
    ----------
    features : tuple of str
        Empty for the total.
    numerators, denominators : (n_outputs,)
        Mean squares; output unit squared.
    spread : Spread or None
        Of the values; None where rows are not resampled.
    p_values : (n_outputs,) or None
        Of the term whose mean square is the numerator; None where it is not tested.
    numerator_errors : (n_outputs,) or None
        Estimated, of interpolation; None where effects are not interpolated.
    """

    features: tuple[str, ...]
    numerators: Vector
    denominators: Vector
    spread: Spread | None = None
    p_values: Vector | None = None
    numerator_errors: Vector | None = None

    @property
    def values(self) -> Vector:
        """Their ratio; 0 where both are 0."""
        return _ratio(self.numerators, self.denominators)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Statistics of every order, in table order; see `InteractionsResult` in the contract.

    Attributes
    ----------
    output_names : tuple of str
    mean_squares : (n_outputs,)
        Mean squares of the centred predictions; output unit squared.
    total : Statistic
    overall, pairwise, threeway, importance : tuple of Statistic
    resampling : Resampling
    notes : tuple of Note
    """

    output_names: tuple[str, ...]
    mean_squares: Vector
    total: Statistic
    overall: tuple[Statistic, ...]
    pairwise: tuple[Statistic, ...]
    threeway: tuple[Statistic, ...]
    importance: tuple[Statistic, ...]
    resampling: Resampling = field(default_factory=Resampling)
    notes: tuple[Note, ...] = ()


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features, and refuse what is impossible.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    features = choose(options.features, names, f"{path}.features")
    if len(features) < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"interactions need at least 2 features; {len(features)} given",
            f"{path}.features",
        )
    within(options.pairwise_feature_count, 0, 100, f"{path}.pairwise_feature_count")
    within(options.threeway_feature_count, 0, 50, f"{path}.threeway_feature_count")
    if options.quantile_bin_count:
        within(options.quantile_bin_count, 2, 10_000, f"{path}.quantile_bin_count")
    if options.knot_count:
        check_knots(options.knot_count, options.quantile_bin_count, path)
    if options.absolute_threshold is not None:
        within(options.absolute_threshold, 0, math.inf, f"{path}.absolute_threshold")
    within(options.permutation_count, 0, 100_000, f"{path}.permutation_count")
    options.resampling.check(path)
    return replace(options, features=tuple(name for name in names if name in features))


def approximate(features: Features, options: Options) -> Features:
    """Replace dense numeric features by the midpoints of quantile bins, where asked for."""
    if not options.quantile_bin_count:
        return features
    columns = list(features.columns)
    for j, name in enumerate(features.names):
        if name in options.features and columns[j].dtype != object:
            binned = to_bin_midpoints(columns[j], options.quantile_bin_count)
            columns[j] = np.rint(binned) if features.is_whole(j) else binned
    return replace(features, columns=tuple(columns))


def cost(effects: Effects, options: Options) -> int:
    """Return an upper bound of the rows to predict."""
    plan = _plan(effects, options)
    single = sum(effects.cost((j,)) for j in plan.positions)
    batches = effects.batch_count(options.resampling.repeat_count)
    joint = plan.joint_bound(effects.for_joint())
    return len(effects.background) + batches * (single + joint)


def compute(effects: Effects, options: Options, seed: int, actual: Matrix | None = None) -> Result:
    """Compute statistics of every order that is asked for.

    Parameters
    ----------
    actual : (n, n_outputs)
        True values of the background's rows; only where terms are tested, on a background that
        keeps every row.
    """
    test = None if actual is None else _test(effects, options, seed, actual)
    batch_count = effects.batch_count(options.resampling.repeat_count)
    measure = Measure(effects, _plan(effects, options), test, batch_count)
    weights = effects.background.weights
    if options.resampling.repeat_count:
        replicates = replicate(options.resampling, weights, seed)
        weights = np.concatenate([weights[None], replicates])
    for batch in effects.batches(weights):
        measure.run(batch)
    presented = _Presented(effects, options, measure)
    total = presented.one("total", ())
    return Result(
        effects.output_names,
        total.denominators,
        total,
        presented.all("overall", 1),
        presented.all("pairwise", 2),
        presented.all("threeway", 3),
        presented.all("importance", 1),
        options.resampling,
        presented.below_threshold(options.absolute_threshold),
    )


def _plan(effects: Effects, options: Options) -> Plan:
    """Count features as they are: never more enter pairs and triples than there are."""
    features = effects.background.features
    positions = sorted(features.index(name) for name in options.features)
    pairwise = min(options.pairwise_feature_count, len(positions))
    threeway = min(options.threeway_feature_count, pairwise)
    return Plan(tuple(positions), pairwise, threeway, options.absolute_threshold)


def _test(effects: Effects, options: Options, seed: int, actual: Matrix) -> PermutationTest:
    rows = effects.background
    residuals = actual - effects.outputs()
    return PermutationTest(
        options.permutation_count, seed, residuals, rows.weights, lambda: effects.settle(0)
    )


class _Presented:
    """What was measured, as statistics in table order."""

    def __init__(self, effects: Effects, options: Options, measure: Measure) -> None:
        self._names = effects.background.features.names
        self._nothing = np.zeros(len(effects.output_names))
        self._resampling = options.resampling
        self._row_count = effective_count(effects.background.weights)
        self._is_tested = options.permutation_count > 0
        self._measure = measure

    def all(self, order: str, size: int) -> tuple[Statistic, ...]:
        """List the statistics of so many features each."""
        shown = self._measure.shown(order)
        return tuple(self.one(order, group) for group in combinations(shown, size))

    def below_threshold(self, absolute: float | None) -> tuple[Note, ...]:
        """Name the terms that the threshold has set to 0, though they are not negligible."""
        cut = self._measure.cut
        if not cut:
            return ()
        terms = dict.fromkeys(
            _term(order, tuple(self._names[j] for j in group)) for order, group in cut
        )
        message = (
            f"{', '.join(list(terms)[:_NAMED])}{' and others' * (len(terms) > _NAMED)}: told as 0, "
            f"but up to {max(cut.values()):.2g} of the mean square of the predictions. "
            + (_ROUNDED if absolute is None else _ASKED)
        )
        return (Note("BELOW_THRESHOLD", message),)

    def one(self, order: str, group: tuple[int, ...]) -> Statistic:
        """Present one; what was not measured, because it pads a list, is 0 of 1."""
        names = tuple(self._names[j] for j in group)
        found = self._measure.found.get((order, group))
        if found is None:
            nothing = self._nothing
            p_values = nothing + 1 if self._is_tested else None
            errors = None if self._measure.found["total", ()][0].errors is None else nothing
            return Statistic(names, nothing, nothing + 1, None, p_values, errors)
        numerators = np.concatenate([np.atleast_2d(part.numerators) for part in found])
        denominators = np.concatenate([np.atleast_2d(part.denominators) for part in found])
        values = _ratio(numerators, denominators)
        told = self._spread(values) if len(values) > 1 else None
        p_values = self._measure.p_values(order, group)
        return Statistic(names, numerators[0], denominators[0], told, p_values, found[0].errors)

    def _spread(self, values: Matrix) -> Spread:
        return spread(self._resampling, values[0], values[1:], self._row_count)


_NAMED = 8
_ROUNDED = (
    "They are below what rounding of predictions as large as these can bring about, so that they "
    "may be nothing or something. Export the model in float64, or without the large number that "
    "all its predictions contain; absolute_threshold sets another threshold."
)
_ASKED = "They are below absolute_threshold; lower it, or leave it out."


def _term(order: str, names: tuple[str, ...]) -> str:
    """Name a statistic."""
    if order == "total":
        return "total"
    return f"{order} {' × '.join(map(repr, names))}"


def _ratio(numerators: Array, denominators: Array) -> Array:
    """Divide; 0 where nothing varies, whatever interpolation leaves of a numerator there."""
    divided = (denominators != 0) | np.isnan(numerators)
    return np.divide(numerators, denominators, out=np.zeros_like(numerators), where=divided)
