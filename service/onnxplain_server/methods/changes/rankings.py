"""Rankings of features: how alike two are, and which features are new among the first.

Chance makes rankings of different importances less alike, and tells ties apart: neither the
percentile interval of replicates nor the basic one, reflected at the value, holds for both.
Intervals hold both.

Davison and Hinkley (1997), "Bootstrap Methods and their Application", section 5.2.

NDCG of SageMaker Clarify: with importances a of the reference, and features in the order of the
answer, sum of a / log2(rank + 1), over that of the features in the order of the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Flags, Indices, Matrix, Vector
from onnxplain_server.methods.changes.differences import ROUNDING
from onnxplain_server.methods.changes.places import have_changed_places

_MOST_RANKED = 300
"""Features of each side that are ranked: the time of a rank correlation grows with their square."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Measure of how alike two rankings are, with its interval."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class LeadingChange:
    """Feature that is among the first of one side only; see `LeadingChange` in the contract.

    Of equal sizes, the first given ranks first; a feature of size 0 ranks one after the number of
    features. So the rank is below that of the reference exactly where the feature is new.
    """

    features: tuple[str, ...]
    reference_rank: int
    rank: int
    replicate_share: float


@dataclass(frozen=True, slots=True, eq=False)
class RankedFeatures:
    """Features with their ranks on both sides; ranks as in `LeadingChange`.

    Attributes
    ----------
    features : list of tuple of str
    reference_ranks, ranks : (n_features,)
    have_moved : (n_features,)
        Whether a feature has another rank, and has changed places with one by more than chance.
    """

    features: list[tuple[str, ...]]
    reference_ranks: Indices
    ranks: Indices
    have_moved: Flags


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRanking:
    """Two rankings of the same features.

    Attributes
    ----------
    rank_correlation : Agreement
        Kendall's tau-b.
    ndcg : Agreement
    leading_changes : tuple of LeadingChange
    same_leading_share, no_new_share : float
        Of the replicates: in which the leading features are the same, and in which none is new.
    ranked : RankedFeatures
    """

    rank_correlation: Agreement
    ndcg: Agreement
    leading_changes: tuple[LeadingChange, ...]
    same_leading_share: float
    no_new_share: float
    ranked: RankedFeatures


def most_important(reference: Vector, answer: Vector) -> Indices:
    """Return the positions of the features that are compared: the first ones of either side."""
    first = [_order(sizes)[:_MOST_RANKED] for sizes in (reference, answer)]
    return np.union1d(*first)


def compare_rankings(
    features: list[tuple[str, ...]],
    reference: Matrix,
    answer: Matrix,
    leading_count: int,
    level: float,
) -> ComparedRanking:
    """Compare rankings by the sizes of importances.

    Parameters
    ----------
    reference, answer : (1 + n_replicates, n_features)
        Sizes, not negative: those of the rows, then of replicates that belong together.
    leading_count : int
        How many features are the leading ones.
    """
    before, after = _leading(reference, leading_count), _leading(answer, leading_count)
    ranks = [_ranks(sizes[0]) for sizes in (reference, answer)]
    changes = tuple(
        LeadingChange(
            features[i],
            int(ranks[0][i]),
            int(ranks[1][i]),
            _share((before[1:, i] == before[0, i]) & (after[1:, i] == after[0, i])),
        )
        for i in np.flatnonzero(before[0] != after[0])
    )
    same: Flags = (before[1:] == after[1:]).all(axis=1)
    no_new: Flags = np.array((before[1:] | ~after[1:]).all(axis=1))
    have_moved = (ranks[0] != ranks[1]) & _crossed(reference, answer, level)
    return ComparedRanking(
        _agreement(kendall_tau, reference, answer, level, -1.0),
        _agreement(ndcg, reference, answer, level, 0.0),
        changes,
        _share(same),
        _share(no_new),
        RankedFeatures(features, ranks[0], ranks[1], have_moved),
    )


def kendall_tau(reference: Vector, answer: Vector) -> float:
    """Return Kendall's tau-b of two lists of numbers: NaN where one has no order.

    Kendall (1945), "The Treatment of Ties in Ranking Problems", Biometrika 33(3), 239-251.
    """
    signs = [
        np.sign(_settled(values)[:, None] - _settled(values)) for values in (reference, answer)
    ]
    pairs = [float((own**2).sum()) for own in signs]
    if not all(pairs):
        return float("nan")
    return float((signs[0] * signs[1]).sum() / np.sqrt(pairs[0] * pairs[1]))


def ndcg(reference: Vector, answer: Vector) -> float:
    """Return the normalised discounted cumulative gain: NaN where the reference is 0 throughout."""
    discounts = 1 / np.log2(np.arange(len(reference)) + 2)
    best = float(reference[_order(reference)] @ discounts)
    return float(reference[_order(answer)] @ discounts) / best if best > 0 else float("nan")


def _agreement(
    measure: Callable[[Vector, Vector], float],
    reference: Matrix,
    answer: Matrix,
    level: float,
    least: float,
) -> Agreement:
    values = [measure(before, after) for before, after in zip(reference, answer, strict=True)]
    value, replicates = values[0], np.array(values[1:])
    known = replicates[~np.isnan(replicates)]
    if np.isnan(value) or len(known) < 2:
        return Agreement(value, float("nan"), float("nan"))
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    ends = min(low, 2 * value - high), max(high, 2 * value - low)
    lower, upper = np.clip(ends, least, 1.0).tolist()
    return Agreement(value, lower, upper)


def _crossed(reference: Matrix, answer: Matrix, level: float) -> Flags:
    before, after = (np.apply_along_axis(_settled, 1, sizes) for sizes in (reference, answer))
    return have_changed_places(before, after, level)


def _leading(sizes: Matrix, count: int) -> Flags:
    """Tell which features are among the first, without those of size 0."""
    flags: Flags = np.stack([_ranks(row) <= min(count, len(row)) for row in sizes])
    return flags


def _ranks(sizes: Vector) -> Indices:
    """Rank features by size, from 1, each its own rank; those of size 0 one after the last."""
    ranks = np.empty(len(sizes), np.intp)
    ranks[_order(sizes)] = np.arange(1, len(sizes) + 1)
    ranks[~(_settled(sizes) > 0)] = len(sizes) + 1  # NaN too
    return ranks


def _order(sizes: Vector) -> Indices:
    """Return the positions of features, the largest first."""
    return np.argsort(-_settled(sizes), kind="stable")


def _settled(values: Vector) -> Vector:
    """Return numbers of which roundings of equal ones are equal."""
    step = np.abs(values).max(initial=0.0) * ROUNDING
    settled: Vector = np.round(values / step) if step > 0 else values
    return settled


def _share(said: Flags) -> float:
    return float(said.mean()) if len(said) else float("nan")
