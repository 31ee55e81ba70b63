"""Stability of feature vectors over repetitions."""

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors.stability import align, stability

FAR = 1e6
"""Length of features that hold the others in place when vectors are aligned."""


def directions(*degrees: float) -> np.ndarray:
    radians = np.radians(degrees)
    return np.column_stack([np.cos(radians), np.sin(radians)])


def held(*degrees: float) -> np.ndarray:
    """Two features that do not move, and those of length 1 at these angles."""
    return np.vstack([[[FAR, 0], [0, FAR]], directions(*degrees)])


def turn(degrees: float) -> np.ndarray:
    first, second = directions(degrees, degrees + 90)
    return np.array([first, second])


MIRROR = np.array([[1.0, 0], [0, -1]])


@pytest.mark.parametrize("change", [turn(37), turn(200), turn(37) @ MIRROR], ids=str)
def test_turned_and_mirrored_vectors_are_the_same(change: np.ndarray) -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 2))

    assert align(vectors @ change, vectors) == pytest.approx(vectors)
    found = stability(vectors, [vectors @ change, vectors])
    assert found.norm_standard_errors == pytest.approx(np.zeros(6), abs=1e-12)
    assert found.angle_standard_errors_degrees == pytest.approx(np.zeros(6), abs=1e-9)
    assert found.rank_correlation == pytest.approx(1)


def test_vectors_are_never_stretched_to_fit() -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 2))

    assert align(3 * vectors, vectors) == pytest.approx(3 * vectors)


def test_lengths_that_change_show_in_their_standard_errors() -> None:
    """Lengths 1 ± 0.1: standard deviation 0.1·√2 over two repetitions, by hand."""
    vectors = directions(0, 90)

    found = stability(vectors, [1.1 * vectors, 0.9 * vectors])

    assert found.norm_standard_errors == pytest.approx([0.1 * np.sqrt(2)] * 2)


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        pytest.param((-5, 5), np.sqrt(50), id="around the result"),
        pytest.param((5, 15), np.sqrt(50), id="around another direction"),
        pytest.param((175, 185), np.sqrt(50), id="around the opposite direction"),
        pytest.param((0, 10, 20), 10, id="three repetitions"),
    ],
)
def test_angles_spread_around_their_mean(moved: tuple[float, ...], expected: float) -> None:
    """A feature at 170 degrees, so that some repetitions are beyond 180."""
    found = stability(held(170), [held(170 + by) for by in moved])

    assert found.angle_standard_errors_degrees == pytest.approx([0, 0, expected], abs=1e-2)


def test_order_is_compared_by_ranks_and_with_the_result() -> None:
    """Lengths 1, 2 and 100 are in the order 1, 2, 3; both repetitions turn that around."""
    vectors = directions(0, 90, 45) * [[1], [2], [100]]
    longer = directions(0, 90, 45) * [[1], [2], [3]]
    shorter = directions(0, 90, 45) * [[3], [2], [1]]

    assert stability(vectors, [longer, longer]).rank_correlation == pytest.approx(1)
    assert stability(vectors, [shorter, shorter]).rank_correlation == pytest.approx(-1)
    assert stability(vectors, [longer, shorter]).rank_correlation == pytest.approx(0)


def test_equal_lengths_have_no_order() -> None:
    assert np.isnan(stability(directions(0, 90), [directions(0, 90)] * 2).rank_correlation)
