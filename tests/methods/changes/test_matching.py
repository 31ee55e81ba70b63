"""Matching: outputs by name, and curves at the points that both sides have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnxplain_server.methods.changes.comparison import ChangeOptions, compare
from onnxplain_server.methods.changes.matching import KeptStatistics, at_common_points, pair_outputs
from onnxplain_server.methods.resampling import ReplicatedStatistic

RANDOM = np.random.default_rng(0)


def curve(points, values=None, *, is_stepped=False, features=("a",)) -> ReplicatedStatistic:
    grid = points if isinstance(points, tuple) else (np.array(points),)
    count = len(grid[0])
    values = np.arange(count, dtype=float) if values is None else np.array(values)
    replicates = values[None, :, None] + RANDOM.normal(size=(30, count, 1))
    own = "PARTIAL_DEPENDENCE", features, "", grid, values[:, None], replicates, 100.0
    return ReplicatedStatistic(*own, is_stepped)


def common(own, other) -> tuple[ReplicatedStatistic, ReplicatedStatistic]:
    found = at_common_points(own, other)
    assert found is not None
    return found


def number(kind, features, value, *, outputs=1) -> ReplicatedStatistic:
    numbers = np.vstack([np.full((1, outputs), value), RANDOM.normal(value, 0.1, (30, outputs))])
    return ReplicatedStatistic.of_numbers(kind, features, numbers, 100.0)


def test_a_curve_over_numbers_lies_on_the_lines_between_its_points() -> None:
    own, other = curve([0.0, 1.0, 2.5, 7.0]), curve([0.5, 2.0, 3.0])
    before, after = common(own, other)

    assert before.grid[0].tolist() == [1.0, 2.5]
    assert before.values[:, 0].tolist() == [1.0, 2.0]
    expected = np.interp([1.0, 2.5], other.grid[0], other.values[:, 0])
    assert after.values[:, 0] == pytest.approx(expected)
    of_first = np.interp([1.0, 2.5], other.grid[0], other.replicates[0, :, 0])
    assert after.replicates[0, :, 0] == pytest.approx(of_first)


def test_steps_keep_the_value_of_the_last_point() -> None:
    _, after = common(curve([0.0, 1.0, 5.0]), curve([0.5, 2.0], [3.0, 4.0], is_stepped=True))

    assert after.values[:, 0].tolist() == [3.0, 4.0]


def test_missing_values_are_a_point() -> None:
    before, after = common(
        curve([1.0, np.nan], [2.0, 9.0]), curve([np.nan, 0.0, 2.0], [7.0, 1.0, 3.0])
    )

    assert before.values[:, 0].tolist() == [2.0, 9.0]
    assert after.values[:, 0].tolist() == [2.0, 7.0]


def test_texts_are_compared_where_both_have_them() -> None:
    texts = [np.array(names, object) for names in (["x", "y", "z"], ["z", "x", "new"])]
    before, after = common(curve((texts[0],)), curve((texts[1],)))

    assert before.grid[0].tolist() == ["x", "z"]
    assert after.values[:, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(curve([8.0, 9.0]), id="elsewhere"),
        pytest.param(curve((np.array(["x"], object),)), id="text"),
    ],
)
def test_curves_without_a_common_point_are_told(other) -> None:
    sides = [KeptStatistics(("y",), (each,)) for each in (curve([0.0, 1.0]), other)]
    found = compare([(0, sides[0], sides[1])], ChangeOptions(), is_paired=True, are_classes=False)

    assert not found.curves
    assert [each.reason for each in found.unmatched] == ["both sides have no points in common"]


def test_surfaces_are_compared_where_both_have_a_point() -> None:
    names = np.array(["x", "x", "y", "y"], object)
    own = curve((np.array([0.0, np.nan, 0.0, np.nan]), names), features=("a", "b"))
    turned = curve(
        (np.array(["y", "y", "x", "z"], object), np.array([np.nan, 0.0, np.nan, 0.0])),
        [30.0, 20.0, 10.0, 50.0],
        features=("b", "a"),
    )
    before, after = common(own, turned)

    assert before.features == after.features == ("a", "b")
    assert [each.tolist() for each in after.grid][1] == ["x", "y", "y"]
    assert before.values[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert after.values[:, 0].tolist() == [10.0, 20.0, 30.0]
    assert after.replicates.tolist() == turned.replicates[:, [2, 1, 0]].tolist()


def test_surfaces_without_a_common_point_are_not_compared() -> None:
    grid = np.array([0.0, 1.0]), np.array([0.0, 0.0])
    own, other = (curve(g, features=("a", "b")) for g in (grid, (grid[0], grid[1] + 1)))

    assert at_common_points(own, other) is None
    for of_one in (replace(own, features=("b", "a"), grid=grid[:1]), replace(own, grid=())):
        assert at_common_points(of_one, own) is None
        assert at_common_points(of_one, replace(own, grid=grid[:1])) is None


def test_outputs_are_paired_by_name_and_the_only_ones_of_both_unless_classes() -> None:
    def pairs(*names, are_classes=False):
        found = pair_outputs(*names, are_classes=are_classes)
        return [(pair.name, pair.reference, pair.answer) for pair in found]

    assert pairs(["low", "high"], ["high", "new"]) == [("high", 1, 0)]
    assert pairs(["variable"], ["price"]) == [("price", 0, 0)]
    assert pairs(["yes"], ["1"], are_classes=True) == []


def test_what_one_side_lacks_is_named() -> None:
    reference = KeptStatistics(
        ("low", "high"),
        (
            number("IMPORTANCE", ("a",), 1.0, outputs=2),
            number("IMPORTANCE", ("b",), 1.0, outputs=2),
        ),
    )
    answer = KeptStatistics(
        ("high", "top"),
        (
            number("IMPORTANCE", ("a",), 1.0, outputs=2),
            number("IMPORTANCE", ("c",), 1.0, outputs=2),
        ),
    )
    found = compare([(3, reference, answer)], ChangeOptions(), is_paired=True, are_classes=True)

    told = {(each.features, each.output_name): each.reason for each in found.unmatched}
    assert told == {
        ((), "top"): "the reference has no output of this name",
        ((), "low"): "the answer has no output of this name",
        (("c",), ""): "the reference does not have it",
        (("b",), ""): "the answer does not have it",
    }
    (only,) = found.differences
    assert (only.subject.explanation_index, only.subject.output_name) == (3, "high")


def test_pairs_of_features_are_matched_in_any_order() -> None:
    sides = [
        KeptStatistics(("y",), (number("PAIRWISE_INTERACTION", names, 1.0),))
        for names in (("a", "b"), ("b", "a"))
    ]
    found = compare([(0, sides[0], sides[1])], ChangeOptions(), is_paired=True, are_classes=False)

    assert len(found.differences) == 1
    assert not found.unmatched


def test_all_numbers_and_curves_are_corrected_for_together() -> None:
    statistics = *(number("IMPORTANCE", (name,), 1.0) for name in "abc"), curve([0.0, 1.0])
    moved = (
        *(number("IMPORTANCE", (name,), 1.0) for name in "ab"),
        number("IMPORTANCE", ("c",), 9.0),
    )
    sides = KeptStatistics(("y",), statistics), KeptStatistics(("y",), (*moved, statistics[-1]))
    found = compare([(0, *sides)], ChangeOptions(), is_paired=False, are_classes=False)

    assert found.tested_count == 4
    verdicts = {each.subject.features[0]: each.test.verdict for each in found.differences}
    assert verdicts == {"a": "NOT_SHOWN", "b": "NOT_SHOWN", "c": "CHANGED"}
    assert found.curves[0].test.adjusted_p_value == 1
