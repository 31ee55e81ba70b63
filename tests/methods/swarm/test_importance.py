"""Equation 3, against the paper's Table 1."""

import numpy as np
import pytest
from onnxplain_server.methods.swarm.importance import importance, over_classes

# Petal width, petal length, sepal length, sepal width: σ_w and σ_s as printed, of 13 in 30 rows.
DISTANCES = np.array([0.37515, 0.42242, 0.03375, 0.31219])
DROPS = np.array([13 / 30, 13 / 30, 0, 0])


def test_gives_the_importances_of_table_1_to_the_printed_digits() -> None:
    found = importance(DISTANCES, DROPS, 10)

    assert [f"{value:.5f}" for value in found] == ["4.29485", "4.29000", "0.00000", "0.00000"]


def test_drops_that_differ_by_rounding_only_count_as_the_same() -> None:
    noisy = DROPS + np.array([0, 1e-15, 0, 0])

    assert importance(DISTANCES, noisy, 10) == pytest.approx(importance(DISTANCES, DROPS, 10))


def test_a_feature_that_does_more_harm_is_more_important_however_far_it_is_moved() -> None:
    found = importance(np.array([9.0, 0.1]), np.array([0.5, 0.49]), 10)

    assert found[0] > found[1]


def test_a_feature_that_is_not_moved_has_importance_zero() -> None:
    assert importance(np.array([0.0, 1.0]), np.array([0.2, 0.2]), 10).tolist() == [
        0,
        pytest.approx(0.2 * (10 - 1 / 10)),
    ]


def test_sums_over_classes_can_count_each_class_alike() -> None:
    total, relative = over_classes(np.array([[4.0, 2.0], [0.5, 1.0], [0.0, 0.0]]))

    assert total.tolist() == [4.5, 3.0]
    assert relative.tolist() == [1.5, 1.5]
