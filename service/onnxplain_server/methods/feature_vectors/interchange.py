"""Interchangeable features: similar neighbours on decision paths, but rarely near each other.

Counts are never negative, so all features share the direction of the frequent ones. Therefore
residuals from independence are compared, in all dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.cluster import hierarchy

from onnxplain_server.core.arrays import Counts, Indices, Matrix
from onnxplain_server.methods.feature_vectors.cooccurrence import (
    Cooccurrence,
    CountingUnit,
    Rule,
    count,
)
from onnxplain_server.methods.feature_vectors.paths import Paths

MIN_SIMILARITY = 0.6
MAX_LIFT = 1.04
MAX_OVER_OWN = 1.7
"""Factor, in both directions."""
MIN_FEATURES = 4
"""Least number of features; fewer have too few neighbours to compare."""
MIN_REPEAT_SHARE = 0.5
_SMOOTHING = 0.05
"""Lift added to both parts of a ratio of lifts."""
_ROUNDING = 1e-9
"""Squared length of residuals, relative to a feature's count, due to rounding."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Pair of interchangeable features; see `InterchangeablePair` in the contract.

    Attributes
    ----------
    first, second : int
        Positions among the features, ascending.
    repeat_share : float or None
        Share of repetitions in which the rule holds; None without.
    """

    first: int
    second: int
    adjusted_similarity: float
    lift: float
    lift_over_own: float
    repeat_share: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Interchange:
    """Comparison of features by their counts.

    Attributes
    ----------
    features : (n,)
        Positions of the compared features.
    similarity : (n, n)
        Cosines between residuals of counts; NaN for features without residuals.
    lift : (n, n)
        Counts over their expectation under independence.
    over_own : (n, n)
        Lift of two features over the geometric mean of their lifts with themselves.
    feature_count : int
        Number of all features.
    """

    features: Indices
    similarity: Matrix
    lift: Matrix
    over_own: Matrix
    feature_count: int

    @property
    def holds(self) -> Matrix:
        """Return whether the rule of interchangeable pairs holds: (n, n) of bool."""
        alike = np.nan_to_num(self.similarity, nan=-1.0) >= MIN_SIMILARITY
        apart = self.lift <= MAX_LIFT
        as_own = np.abs(np.log(self.over_own)) <= np.log(MAX_OVER_OWN)
        holds: Matrix = alike & apart & as_own
        return holds

    @property
    def whole(self) -> Matrix:
        """Similarity of all features, NaN for those not compared."""
        whole = np.full((self.feature_count,) * 2, np.nan)
        whole[np.ix_(self.features, self.features)] = self.similarity
        return whole


def split_pairs(paths: Paths, rule: Rule, weights: Counts | None = None) -> Cooccurrence:
    """Count ordered pairs of splits within the window, once per path.

    Unlike in the embedded counts, pairs of one feature count: the splits of two copies are those
    of one feature, distributed at random.

    Returns
    -------
    sparse (n_features, n_features)
        Symmetric.
    """
    return count(paths, replace(rule, counting=CountingUnit.PER_PATH, fill_diagonal=True), weights)


def compare(pairs: Cooccurrence, chosen: Indices) -> Interchange:
    """Compare features by the residuals of their counts.

    With counts C, their row sums n and total N, independence gives E = n nᵀ / N. Residuals are
    (C - E) / √E, compared by row: rows of copies are proportional, also in the columns of the
    copies themselves.

    Parameters
    ----------
    pairs : sparse (n_features, n_features)
        As from `split_pairs`.
    chosen : (n,)
        Features to compare.
    """
    counts = pairs.astype(np.float64).tocsr()
    totals = np.asarray(counts.sum(axis=1)).ravel()
    own = totals[chosen]
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.where(totals > 0, 1 / np.sqrt(totals), 0.0)
        rows = (
            sparse.diags_array(roots[chosen]) @ counts[chosen] @ sparse.diags_array(roots)
        ).tocsr()
        products = totals.sum() * (rows @ rows.T).toarray() - np.sqrt(np.outer(own, own))
        lengths = np.sqrt(np.maximum(np.diag(products), 0))
        lengths = np.where(lengths**2 > _ROUNDING * own, lengths, np.nan)
        similarity = np.clip(products / np.outer(lengths, lengths), -1, 1)
        lift = counts[chosen][:, chosen].toarray() * totals.sum() / np.outer(own, own)
    own_lift = np.sqrt(np.diag(lift) + _SMOOTHING)
    over_own = (lift + _SMOOTHING) / np.outer(own_lift, own_lift)
    return Interchange(chosen, similarity, lift, over_own, len(totals))


def similarity_order(similarity: Matrix) -> Indices:
    """Order features so that similar ones are adjacent: (n,); those without similarity last.

    Average linkage of angles, with optimal leaf ordering.
    """
    compared = np.flatnonzero(np.isfinite(np.diag(similarity)))
    rest = np.setdiff1d(np.arange(len(similarity)), compared)
    if len(compared) < 3:
        return np.concatenate([compared, rest])
    apart = np.arccos(np.clip(similarity[np.ix_(compared, compared)], -1, 1))
    condensed = apart[np.triu_indices(len(compared), 1)]
    tree = hierarchy.optimal_leaf_ordering(hierarchy.linkage(condensed, "average"), condensed)
    return np.concatenate([compared[hierarchy.leaves_list(tree)], rest])


def stable_pairs(comparison: Interchange, repeats: Sequence[Matrix]) -> tuple[Pair, ...]:
    """Return the pairs for which the rule holds, also in most repetitions; most similar first.

    Parameters
    ----------
    repeats : sequence of (n, n) of bool
        Whether the rule holds in each repetition.
    """
    holds = np.triu(comparison.holds, 1)
    shares = np.mean(repeats, axis=0) if len(repeats) else None
    if shares is not None:
        holds = np.logical_and(holds, shares >= MIN_REPEAT_SHARE)
    pairs = [
        Pair(
            int(comparison.features[i]),
            int(comparison.features[j]),
            float(comparison.similarity[i, j]),
            float(comparison.lift[i, j]),
            float(comparison.over_own[i, j]),
            None if shares is None else float(shares[i, j]),
        )
        for i, j in np.argwhere(holds).tolist()
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.adjusted_similarity))
