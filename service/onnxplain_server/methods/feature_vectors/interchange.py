"""Interchangeable features: those with the same neighbours on paths, and seldom near each other.

All features share a direction, that of the frequent ones, because counts are never negative. So
counts are compared after what independence gives is taken off, and on all their dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.cluster import hierarchy

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.feature_vectors.cooccurrence import (
    Cooccurrence,
    CountingUnit,
    Rule,
    count,
)
from onnxplain_server.methods.feature_vectors.paths import Counts, Paths

MIN_SIMILARITY = 0.6
MAX_LIFT = 1.04
MAX_OVER_OWN = 1.7
"""Factor, in both directions."""
MIN_FEATURES = 4
"""Fewer features have too few neighbours to be compared by."""
MIN_REPEAT_SHARE = 0.5
_NEVER = 0.05
"""Lift that counts as none: it is added to both parts of a ratio of lifts."""
_ROUNDING = 1e-9
"""Share of a feature's count below which the length of its residuals is rounding."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two interchangeable features; see `InterchangeablePair` in the contract.

    Attributes
    ----------
    first, second : int
        Positions among the features, ascending.
    repeat_share : float or None
        None without repetitions.
    """

    first: int
    second: int
    adjusted_similarity: float
    lift: float
    lift_over_own: float
    repeat_share: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Interchange:
    """How alike features are used.

    Attributes
    ----------
    features : (n,)
        Positions of the features that are compared.
    similarity : (n, n)
        Cosines between residuals of counts; NaN for a feature without any.
    lift : (n, n)
        Counts over what independence gives.
    over_own : (n, n)
        Lifts of two features over the geometric mean of each one's lift with itself.
    feature_count : int
        Of all features.
    """

    features: Indices
    similarity: Matrix
    lift: Matrix
    over_own: Matrix
    feature_count: int

    @property
    def holds(self) -> Matrix:
        """Whether the rule holds: (n, n) of bool."""
        alike = np.nan_to_num(self.similarity, nan=-1.0) >= MIN_SIMILARITY
        apart = self.lift <= MAX_LIFT
        as_own = np.abs(np.log(self.over_own)) <= np.log(MAX_OVER_OWN)
        holds: Matrix = alike & apart & as_own
        return holds

    @property
    def whole(self) -> Matrix:
        """Similarity of all features, NaN where one is not compared."""
        whole = np.full((self.feature_count,) * 2, np.nan)
        whole[np.ix_(self.features, self.features)] = self.similarity
        return whole


def split_pairs(paths: Paths, rule: Rule, weights: Counts | None = None) -> Cooccurrence:
    """Count ordered pairs of splits nearer than the window is long, once in each path.

    Unlike the counts that are embedded, a feature is counted beside itself: the splits of two
    copies are then those of one feature, handed out at random.

    Returns
    -------
    sparse (n_features, n_features)
        Symmetric.
    """
    return count(paths, replace(rule, counting=CountingUnit.PER_PATH, fill_diagonal=True), weights)


def compare(pairs: Cooccurrence, chosen: Indices) -> Interchange:
    """Compare how features are used.

    With counts C, their row sums n and total N, independence gives E = n nᵀ / N. Residuals are
    (C - E) / √E, of which rows are compared: those of copies are proportional, also in the
    columns of the copies themselves.

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
    alone = np.sqrt(np.diag(lift) + _NEVER)
    over_own = (lift + _NEVER) / np.outer(alone, alone)
    return Interchange(chosen, similarity, lift, over_own, len(totals))


def similarity_order(similarity: Matrix) -> Indices:
    """Order features so that similar ones stand together: (n,); those without any at the end.

    Average linkage of the angles, with leaves ordered.
    """
    known = np.flatnonzero(np.isfinite(np.diag(similarity)))
    rest = np.setdiff1d(np.arange(len(similarity)), known)
    if len(known) < 3:
        return np.concatenate([known, rest])
    apart = np.arccos(np.clip(similarity[np.ix_(known, known)], -1, 1))
    condensed = apart[np.triu_indices(len(known), 1)]
    tree = hierarchy.optimal_leaf_ordering(hierarchy.linkage(condensed, "average"), condensed)
    return np.concatenate([known[hierarchy.leaves_list(tree)], rest])


def stable_pairs(found: Interchange, repeats: Sequence[Matrix]) -> tuple[Pair, ...]:
    """Pairs for which the rule holds, and in repetitions often enough; the most similar first.

    Parameters
    ----------
    repeats : sequence of (n, n) of bool
        Whether the rule holds in each repetition.
    """
    holds = np.triu(found.holds, 1)
    shares = np.mean(repeats, axis=0) if len(repeats) else None
    if shares is not None:
        holds = np.logical_and(holds, shares >= MIN_REPEAT_SHARE)
    pairs = [
        Pair(
            int(found.features[i]),
            int(found.features[j]),
            float(found.similarity[i, j]),
            float(found.lift[i, j]),
            float(found.over_own[i, j]),
            None if shares is None else float(shares[i, j]),
        )
        for i, j in np.argwhere(holds).tolist()
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.adjusted_similarity))
