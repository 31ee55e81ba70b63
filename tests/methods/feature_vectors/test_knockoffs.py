"""Knockoffs: fakes that stand to all others as the real ones do."""

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors import knockoff_test
from onnxplain_server.methods.feature_vectors.knockoffs import differences, draw


def correlation(size: int, rho: float) -> np.ndarray:
    return np.asarray(rho ** np.abs(np.subtract.outer(np.arange(size), np.arange(size))))


def test_knockoffs_have_the_moments_that_make_them_knockoffs() -> None:
    """Cov(X̃) = Cov(X), and Cov(X, X̃) differs from it on the diagonal only."""
    real = np.random.default_rng(0).multivariate_normal(np.zeros(4), correlation(4, 0.5), 40_000)

    fake = draw(real, 1, seed=1)

    both = np.cov(real, fake, rowvar=False)
    own, cross, fakes = both[:4, :4], both[:4, 4:], both[4:, 4:]
    assert fakes == pytest.approx(own, abs=0.03)
    outside = ~np.eye(4, dtype=bool)
    assert cross[outside] == pytest.approx(own[outside], abs=0.03)
    assert (np.diag(cross) < np.diag(own) - 0.3).all()


def test_a_mixture_keeps_its_clusters_apart() -> None:
    random = np.random.default_rng(0)
    real = random.normal(size=(3_000, 2)) + random.choice([-10, 10], (3_000, 1))

    fake = draw(real, None, seed=0)

    assert (np.sign(fake) == np.sign(real)).all()


def test_columns_of_two_clusters_have_knockoffs_of_two() -> None:
    """One Gaussian would fill what is empty between -10 and 10."""
    random = np.random.default_rng(0)
    real = random.normal(size=(2_000, 2)) + random.choice([-10, 10], (2_000, 2))

    fake = draw(real, None, seed=0)

    assert (np.abs(np.abs(fake) - 10) < 5).all()


def test_one_cluster_is_taken_for_one() -> None:
    real = np.random.default_rng(0).multivariate_normal(np.zeros(3), correlation(3, 0.5), 1_000)

    assert np.array_equal(draw(real, None, seed=0), draw(real, 1, seed=0))


def test_the_unit_of_a_column_is_that_of_its_knockoff() -> None:
    real = np.random.default_rng(0).normal(size=(500, 3))

    once, scaled = draw(real, 1, seed=0), draw(1e6 * real + 5e8, 1, seed=0)

    assert scaled == pytest.approx(1e6 * once + 5e8, rel=0, abs=1e4)


def test_columns_that_say_the_same_have_knockoffs() -> None:
    column = np.random.default_rng(0).normal(size=(400, 1))
    real = np.hstack([column, 2 * column + 1, column**2])

    assert np.isfinite(draw(real, None, seed=0)).all()


@pytest.mark.parametrize("size", [5, 120])
def test_columns_apart_may_differ_wholly(size: int) -> None:
    assert differences(np.eye(size)) == pytest.approx(np.ones(size), abs=2e-3)


@pytest.mark.parametrize("size", [5, 120])
def test_equal_correlations_leave_what_is_known(size: int) -> None:
    """All correlations 0.8: the largest common s is 2 · (1 − 0.8), and no other sum is larger."""
    found = differences(np.full((size, size), 0.8) + 0.2 * np.eye(size))

    assert found == pytest.approx(np.full(size, 0.4), abs=2e-3)


@pytest.mark.parametrize("size", [6, 120])
def test_differences_leave_no_negative_variance(size: int) -> None:
    random = np.random.default_rng(1).normal(size=(size, 2 * size))
    given = np.asarray(np.corrcoef(random))

    s = differences(given)

    assert np.linalg.eigvalsh(2 * given - np.diag(s))[0] >= 0
    assert ((s > 0) & (s <= 1)).all()


def test_differences_are_as_large_as_those_that_are_all_equal() -> None:
    random = np.random.default_rng(1).normal(size=(8, 12))
    given = np.asarray(np.corrcoef(random))
    equal = min(1.0, 2 * np.linalg.eigvalsh(given)[0])

    assert differences(given).sum() > 8 * equal


def directions(degrees: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def test_knockoffs_of_the_same_direction_are_no_chance() -> None:
    degrees = np.linspace(-60, 60, 10)

    found = knockoff_test.check(directions(degrees), directions(degrees + 2), 1_000, seed=0)

    assert found.mean_angle_degrees == pytest.approx(2)
    assert found.p_value == pytest.approx(1 / 1_001)


def test_directions_on_both_sides_of_half_a_turn_are_near() -> None:
    """179 and -179 degrees are 2 apart."""
    found = knockoff_test.check(
        directions(np.array([179.0, 0])), directions(np.array([-179.0, 2])), 100, seed=0
    )

    assert found.mean_angle_degrees == pytest.approx(2)


def test_random_pairs_are_drawn_among_features_and_knockoffs() -> None:
    """Ten at 0 and ten at 90 degrees: of the 19 partners that one can have, 10 are 90 apart."""
    found = knockoff_test.check(
        directions(np.zeros(10)), directions(np.full(10, 90.0)), 4_000, seed=0
    )

    assert found.permuted_mean_angles_degrees.mean() == pytest.approx(90 * 10 / 19, abs=1)
    assert found.p_value == pytest.approx(1)


def test_random_directions_are_chance() -> None:
    """Under the hypothesis p is uniform: of 200 draws about a tenth are below 0.1."""
    random = np.random.default_rng(0)
    p_values = []
    for seed in range(200):
        own, fake = (directions(random.uniform(-60, 60, 8)) for _ in range(2))
        p_values.append(knockoff_test.check(own, fake, 200, seed).p_value)

    assert 0.04 < np.mean(np.array(p_values) <= 0.1) < 0.16


def test_features_without_a_vector_are_left_aside() -> None:
    own, fake = directions(np.array([0.0, 40, 80])), directions(np.array([1.0, 41, 10]))
    fake[2] = 0

    found = knockoff_test.check(own, fake, 100, seed=0)

    assert found.mean_angle_degrees == pytest.approx(1)


def test_the_histogram_counts_every_permutation() -> None:
    counts, borders = knockoff_test.check(
        directions(np.array([0.0, 40])), directions(np.array([10.0, 20])), 1_234, seed=0
    ).histogram()

    assert counts.sum() == 1_234
    assert len(borders) == len(counts) + 1
