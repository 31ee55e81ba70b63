"""Weighted averages over rows."""

import math

import numpy as np
import pytest
from onnxplain_server.effects.weighted_mean import center, mean, mean_square
from threadpoolctl import threadpool_limits

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


@pytest.mark.parametrize("n_rows", [8_191, 8_192, 50_001])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("replicates", ["none", "weights", "both"])
def test_every_row_counts_once_however_many_there_are(
    n_rows: int, n_outputs: int, replicates: str
) -> None:
    random = np.random.default_rng(0)
    lead = () if replicates == "none" else (2,)
    values = random.normal(size=(*(lead if replicates == "both" else ()), n_rows, n_outputs))
    weights = random.exponential(size=(*lead, n_rows))

    averages = mean(values, weights)

    each = np.broadcast_to(values, (*lead, n_rows, n_outputs))
    for place in np.ndindex(averages.shape):
        own = weights[place[:-1]]
        exact = math.fsum(own * each[(*place[:-1], slice(None), place[-1])]) / math.fsum(own)
        assert averages[place] == pytest.approx(exact, rel=1e-9)
    assert averages.shape == (*lead, n_outputs)


def test_averages_do_not_depend_on_the_threads_of_the_linear_algebra() -> None:
    """Of 400,000 rows, a library that divides them by its threads gives other last digits."""
    random = np.random.default_rng(0)
    values, weights = random.normal(size=(400_000, 2)), random.exponential(size=400_000)
    found = set()
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            found.add((mean(values, weights).tobytes(), mean(values[:, :1], weights).tobytes()))

    assert len(found) == 1
