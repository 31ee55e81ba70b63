"""Reach of a weight: moved values outside the observed range."""

import numpy as np
from onnxplain_server.methods.swarm.perturbation import Move
from onnxplain_server.methods.swarm.reach import Reach, extrapolation, reach, weights_inside


def test_the_share_outside_is_that_of_weights() -> None:
    """Of 1, 2 and 3 times 2, the last two leave [0, 3]: 5 of 8 parts of the weight."""
    found = reach(np.array([0.0, 3.0]), 2 * np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 1.0]))

    assert found == Reach(0, 3, 2, 6, 5 / 8)


def test_values_on_the_ends_and_missing_ones_are_not_outside() -> None:
    found = reach(np.array([0.0, 3.0, np.nan]), np.array([0.0, 3.0, np.nan]), np.ones(3))

    assert found == Reach(0, 3, 0, 3, 0)


def test_values_that_overflow_are_outside() -> None:
    assert reach(np.array([0.0, 1.0]), np.array([np.inf, -np.inf]), np.ones(2)).outside_share == 1


def test_a_feature_without_values_has_no_ends() -> None:
    found = reach(np.array([np.nan]), np.array([np.nan]), np.ones(1))

    assert np.isnan([found.observed_low, found.moved_high]).all()
    assert found.outside_share == 0


def test_the_warning_tells_the_largest_share() -> None:
    inside, some, most = (
        Reach(0, 1, 0, high, share) for high, share in ((1, 0), (2, 0.1), (9.83, 0.9))
    )

    (note,) = extrapolation([("a", "1", inside), ("b", "2", some), ("c", "9.83", most)])

    assert note.code == "EXTRAPOLATES"
    assert note.message.startswith("2 of the 3 most harmful weights")
    assert "c with weight 9.83: 90% of those moved" in note.message
    assert "0 to 1 in the table become 0 to 9.83" in note.message


def test_values_within_the_range_need_no_warning() -> None:
    assert extrapolation([("a", "1", Reach(0, 1, 0, 1, 0))]) == []
    assert extrapolation([]) == []


def test_weights_inside_keep_every_row_in_the_data() -> None:
    """2 w - 1 and -3 w + 4, in [-2, 5], stay there for w from -1/2 to 2: from 0 on."""
    move = Move(np.array([2.0, -3.0, np.nan]), np.array([-1.0, 4.0, 0.0]), np.dtype(np.float64))

    assert weights_inside(np.array([-2.0, 5.0]), move, 1.0) == (0.0, 2.0)
    assert weights_inside(np.array([-0.5, 2.5]), move, 1.0) == (0.5, 1.5)
