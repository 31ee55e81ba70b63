"""Permuted features: only the trees that test these descend again."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.trees.test_exact import drawn, grown

WIDTH = 12


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1), targets=st.integers(1, 3))
def test_permutations_are_those_of_all_trees(regressor, engine, seed, targets) -> None:
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 3, WIDTH, targets) for _ in range(6)]
    rows = drawn(rng, int(rng.integers(2, 20)), WIDTH)
    bound = engine(regressor(trees, WIDTH), rows)
    n = len(bound.background)
    own = np.stack(bound.background.columns, axis=1)
    orders = [rng.permutation(n) for _ in range(3)]
    features = rng.choice(WIDTH, int(rng.integers(1, 3)), replace=False).tolist()

    predicted = bound.permuted(features, orders)

    for order, actual in zip(orders, predicted, strict=True):
        moved = own.copy()
        moved[:, features] = own[order][:, features]
        of_rows = engine(regressor(trees, WIDTH), own[:1])
        expected = [engine(regressor(trees, WIDTH), row[np.newaxis]).outputs()[0] for row in moved]
        assert of_rows.outputs().shape[1] == actual.shape[1]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("feature", [1, 2])
def test_a_feature_of_no_consequence_changes_nothing_at_all(regressor, engine, feature) -> None:
    """Feature 2 is tested by no tree, feature 1 by one whose leaves are alike."""
    trees = [
        ((0, "LEQ", 0.0), [0.1], [0.2]),
        ((0, "LEQ", 0.5), [0.3], [0.7]),
        ((1, "LEQ", 0.0), [0.4], [0.4]),
    ]
    rows = np.random.default_rng(0).normal(size=(50, 3))
    bound = engine(regressor(trees, 3), rows)

    (permuted,) = bound.permuted([feature], [np.arange(50)[::-1]])

    assert np.array_equal(permuted, bound.outputs())
