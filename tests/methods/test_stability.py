"""Conclusions that hold in replicates: ranks with intervals, strongest pairs, signs of slopes."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.methods.resampling import Sizes, ranks, slope_weights, slopes, strongest

NAMES = [("a",), ("b",), ("c",)]


def sizes(values, errors, seed: int = 0, count: int = 2_000) -> Sizes:
    """Sizes with independent errors, and replicates of them."""
    random = np.random.default_rng(seed)
    values = np.array(values, float)
    replicates = values + random.normal(size=(count, len(values))) * errors
    return Sizes(NAMES, values[:, None], replicates[:, :, None], ("y",))


def test_a_rank_is_stable_only_where_no_other_comes_near() -> None:
    first, second, third = ranks(sizes([1, 5, 1.1], [0.1, 0.1, 0.1]), 0.9, 1e6)

    assert [(one.features, one.rank) for one in (first, second, third)] == [
        (("b",), 1),
        (("c",), 2),
        (("a",), 3),
    ]
    assert [one.is_stable for one in (first, second, third)] == [True, False, False]
    # By law: a difference of 0.1 with the standard error 0.1 √2 keeps its sign with 76 %.
    assert second.replicate_share == pytest.approx(0.76, abs=0.03)
    assert [(one.rank_lower, one.rank_upper) for one in (first, second, third)] == [
        (1, 1),
        (2, 3),
        (2, 3),
    ]


def test_intervals_of_ranks_hold_the_true_ranks() -> None:
    """Of 300 draws at 90 %, for each feature; close ones have wide intervals."""
    true, held = np.array([1.0, 1.3, 2.0]), np.zeros(3)
    for seed in range(300):
        drawn = true + np.random.default_rng([seed, 1]).normal(size=3) * 0.3
        found = {one.features: one for one in ranks(sizes(drawn, 0.3, seed, 200), 0.9, 1e6)}
        for j, rank in enumerate((3, 2, 1)):
            one = found[NAMES[j]]
            held[j] += one.rank_lower <= rank <= one.rank_upper
    assert (held / 300 >= 0.9).all()


def test_equal_effects_share_a_rank_and_unknown_ones_have_none() -> None:
    values = np.array([[2.0], [2.0 + 1e-15], [np.nan]])
    found = list(ranks(Sizes(NAMES, values, np.repeat(values[None], 5, axis=0), ("y",)), 0.9, 9))

    assert {(one.features[0], one.rank, one.is_stable) for one in found} == {
        ("a", 1, True),
        ("b", 1, True),
    }


def test_the_strongest_pair_is_stable_where_it_leads_in_the_replicates() -> None:
    (clear,), (close,) = (
        strongest(sizes([1, 5, second], [0.1, 0.1, 0.1])) for second in (1.0, 4.9)
    )

    assert (clear.features, clear.is_stable) == (("b",), True)
    assert (close.features, close.is_stable) == (("b",), False)


def test_a_slope_is_that_of_the_weighted_line_through_the_points() -> None:
    random = np.random.default_rng(0)
    points, weights, values = random.normal(size=(3, 9))
    weights = np.abs(weights)

    found = slope_weights(points, weights)

    assert found is not None
    expected = np.polynomial.polynomial.polyfit(points, values, 1, w=np.sqrt(weights))[1]
    spread = np.sqrt(np.cov(points, aweights=weights, ddof=0))
    assert found @ values == pytest.approx(expected * spread)
    assert slope_weights(points, 1e300 * weights) == pytest.approx(found)


def test_a_slope_has_the_sign_of_most_replicates_and_a_rounding_has_none() -> None:
    drawn, of = np.array([[1.0], [3.0], [-1.0], [2.0]]), (("a",), "", ("y",))

    (rising,) = slopes(*of, np.array([2.0]), drawn, np.array([5.0]))
    assert list(slopes(*of, np.array([2e-15]), drawn, np.array([5.0]))) == []
    assert (rising.sign, rising.replicate_share, rising.is_stable) == (1, 0.75, False)


@pytest.mark.parametrize(
    ("points", "weights"),
    [
        (np.array(["u", "v"], object), np.ones(2)),
        (np.array([1.0, np.nan]), np.ones(2)),
        (np.array([1.0, 2.0]), np.array([1.0, 0.0])),
    ],
    ids=["texts", "one number", "rows at one point"],
)
def test_no_line_goes_through_texts_or_a_single_point(points, weights) -> None:
    assert slope_weights(points, weights) is None
