"""Windows on decision paths, counted by hand: 3 splits on features 0, 1, 2 from root to leaf."""

import numpy as np
from onnxplain_server.trees.kernels.path_windows import count_windows, list_pairs

FEATURE = np.array([0, 1, 2, -1], np.int32)
PARENT = np.array([-1, 0, 1, 2], np.int32)
LEAF = np.array([3])


def windows(window: int, weight: int = 1, shortest: int = 0, *, whole: bool = True):
    return count_windows(PARENT, LEAF, np.array([weight]), window, shortest, whole)


def test_each_window_ends_at_its_deepest_split() -> None:
    ends, lengths = windows(2, weight=5)

    assert ends.tolist() == [0, 5, 5, 0]
    assert lengths.tolist() == [1, 2, 2, 0]


def test_a_path_shorter_than_the_window_is_one_window() -> None:
    ends, lengths = windows(4)

    assert ends.tolist() == [0, 0, 1, 0]
    assert lengths.tolist() == [1, 2, 3, 0]


def test_shorter_paths_are_left_out() -> None:
    assert not windows(2, shortest=4)[0].any()


def test_pairs_of_each_window() -> None:
    ends, lengths = windows(2)
    first, second = np.empty(2, np.int32), np.empty(2, np.int32)
    times = np.empty(2, np.int64)

    count = list_pairs(FEATURE, PARENT, ends, lengths, True, False, first, second, times)

    assert count == 2
    assert {*zip(first.tolist(), second.tolist(), times.tolist(), strict=True)} == {
        (0, 1, 1),
        (1, 2, 1),
    }
