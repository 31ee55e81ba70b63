"""Combinations of values are told by texts that differ."""

import numpy as np
from onnxplain_server.language.combinations import combination_texts

TEXT = np.array(["x", "", "x, b = 1", "x"], dtype=object)


def test_indicators_are_told_by_those_that_hold() -> None:
    columns = [np.array([1.0, 0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])]

    told = combination_texts(("red", "blue"), columns)

    assert told.tolist() == ["red", "blue", "none", "red + blue"]


def test_other_values_are_told_one_by_one() -> None:
    single = np.array([0.1, 2, np.nan, 1e20], dtype=np.float32)

    told = combination_texts(("a", "t"), [single, TEXT])

    assert told.tolist() == [
        "a = 0.1, t = x", "a = 2, t missing", "a missing, t = x, b = 1", "a = 1e+20, t = x",
    ]  # fmt: skip


def test_texts_differ_where_values_look_like_the_signs_between_them() -> None:
    columns = [np.array(["x", "x, b = y"], object), np.array(["y, c = z", "z"], object)]
    columns.append(np.array(["w", "w"], object))

    same = combination_texts(("a", "b", "c"), [*columns[:2], columns[2]])

    assert len(set(same)) == 2
    one = combination_texts(
        ("a", "b"), [np.array(["x, b = y", "x"], object), np.array(["z", "y, b = z"], object)]
    )
    assert len(set(one)) == 2
