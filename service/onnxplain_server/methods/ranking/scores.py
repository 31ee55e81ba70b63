"""Scores of rankings: rows of a query are ordered by the predictions, and by the true values.

`ndcg` equals scikit-learn's `ndcg_score`, ties included; for one query and a target of two values,
`pairwise_accuracy` is the area under the ROC curve.
"""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.effects.weighted_mean import mean
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.ranking.queries import Queries

_WEIGHT_ROUNDING = 1e-9
"""Relative difference of weights of one query that is rounding."""


def rank_score(  # noqa: PLR0917 - all that a ranking depends on
    loss: Loss,
    actual: Vector,
    predicted: Vector,
    weights: Vector,
    queries: Queries,
    rank_count: int | None,
) -> float:
    """Compute the score of one output.

    Parameters
    ----------
    loss : Loss
        NDCG or PAIRWISE_ACCURACY.
    actual, predicted : (n_rows,)
    weights : (n_rows,)
        Positive.
    queries : Queries
        Of the rows.
    rank_count : int or None
        First rows of each query that NDCG looks at; None: all.

    Returns
    -------
    float
        NaN where no query has rows to tell apart.

    Raises
    ------
    ExplainError
        Those of `ndcg`.
    """
    if loss is Loss.PAIRWISE_ACCURACY:
        return pairwise_accuracy(actual, predicted, weights, queries.codes)
    return ndcg(actual, predicted, weights, queries.codes, rank_count)


def ndcg(
    actual: Vector, predicted: Vector, weights: Vector, codes: Indices, rank_count: int | None
) -> float:
    """Return the normalized discounted cumulative gain, averaged over queries.

    The gain of a row is its true value, and rows of equal predictions share theirs. A query whose
    true values are all 0 has none, and is left out. A query has the weight of its rows.

    Järvelin and Kekäläinen (2002), "Cumulated Gain-based Evaluation of IR Techniques", ACM
    Transactions on Information Systems 20(4), 422-446.

    Raises
    ------
    ExplainError
        INVALID_OPTION for negative true values, INVALID_WEIGHTS for different weights in a query.
    """
    _check_gains(actual)
    codes = np.unique(codes, return_inverse=True)[1]
    sizes = np.bincount(codes)
    own = _query_weights(weights, codes, sizes)
    starts = np.cumsum(sizes) - sizes
    places = np.arange(len(codes)) - np.repeat(starts, sizes)
    discounts = 1 / np.log2(places + 2.0)
    if rank_count is not None:
        discounts[places >= rank_count] = 0.0
    order = np.lexsort((-predicted, codes))
    ties = _runs(codes[order], predicted[order])
    shared = np.bincount(ties, actual[order]) / np.bincount(ties)
    gains = np.bincount(codes[order], shared[ties] * discounts)
    ideal_order = np.lexsort((-actual, codes))
    ideal = np.bincount(codes[ideal_order], actual[ideal_order] * discounts)
    has_gain = ideal > 0
    if not has_gain.any():
        return np.nan
    return float(mean((gains[has_gain] / ideal[has_gain])[:, None], own[has_gain])[0])


def _check_gains(actual: Vector) -> None:
    if (actual < 0).any():
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"for NDCG true values must not be negative; they begin at {actual.min():g}",
            "loss",
        )


def _query_weights(weights: Vector, codes: Indices, sizes: Indices) -> Vector:
    """Return the weights of the queries: those of their rows, which must be equal."""
    own: Vector = np.bincount(codes, weights) / sizes
    if (np.abs(weights - own[codes]) > _WEIGHT_ROUNDING * own[codes]).any():
        raise ExplainError(
            Reason.INVALID_WEIGHTS,
            "rows of one query have different weights, and NDCG weighs whole queries; give the "
            "rows of a query one weight, or use PAIRWISE_ACCURACY, which weighs pairs",
            "weight_column",
        )
    return own


def pairwise_accuracy(actual: Vector, predicted: Vector, weights: Vector, codes: Indices) -> float:
    """Return the share of pairs that the predictions order as the true values do; ties count half.

    Pairs are two rows of a query with different true values; a pair weighs the product of its
    weights. Time grows with n log² n.
    """
    # In this order all pairs but those of equal true values have the larger true value last; these
    # have the larger prediction first, and so count for nothing, or for half where it is equal too.
    order = np.lexsort((-predicted, actual, codes))
    codes, actual = codes[order], actual[order]
    predicted, weights = predicted[order], weights[order]
    equal = _runs(codes, actual)
    in_query = _pairs(weights, codes)
    pairs = in_query - _pairs(weights, equal)
    if not pairs > 0:
        return np.nan
    # Ranks of predictions ascend with the query, so that all pairs of two queries are in order.
    ranks = np.empty(len(codes), np.intp)
    by_rank = np.lexsort((predicted, codes))
    ranks[by_rank] = _runs(codes[by_rank], predicted[by_rank])
    across = weights.sum() ** 2 / 2 - np.sum(np.bincount(codes, weights) ** 2) / 2
    alike = _pairs(weights, _runs(equal, predicted)) / 2
    ordered = _ordered(ranks, weights) - across - alike
    return float(np.clip(ordered / pairs, 0.0, 1.0))


def agreement(actual: Vector, predicted: Vector, queries: Queries) -> float:
    """Return how far predictions agree with true values, in standard errors of a random order.

    The products of ranks within queries are added up; rows that are shuffled within each query have
    a sum of 0 on average, with a variance that is known, ties included. Weights do not count.

    Returns
    -------
    float
        0 where no query has rows to tell apart.
    """
    codes = np.unique(queries.codes, return_inverse=True)[1]
    sizes = np.bincount(codes)
    first, second = (_centered_ranks(values, codes) for values in (actual, predicted))
    squares = np.bincount(codes, first**2) * np.bincount(codes, second**2)
    variance = float(np.sum(squares / np.maximum(sizes - 1, 1)))
    return float(first @ second) / np.sqrt(variance) if variance > 0 else 0.0


def _centered_ranks(values: Vector, codes: Indices) -> Vector:
    """Return ranks within queries with mean 0, equal values at the middle of theirs: (n_rows,)."""
    order = np.lexsort((values, codes))
    runs = np.empty(len(codes), np.intp)
    runs[order] = _runs(codes[order], values[order])
    counts = np.bincount(runs)
    ranks: Vector = (np.cumsum(counts) - counts / 2)[runs]
    return ranks - (np.bincount(codes, ranks) / np.bincount(codes))[codes]


def _runs(*keys: Array) -> Indices:
    """Number the runs of rows with equal keys, from 0: (n_rows,)."""
    is_new = np.zeros(len(keys[0]), np.bool_)
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return np.cumsum(is_new)


def _pairs(weights: Vector, groups: Indices) -> float:
    """Return the weight of all pairs of two rows of a group."""
    sums = np.bincount(groups, weights)
    squares = np.bincount(groups, weights**2)
    return float((sums**2 - squares).sum() / 2)


def _ordered(ranks: Indices, weights: Vector) -> float:
    """Return the weight of pairs whose later row has the larger rank; equal ranks count half.

    Halves of blocks are compared, of blocks that double in size, as in a merge sort.
    """
    by_rank = np.argsort(ranks, kind="stable")
    total, size = 0.0, 1
    while size < len(ranks):
        order = by_rank[np.argsort(by_rank // (2 * size), kind="stable")]
        block, own = order // (2 * size), weights[order]
        is_early = order // size % 2 == 0
        groups = _runs(block, ranks[order])
        early = np.bincount(groups, own * is_early)
        late = np.bincount(groups, own * ~is_early)
        before = np.cumsum(early) - early
        firsts = np.flatnonzero(np.diff(groups, prepend=-1))
        blocks = _runs(block[firsts])
        base = before[np.flatnonzero(np.diff(blocks, prepend=-1))][blocks]
        total += float(late @ (before - base + early / 2))
        size *= 2
    return total
