"""Sums of logistic functions by nodes of intervals: as by all pairs, to float64 rounding."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.additive.smooth_sums import Numbers, logistic_sums, moved


@pytest.mark.parametrize("spread", [0.0, 1e-9, 0.01, 0.2, 1.0, 8.0, 300.0])
def test_sums_by_nodes_are_those_of_all_pairs(spread: float) -> None:
    rng = np.random.default_rng(0)
    rows, points = spread * rng.normal(size=1_500) - 1, spread * rng.standard_t(3, size=1_200)
    points[:2] *= np.array([0.0, 1.0])
    points[2:4] = np.floor(points[2:4])  # ends of intervals
    weights, shares = rng.random((2, 1_500)), rng.random((2, 1_200))
    weights /= weights.sum(axis=1, keepdims=True)
    shares /= shares.sum(axis=1, keepdims=True)
    assert spread == 300 or any(moved(Numbers(rows), Numbers(points)))

    over_rows, over_points = logistic_sums(Numbers(rows), Numbers(points), weights, shares)

    with np.errstate(over="ignore"):
        table = 1 / (1 + np.exp(-(rows[:, np.newaxis] + points)))
    assert over_points is not None
    np.testing.assert_allclose(over_rows, weights @ table, rtol=0, atol=4e-15)
    np.testing.assert_allclose(over_points, shares @ table.T, rtol=0, atol=4e-15)
