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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from onnxplain_server.arrays import Matrix, Vector
from onnxplain_server.effects.effects import Effects
from onnxplain_server.effects.quantiles import to_bin_midpoints
from onnxplain_server.effects.weighted import center, mean, mean_square
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.methods.options import choose, within
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
    """

    features: tuple[str, ...] = ()
    pairwise_feature_count: int = 5
    threeway_feature_count: int = 0
    quantile_bin_count: int = 0
    absolute_threshold: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """A statistic of some features, kept as the two parts of its ratio.

    Attributes
    ----------
    features : tuple of str
        Empty for the total.
    numerators, denominators : (n_outputs,)
        Mean squares; output unit squared.
    """

    features: tuple[str, ...]
    numerators: Vector
    denominators: Vector

    @property
    def values(self) -> Vector:
        """Their ratio; 0 where both are 0."""
        share = np.zeros_like(self.numerators)
        nothing = (self.numerators == 0) & (self.denominators == 0)
        with np.errstate(divide="ignore"):
            return np.divide(self.numerators, self.denominators, out=share, where=~nothing)


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
    """

    output_names: tuple[str, ...]
    mean_squares: Vector
    total: Statistic
    overall: tuple[Statistic, ...]
    pairwise: tuple[Statistic, ...]
    threeway: tuple[Statistic, ...]
    importance: tuple[Statistic, ...]


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
    if options.absolute_threshold is not None:
        within(options.absolute_threshold, 0, math.inf, f"{path}.absolute_threshold")
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
    positions = [effects.background.features.index(name) for name in options.features]
    single = sum(effects.cost((j,)) for j in positions)
    return len(effects.background) + single + _joint_bound(effects, options)


def compute(effects: Effects, options: Options) -> Result:
    """Compute statistics of every order that is asked for."""
    f, weights = center(effects.outputs(), effects.background.weights), effects.background.weights
    squares = mean_square(f, weights)
    clip = _Clip(_threshold(effects.outputs(), squares, options.absolute_threshold))
    positions = sorted(effects.background.features.index(name) for name in options.features)
    left, overall, importance = f.copy(), [], []
    for single in effects.single(positions):
        name = (effects.background.features.names[single.feature],)
        own, others = center(single.own, weights), center(single.others, weights)
        left -= own
        overall.append(Statistic(name, clip(mean((f - own - others) ** 2, weights)), squares))
        importance.append(Statistic(name, clip(mean((f - others) ** 2, weights)), squares))
    numerators = np.array([statistic.numerators for statistic in overall])
    pairwise, threeway = _joint(effects, options, positions, numerators, clip)
    return Result(
        effects.output_names,
        squares,
        Statistic((), clip(mean(left**2, weights)), squares),
        tuple(overall),
        pairwise,
        threeway,
        tuple(importance),
    )


class _Clip:
    """Sets numerators that are rounding error to exactly 0; leaves NaN alone."""

    def __init__(self, threshold: Vector) -> None:
        self._threshold = threshold

    def __call__(self, numerators: Vector) -> Vector:
        return np.where(numerators < self._threshold, 0.0, numerators)


def _threshold(outputs: Matrix, squares: Vector, absolute: float | None) -> Vector:
    """Return, per output, the numerator below which there is only rounding: (n_outputs,).

    Models predict in float32, so that an effect that is nothing may be off by
    some units in the last place of the largest prediction.
    """
    if absolute is not None:
        return np.full_like(squares, absolute)
    rounding = 4 * 2.0**-24 * np.abs(outputs).max(axis=0)
    threshold: Vector = np.maximum(1e-10 * squares, rounding**2)
    return threshold


def _counts(options: Options) -> tuple[int, int]:
    """Return how many features enter pairs and triples: never more than there are."""
    pairwise = min(options.pairwise_feature_count, len(options.features))
    return pairwise, min(options.threeway_feature_count, pairwise)


def _joint_bound(effects: Effects, options: Options) -> int:
    """Return an upper bound of the rows to predict for pairs and triples."""
    most, n_outputs = len(options.features), len(effects.output_names)
    pairwise, threeway = (min(count * n_outputs, most) for count in _counts(options))
    return (math.comb(pairwise, 2) + math.comb(threeway, 3)) * len(effects.background) ** 2


def _joint(
    effects: Effects, options: Options, positions: Sequence[int], numerators: Matrix, clip: _Clip
) -> tuple[tuple[Statistic, ...], tuple[Statistic, ...]]:
    """Compute pairs and triples of the features that interact most."""
    pairwise_count, threeway_count = _counts(options)
    pair_features = _strongest(positions, numerators, pairwise_count)
    triple_features = _strongest(positions, numerators, threeway_count)
    pairs = list(combinations(pair_features, 2))
    triples = list(combinations(triple_features, 3))
    needed = sum(effects.cost(group) for group in (*pairs, *triples))
    effects.settle(_joint_bound(effects, options) - needed)
    shown_in_pairs = _pad(positions, pair_features, pairwise_count)
    shown_in_triples = _pad(positions, triple_features, threeway_count)
    return (
        _statistics(effects, pairs, combinations(shown_in_pairs, 2), clip),
        _statistics(effects, triples, combinations(shown_in_triples, 3), clip),
    )


def _strongest(positions: Sequence[int], numerators: Matrix, count: int) -> list[int]:
    """Choose the features that interact most: so many of each output, those at 0 never.

    Parameters
    ----------
    numerators : (n_features, n_outputs)
        Of the overall statistic; not normalised, as outputs may differ in scale.

    Returns
    -------
    list of int
        The union over outputs, in table order.
    """
    chosen: set[int] = set()
    for column in numerators.T:
        ranked = np.argsort(-column, kind="stable")
        chosen.update(positions[i] for i in ranked[:count] if column[i] > 0)
    return sorted(chosen)


def _pad(positions: Sequence[int], chosen: Sequence[int], count: int) -> list[int]:
    """Fill a choice up to `count` features with the first ones not chosen."""
    spare = [j for j in positions if j not in chosen][: max(0, count - len(chosen))]
    return sorted((*chosen, *spare))


def _statistics(
    effects: Effects,
    groups: Sequence[tuple[int, ...]],
    shown: Iterable[tuple[int, ...]],
    clip: _Clip,
) -> tuple[Statistic, ...]:
    """Compute groups, and list them among those shown; what is not computed is 0 of 1."""
    weights, names = effects.background.weights, effects.background.features.names
    computed = {
        joint.features: (
            clip(mean_square(joint.pure, weights)),
            mean_square(joint.whole, weights),
        )
        for joint in effects.joint(groups)
    }
    nothing = np.zeros(len(effects.output_names))
    return tuple(
        Statistic(tuple(names[j] for j in group), *computed.get(group, (nothing, nothing + 1)))
        for group in shown
    )
