"""Rankings: beside scipy and scikit-learn, and features that enter the first places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.methods.changes.places import have_changed_places
from onnxplain_server.methods.changes.rankings import (
    compare_rankings,
    kendall_tau,
    most_important,
    ndcg,
)
from scipy import stats
from sklearn.metrics import ndcg_score

FEATURES: list[tuple[str, ...]] = [("a",), ("b",), ("c",), ("d",)]
sizes = st.lists(st.integers(0, 6), min_size=4, max_size=4).map(lambda n: np.array(n, float))


@given(sizes, sizes)
def test_the_rank_correlation_agrees_with_scipy(before, after) -> None:
    expected = stats.kendalltau(before, after).statistic

    assert kendall_tau(before, after) == pytest.approx(expected, nan_ok=True)


@given(st.permutations([1.0, 2.0, 5.0, 9.0]), st.permutations([1.0, 2.0, 3.0, 4.0]))
def test_ndcg_agrees_with_scikit_learn(before, after) -> None:
    expected = ndcg_score([before], [after])

    assert ndcg(np.array(before), np.array(after)) == pytest.approx(expected)


def test_rankings_of_no_importance_are_not_compared() -> None:
    assert np.isnan(ndcg(np.zeros(3), np.arange(3.0)))
    assert np.isnan(kendall_tau(np.zeros(3), np.arange(3.0)))


def replicated(values, noise, seed=0):
    random = np.random.default_rng(seed)
    return np.abs(np.vstack([values, values + noise * random.normal(size=(200, len(values)))]))


def test_a_feature_that_surely_enters_the_first_places_is_told_with_all_replicates() -> None:
    before = replicated([9.0, 7.0, 2.0, 1.0], 0.1)
    after = replicated([9.0, 1.0, 2.0, 7.0], 0.1, seed=1)
    found = compare_rankings(FEATURES, before, after, 2, 0.9)

    told = [(c.features, c.reference_rank, c.rank) for c in found.leading_changes]
    assert told == [(("b",), 2, 4), (("d",), 4, 2)]
    assert [c.replicate_share for c in found.leading_changes] == [1.0, 1.0]
    assert found.same_leading_share == 0


def test_a_place_that_chance_gives_is_not_sure() -> None:
    before = replicated([9.0, 5.0, 4.98, 1.0], 1.0)
    after = replicated([9.0, 4.98, 5.0, 1.0], 1.0, seed=1)
    found = compare_rankings(FEATURES, before, after, 2, 0.9)

    assert [c.features for c in found.leading_changes] == [("b",), ("c",)]
    assert all(c.replicate_share < 0.9 for c in found.leading_changes)
    assert found.rank_correlation.lower < found.rank_correlation.value
    assert found.rank_correlation.upper == 1


def test_a_feature_between_two_that_change_places_has_not_moved() -> None:
    before, after = replicated([9, 5, 3, 1.0], 0.1), replicated([3, 5, 9, 1.0], 0.1, seed=1)
    ranked = compare_rankings(FEATURES, before, after, 2, 0.9).ranked

    assert ranked.have_moved.tolist() == [True, False, True, False]


@pytest.mark.parametrize("gaps", [pytest.param(0.0, id="ties"), pytest.param(0.7, id="near")])
def test_where_the_order_is_the_same_features_seldom_seem_to_move(gaps) -> None:
    random, true = np.random.default_rng(0), 20 + gaps * np.arange(10)
    false_alarms = 0
    for _ in range(300):
        sides = [true + random.normal(size=10) for _ in range(2)]
        first, second = (np.vstack([own, own + random.normal(size=(200, 10))]) for own in sides)
        false_alarms += int(have_changed_places(first, second, 0.9).any())

    assert false_alarms <= 300 * 0.1 + 2 * (300 * 0.1 * 0.9) ** 0.5


def test_of_thousands_of_features_the_first_of_either_side_are_compared() -> None:
    before, after = np.arange(2_000.0), np.arange(2_000.0)[::-1]

    chosen = most_important(before, after)
    assert chosen.tolist() == [*range(300), *range(1_700, 2_000)]
    assert most_important(before[:50], after[:50]).tolist() == [*range(50)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((9, 0, 0, 0), (9, 7, 0, 0), [("b", 5, 2)], id="a feature comes into use"),
        pytest.param((4, 3, 2, 0), (4, 3, 2, 1), [("d", 5, 4)], id="at the rank of ties at 0"),
        pytest.param((4, 3, 2, 0), (0, 0, 0, 0), [(n, i, 5) for i, n in enumerate("abc", 1)],
                     id="no feature is used any more"),
        pytest.param((4, 3, 1, 0), (4, 3, 1, 1e-14), [], id="a rounding of 0"),
    ],
)  # fmt: skip
def test_features_of_no_importance_are_never_leading(before, after, expected) -> None:
    sides = replicated(np.array(before), 0.0), replicated(np.array(after), 0.0)
    found = compare_rankings(FEATURES, *sides, 4, 0.9).leading_changes

    assert [(*c.features, c.reference_rank, c.rank) for c in found] == expected


@given(sizes, sizes, st.integers(1, 4))
def test_ranks_tell_which_features_entered_and_which_left(before, after, count) -> None:
    found = compare_rankings(FEATURES, before[None], after[None], count, 0.9).leading_changes

    def leading(values):
        first = sorted(range(4), key=lambda i: -values[i])[:count]
        return {FEATURES[i] for i in first if values[i] > 0}

    entered = {c.features for c in found if c.rank < c.reference_rank}
    left = {c.features for c in found if c.rank > c.reference_rank}
    assert entered == leading(after) - leading(before)
    assert left == leading(before) - leading(after)
