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
from onnxplain_server.methods.options import choose, within
from onnxplain_server.methods.resampling import Resampling, Spread, replicate, spread
from onnxplain_server.methods.strength import Clip, OneWay, Parts, of_joint, threshold
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
    resampling : Resampling
        Whether, and how, to tell the spread of the statistics.
    """

    features: tuple[str, ...] = ()
    pairwise_feature_count: int = 5
    threeway_feature_count: int = 0
    quantile_bin_count: int = 0
    absolute_threshold: float | None = None
    resampling: Resampling = field(default_factory=Resampling)


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
    """

    features: tuple[str, ...]
    numerators: Vector
    denominators: Vector
    spread: Spread | None = None

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
    """

    output_names: tuple[str, ...]
    mean_squares: Vector
    total: Statistic
    overall: tuple[Statistic, ...]
    pairwise: tuple[Statistic, ...]
    threeway: tuple[Statistic, ...]
    importance: tuple[Statistic, ...]
    resampling: Resampling = field(default_factory=Resampling)


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
    positions = [effects.background.features.index(name) for name in options.features]
    single = sum(effects.cost((j,)) for j in positions)
    batches = effects.batch_count(options.resampling.repeat_count)
    joint = _joint_bound(effects.for_joint(), options)
    return len(effects.background) + batches * (single + joint)


def compute(effects: Effects, options: Options, seed: int) -> Result:
    """Compute statistics of every order that is asked for."""
    measure = _Measure(effects, options)
    weights = effects.background.weights
    if options.resampling.repeat_count:
        replicates = replicate(options.resampling, weights, seed)
        weights = np.concatenate([weights[None], replicates])
    for batch in effects.batches(weights):
        measure.run(batch)
    return measure.result()


class _Measure:
    """Statistics under one set of weights after another; the first one chooses the pairs."""

    def __init__(self, effects: Effects, options: Options) -> None:
        self._effects = effects
        self._for_joint = effects.for_joint()
        self._options = options
        features = effects.background.features
        self._positions = sorted(features.index(name) for name in options.features)
        outputs, weights = effects.outputs(), effects.background.weights
        self._clip = Clip(threshold(outputs, weights, options.absolute_threshold))
        self._found: dict[tuple[str, tuple[int, ...]], list[Parts]] = {}
        self._chosen: dict[str, list[int]] = {}

    def run(self, weights: Array) -> None:
        """Measure under weights: (n_rows,) for the background's own, or (n_sets, n_rows)."""
        effects, several = self._effects, weights if weights.ndim == 2 else None
        one_way = OneWay(effects.outputs(), weights, self._clip)
        for single in effects.single(self._positions, several):
            overall, importance = one_way.add(single)
            self._keep("overall", (single.feature,), overall)
            self._keep("importance", (single.feature,), importance)
        self._keep("total", (), one_way.total())
        if not self._chosen:
            self._choose()
        self._run_joint(self._weights_for_joint(weights))

    def _run_joint(self, weights: Array) -> None:
        """Measure pairs and triples, on the rows of their own engine."""
        effects, several = self._for_joint, weights if weights.ndim == 2 else None
        pairs, triples = self._groups("pairwise", 2), self._groups("threeway", 3)
        needed = sum(effects.cost(group) for group in (*pairs, *triples))
        effects.settle(_joint_bound(effects, self._options) - needed)
        for order, groups in (("pairwise", pairs), ("threeway", triples)):
            for joint in effects.joint(groups, several):
                self._keep(order, joint.features, of_joint(joint, weights, self._clip))

    def result(self) -> Result:
        """Put the statistics together, in table order."""
        pairwise_count, threeway_count = _counts(self._options)
        return Result(
            self._effects.output_names,
            self._statistic("total", ()).denominators,
            self._statistic("total", ()),
            self._listed("overall", 1, self._positions),
            self._listed("pairwise", 2, self._padded("pairwise", pairwise_count)),
            self._listed("threeway", 3, self._padded("threeway", threeway_count)),
            self._listed("importance", 1, self._positions),
            self._options.resampling,
        )

    def _weights_for_joint(self, weights: Array) -> Array:
        """Leave out the weights of rows on which pairs are not computed."""
        if self._for_joint is self._effects:
            return weights
        taken, source = self._for_joint.background.source, self._effects.background.source
        return weights[..., np.isin(source, taken)]

    def _keep(self, order: str, group: tuple[int, ...], parts: Parts) -> None:
        self._found.setdefault((order, group), []).append(parts)

    def _choose(self) -> None:
        """Choose the features for pairs and triples by the first set of weights."""
        overall = [self._found["overall", (j,)][0].numerators for j in self._positions]
        first = np.array([np.atleast_2d(numerators)[0] for numerators in overall])
        pairwise_count, threeway_count = _counts(self._options)
        self._chosen = {
            "pairwise": _strongest(self._positions, first, pairwise_count),
            "threeway": _strongest(self._positions, first, threeway_count),
        }

    def _groups(self, order: str, size: int) -> list[tuple[int, ...]]:
        return list(combinations(self._chosen[order], size))

    def _padded(self, order: str, count: int) -> list[int]:
        """Fill a choice up to `count` features with the first ones not chosen."""
        chosen = self._chosen[order]
        spare = [j for j in self._positions if j not in chosen][: max(0, count - len(chosen))]
        return sorted((*chosen, *spare))

    def _listed(self, order: str, size: int, shown: Sequence[int]) -> tuple[Statistic, ...]:
        return tuple(self._statistic(order, group) for group in combinations(shown, size))

    def _statistic(self, order: str, group: tuple[int, ...]) -> Statistic:
        """Present what was measured; what was not, because it pads a list, is 0 of 1."""
        names = tuple(self._effects.background.features.names[j] for j in group)
        if (order, group) not in self._found:
            nothing = np.zeros(len(self._effects.output_names))
            return Statistic(names, nothing, nothing + 1)
        parts = self._found[order, group]
        numerators = np.concatenate([np.atleast_2d(part.numerators) for part in parts])
        denominators = np.concatenate([np.atleast_2d(part.denominators) for part in parts])
        values = _ratio(numerators, denominators)
        told = spread(self._options.resampling, values[0], values[1:]) if len(values) > 1 else None
        return Statistic(names, numerators[0], denominators[0], told)


def _ratio(numerators: Array, denominators: Array) -> Array:
    """Divide; 0 where both are 0."""
    share = np.zeros_like(numerators)
    nothing = (numerators == 0) & (denominators == 0)
    with np.errstate(divide="ignore"):
        return np.divide(numerators, denominators, out=share, where=~nothing)


def _counts(options: Options) -> tuple[int, int]:
    """Return how many features enter pairs and triples: never more than there are."""
    pairwise = min(options.pairwise_feature_count, len(options.features))
    return pairwise, min(options.threeway_feature_count, pairwise)


def _joint_bound(effects: Effects, options: Options) -> int:
    """Return an upper bound of the rows to predict for pairs and triples."""
    most, n_outputs = len(options.features), len(effects.output_names)
    pairwise, threeway = (min(count * n_outputs, most) for count in _counts(options))
    return (math.comb(pairwise, 2) + math.comb(threeway, 3)) * len(effects.background) ** 2


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
