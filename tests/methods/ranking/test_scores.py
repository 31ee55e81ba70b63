"""Scores of rankings: by hand, by scikit-learn, by the definition, and by laws of weights."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.ranking.queries import Queries, one_query
from onnxplain_server.methods.ranking.scores import agreement, ndcg, pairwise_accuracy, rank_score
from sklearn.metrics import ndcg_score, roc_auc_score

SEEDS = st.integers(0, 10**6)


def ranking(seed: int, size: int):
    """Few values, so that there are ties, in queries of several sizes that are not in order."""
    rng = np.random.default_rng(seed)
    actual, predicted = (rng.integers(0, 4, size).astype(float) for _ in range(2))
    return actual, predicted, rng.integers(1, 4, size).astype(float), rng.integers(0, 4, size)


def test_a_gain_is_worked_by_hand() -> None:
    """Query 0 puts 1 before 3: 1 + 3/log2(3) of 3 + 1/log2(3); query 1 is in order."""
    actual, predicted = np.array([3.0, 1, 0, 2]), np.array([1.0, 2, 5, 9])
    codes, log = np.array([0, 0, 1, 1]), np.log2(3)

    found = ndcg(actual, predicted, np.ones(4), codes, None)

    assert found == pytest.approx(((1 + 3 / log) / (3 + 1 / log) + 1) / 2)
    first = ndcg(actual, predicted, np.array([1.0, 1, 3, 3]), codes, 1)
    assert first == pytest.approx((1 / 3 + 3) / 4)


@given(SEEDS, st.integers(2, 6), st.integers(2, 9), st.sampled_from([None, 1, 3, 20]))
def test_gains_are_those_of_scikit_learn(seed: int, queries: int, size: int, k: int | None) -> None:
    rng = np.random.default_rng(seed)
    actual = rng.integers(0, 4, (queries, size)) + np.eye(queries, size)  # none is all 0
    actual[:, 0] += 1
    predicted, weights = rng.integers(0, 5, (queries, size)), rng.uniform(0.1, 2, queries)
    rows, codes = rng.permutation(queries * size), np.repeat(np.arange(queries), size)

    found = ndcg(
        actual.ravel()[rows],
        predicted.ravel()[rows].astype(float),
        np.repeat(weights, size)[rows],
        codes[rows],
        k,
    )

    expected = ndcg_score(actual, predicted, k=k, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-12)


@given(SEEDS, st.integers(2, 30))
def test_pairs_are_those_of_the_definition(seed: int, size: int) -> None:
    y, p, w, q = ranking(seed, size)
    pairs = [(i, j) for i, j in combinations(range(size), 2) if q[i] == q[j] and y[i] != y[j]]
    total = sum(w[i] * w[j] for i, j in pairs)
    right = sum(w[i] * w[j] * (1 + np.sign((y[i] - y[j]) * (p[i] - p[j]))) / 2 for i, j in pairs)

    found = pairwise_accuracy(y, p, w, q)

    assert found == pytest.approx(right / total if total else np.nan, abs=1e-12, nan_ok=True)


@given(SEEDS)
def test_one_query_of_two_values_has_the_area_under_the_curve(seed: int) -> None:
    y, p, w, _ = ranking(seed, 40)
    is_high = (y > 1).astype(float)

    found = pairwise_accuracy(is_high, p, w, one_query(40).codes)

    assert found == pytest.approx(roc_auc_score(is_high, p, sample_weight=w))


@given(SEEDS)
def test_a_weight_stands_for_repeated_rows_and_queries(seed: int) -> None:
    """Of pairs, rows of a query are no pair of the same true value, so that repeats add none."""
    y, p, w, q = ranking(seed, 25)
    repeated = np.repeat(np.arange(25), w.astype(int))
    once = np.ones(len(repeated))
    assert pairwise_accuracy(y, p, w, q) == pytest.approx(
        pairwise_accuracy(y[repeated], p[repeated], once, q[repeated]), nan_ok=True
    )

    of_query = np.array([1.0, 2, 3, 2])
    copies = [np.flatnonzero(q == k) for k in range(4) for _ in range(int(of_query[k]))]
    rows = np.concatenate(copies)
    own = np.repeat(np.arange(len(copies)), [len(copy) for copy in copies])
    assert ndcg(y, p, of_query[q], q, 2) == pytest.approx(
        ndcg(y[rows], p[rows], np.ones(len(rows)), own, 2), nan_ok=True
    )


def test_agreement_is_in_errors_of_all_orders_within_queries() -> None:
    """By all 3! · 2! orders: the sum of products of ranks has the spread that is counted with."""
    y, p, q = np.array([1.0, 1, 3, 2, 5]), np.array([2.0, 4, 9, 7, 1]), np.array([0, 0, 0, 1, 1])
    queries = Queries(q)
    orders = [[*a, *b] for a in permutations(range(3)) for b in permutations((3, 4))]

    found = np.array([agreement(y, p[order], queries) for order in orders])

    assert found.mean() == pytest.approx(0)
    assert found.std() == pytest.approx(1)
    assert agreement(y, -p, queries) == pytest.approx(-agreement(y, p, queries))
    assert agreement(np.ones(5), p, queries) == 0


def test_queries_that_tell_nothing_are_left_out() -> None:
    y, p, one = np.array([0.0, 0, 2, 1]), np.array([1.0, 2, 2, 1]), np.ones(4)

    assert ndcg(y, p, one, np.array([0, 0, 1, 1]), None) == 1
    assert pairwise_accuracy(y, p, one, np.array([0, 0, 1, 1])) == 1
    assert np.isnan(ndcg(np.zeros(4), p, one, np.zeros(4, int), None))
    assert np.isnan(pairwise_accuracy(np.ones(4), p, one, np.zeros(4, int)))


@pytest.mark.parametrize(
    ("actual", "weights", "reason", "words"),
    [
        ([-1.0, 2], [1.0, 1], Reason.INVALID_OPTION, "must not be negative; they begin at -1"),
        ([1.0, 2], [1.0, 2], Reason.INVALID_WEIGHTS, "rows of one query have different weights"),
    ],
)
def test_gains_without_a_meaning_are_refused(actual, weights, reason: Reason, words: str) -> None:
    given_ = np.array(actual), np.arange(2.0), np.array(weights)
    with pytest.raises(ExplainError, match=words) as refused:
        rank_score(Loss.NDCG, *given_, Queries(np.zeros(2, np.intp)), None)
    assert refused.value.reason is reason
