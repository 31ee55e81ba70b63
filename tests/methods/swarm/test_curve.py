"""Curves, on a few weights worked by hand."""

import numpy as np
import pytest
from onnxplain_server.methods.swarm.curve import ScoreCurve, from_trials

# Weights 1, 4 and 9, with which 0, 2 and 4 of 4 rows are taken for the second class.
TRIED = from_trials(
    np.array([9.0, 1.0, 4.0]),
    np.array([0.0, 1.0, 0.5]),
    np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]),
)
# All weights: none of the rows up to 4, then half of them, from 9 on all.
PIECES = ScoreCurve(
    np.array([0.0, 4.0, 9.0]),
    np.array([4.0, 9.0, 10.0]),
    np.array([1.0, 0.5, 0.0]),
    np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]),
)


def test_weights_tried_are_put_in_order() -> None:
    assert TRIED.lows.tolist() == [1, 4, 9]
    assert TRIED.scores.tolist() == [1, 0.5, 0]
    assert not TRIED.is_pieces


def test_equation_4_weighs_by_the_distance_from_the_limit() -> None:
    """(9 · 0 + 6 · 2 + 1 · 4) / ((9 + 6 + 1) · 4)."""
    assert TRIED.similarities(10)[1] == pytest.approx(16 / 64)


def test_equation_4_of_pieces_is_an_integral() -> None:
    """∫ (10 − w) over [4, 9] is 17.5, over [9, 10] 0.5, and over all 50."""
    assert PIECES.similarities(10)[1] == pytest.approx((17.5 * 0.5 + 0.5) / 50)


def test_a_piece_holds_from_its_first_weight_on() -> None:
    scores, shares = PIECES.at(np.array([0.0, 3.99, 4.0, 10.0]))

    assert scores.tolist() == [1, 1, 0.5, 0]
    assert shares[:, 1].tolist() == [0, 0, 0.5, 1]


@pytest.mark.parametrize("curve", [TRIED, PIECES], ids=["tried", "pieces"])
def test_similarities_of_a_class_add_up_to_1(curve: ScoreCurve) -> None:
    assert curve.similarities(10).sum() == pytest.approx(1)


def test_windows_average_the_weights_inside_and_are_empty_where_none_is() -> None:
    scores, shares = TRIED.windows(np.array([0.0, 5.0, 8.0, 10.0]))

    assert scores.tolist() == pytest.approx([0.75, np.nan, 0.0], nan_ok=True)
    assert shares[0].tolist() == [0.75, 0.25]


def test_windows_of_pieces_weigh_by_length_and_are_never_empty() -> None:
    scores, _ = PIECES.windows(np.array([0.0, 5.0, 10.0]))

    assert scores.tolist() == pytest.approx([(4 * 1 + 1 * 0.5) / 5, (4 * 0.5 + 0) / 5])


def test_the_last_window_holds_the_limit() -> None:
    curve = ScoreCurve(np.array([10.0]), np.array([10.0]), np.array([0.3]), np.array([[1.0, 0.0]]))

    assert curve.windows(np.array([0.0, 5.0, 10.0]))[0][1] == pytest.approx(0.3)


def test_joining_keeps_means_over_weights() -> None:
    joined = PIECES.joined(2)

    assert (joined.lows.tolist(), joined.highs.tolist()) == ([0, 4], [4, 10])
    assert joined.scores.tolist() == pytest.approx([1.0, 5 * 0.5 / 6])
    assert PIECES.joined(3) is PIECES
