"""Weighted averages over rows."""

import numpy as np
from onnxplain_server.effects.weighted_mean import center, mean, mean_square

VALUES = np.array([[1.0, 10.0], [3.0, 10.0], [8.0, 40.0]])
WEIGHTS = np.array([3.0, 1.0, 0.0])


def test_averages_worked_by_hand() -> None:
    assert mean(VALUES, WEIGHTS).tolist() == [1.5, 10]
    assert center(VALUES, WEIGHTS).tolist() == [[-0.5, 0], [1.5, 0], [6.5, 30]]
    # (3 · 0.25 + 2.25) / 4
    assert mean_square(VALUES, WEIGHTS).tolist() == [0.75, 0]


def test_nan_stays_in_its_own_output() -> None:
    broken = VALUES.copy()
    broken[0, 0] = np.nan

    assert np.isnan(mean(broken, WEIGHTS)).tolist() == [True, False]
    assert np.isnan(mean_square(broken, WEIGHTS)).tolist() == [True, False]


def test_a_constant_centers_to_exactly_zero() -> None:
    for constant in (0.1, 1e9 / 3, -1e-300):
        centered = center(np.full((3, 1), constant), np.array([0.7, 1.9, 2.3]))
        assert centered.tolist() == [[0], [0], [0]]
