"""Individual conditional expectation: the predictions of single rows along a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.individual_conditional_expectation import (
    Options,
    Result,
    center_index,
)
from onnxplain_server.methods.partial_dependence import Strategy

COLUMNS: dict[str, Any] = {"a": [1.0, 2, 3, 4], "b": [10.0, 20, 20, 50], "t": ["u", "v", "u", ""]}
QUESTION = ("weight_column", "row_count", "seed", "output_indices", "host")


def product(a, b, t):
    return a * b + np.array([len(value) for value in t])


def answer(make, function, columns, *options, **given):
    question = {name: given.pop(name) for name in QUESTION if name in given}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    types = ["string" if name == "t" else "double" for name in names]
    model = make.model(function, names, types, n_outputs=given.pop("n_outputs", 1))
    return make.answer(model, make.table(columns), *options, Options(**given), **question)


def curves(make, function=product, columns=None, **given) -> Result:
    result = answer(make, function, columns or COLUMNS, **given).explanations[-1].result
    assert isinstance(result, Result)
    return result


def test_curves_worked_by_hand(make) -> None:
    result = curves(make, features=("a",))

    (found,) = result.curves
    assert found.features == ("a",)
    assert found.grid[0].tolist() == [1, 2, 3, 4]
    assert found.values[:, :, 0].tolist() == [
        [11, 21, 31, 41],
        [21, 41, 61, 81],
        [21, 41, 61, 81],
        [50, 100, 150, 200],
    ]
    assert result.row_indices.tolist() == [0, 1, 2, 3]
    assert (result.groups, result.group_columns, result.centered) == ((), (), False)


def test_every_feature_has_curves_by_default_in_table_order(make) -> None:
    assert [one.features for one in curves(make).curves] == [("a",), ("b",), ("t",)]


def test_features_come_in_the_order_asked_for(make) -> None:
    found = curves(make, features=("t", "a")).curves

    assert [one.features for one in found] == [("t",), ("a",)]
    assert found[0].grid[0].tolist() == ["u", "v"]
    assert found[0].values[:, :, 0].tolist() == [[11, 11], [41, 41], [61, 61], [201, 201]]


def test_a_curve_passes_through_the_row_s_own_prediction(make) -> None:
    (found,) = curves(make, features=("b",)).curves

    own = product(*(np.array(COLUMNS[name]) for name in "abt"))
    place = [found.grid[0].tolist().index(value) for value in COLUMNS["b"]]
    assert found.values[range(4), place, 0].tolist() == own.tolist()


@pytest.mark.parametrize("strategy", [Strategy.UNIFORM, Strategy.QUANTILE])
def test_the_mean_of_the_curves_is_partial_dependence(make, strategy) -> None:
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=80), "b": rng.gamma(2, size=80)}
    given: Any = {"strategy": strategy, "grid_size": 9, "trim_lower": 0.1, "trim_upper": 0.8}
    averaged = partial_dependence.Options(features=(("a",), ("b",)), **given)

    found = answer(make, lambda a, b: np.sin(a * b) + b, columns, averaged, **given)

    averages, singles = (explanation.result for explanation in found.explanations)
    for average, one in zip(averages.curves, singles.curves, strict=True):
        assert one.grid[0].tolist() == average.grid[0].tolist()
        assert one.values.shape == (80, 9, 1)
        np.testing.assert_allclose(one.values.mean(axis=0), average.values, rtol=1e-12)


@pytest.mark.parametrize(
    ("grid", "middle"),
    [
        ([5.0], 0),
        ([1.0, 2], 0),
        ([1.0, 2, 3], 1),
        ([1.0, 2, 3, 9], 1),
        ([1.0, 2, 3, 9, 10], 2),
        ([9.0, 1, 2, 3, 0, -1], 2),
    ],
)
def test_centred_curves_are_zero_at_the_middle_point(make, grid: list[float], middle: int) -> None:
    given = {"features": ("a",), "grids": ({"a": np.array(grid)},)}

    plain = curves(make, **given).curves[0].values
    result = curves(make, centered=True, **given)

    centred = result.curves[0].values
    assert center_index(result.curves[0].grid[0]) == middle
    assert (centred[:, middle] == 0).all()
    assert centred.tolist() == (plain - plain[:, [middle]]).tolist()
    assert result.centered


def test_curves_of_several_outputs_are_centred_one_by_one(make) -> None:
    def two(a, b):
        return np.stack([a * b, a + 100], axis=1)

    columns = {name: COLUMNS[name] for name in "ab"}
    result = curves(make, two, columns, features=("a",), n_outputs=2, centered=True)

    assert result.output_names == ("y0", "y1")
    assert result.curves[0].values[3].tolist() == [[-50, -1], [0, 0], [50, 1], [100, 2]]


def test_one_of_several_outputs_can_be_chosen(make) -> None:
    def two(a, b):
        return np.stack([a * b, a + 100], axis=1)

    columns = {name: COLUMNS[name] for name in "ab"}
    result = curves(make, two, columns, features=("a",), n_outputs=2, output_indices=(1,))

    assert result.output_names == ("y1",)
    assert result.curves[0].values[0].tolist() == [[101], [102], [103], [104]]


def test_each_row_is_told_its_groups(make) -> None:
    columns = {**COLUMNS, "year": [1.0, 2, 3, np.nan]}

    result = curves(make, columns=columns, features=("a",), group_columns=("t", "year"))
    cut = curves(make, columns=columns, group_columns=("year",), group_count=2)

    assert result.group_columns == ("t", "year")
    assert result.groups == (("u", "v", "u", "missing"), ("1", "2", "3", "missing"))
    # The halves of 1, 2, 3 by quantiles of type 1.
    assert cut.groups == (("[1,2]", "[1,2]", "(2,3]", "missing"),)


def test_groups_are_cut_by_all_rows_not_only_those_drawn(make) -> None:
    columns = {"a": np.arange(1000.0), "b": np.arange(1000.0)}

    result = curves(
        make,
        lambda a, b: a + b,
        columns,
        features=("a",),
        group_columns=("b",),
        group_count=2,
        curve_count=20,
    )

    (groups,) = result.groups
    rows = result.row_indices.tolist()
    labels = {row < 500: label for row, label in zip(rows, groups, strict=True)}
    assert labels == {True: "[0,499]", False: "(499,999]"}


def test_so_many_rows_get_curves_and_are_named(make) -> None:
    n = 2000
    columns = {"a": np.arange(n), "b": np.arange(n)}
    given = {"columns": columns, "function": lambda a, b: 0 * a + b, "features": ("a",)}

    default = curves(make, **given)
    fewer = curves(make, **given, curve_count=7)
    other = curves(make, **given, curve_count=7, seed=1)

    assert len(default.row_indices) == 100
    assert fewer.curves[0].values.shape == (7, 49, 1)
    # The prediction is the number of the row.
    assert fewer.curves[0].values[:, 0, 0].tolist() == fewer.row_indices.tolist()
    assert fewer.row_indices.tolist() == sorted(set(fewer.row_indices.tolist()))
    assert fewer.row_indices.tolist() != other.row_indices.tolist()
    # Grids are those of all rows.
    assert fewer.curves[0].grid[0][-1] > 1900


def test_curves_are_drawn_among_the_rows_of_the_request(make) -> None:
    columns = {"a": np.arange(300.0), "b": np.arange(300.0)}

    found = answer(make, lambda a, b: a + b, columns, features=("a",), row_count=5)

    assert found.row_count == 5
    assert len(found.explanations[0].result.row_indices) == 5


def test_equal_rows_have_a_curve_each(make) -> None:
    columns = {"a": [1.0, 1, 2], "b": [5.0, 5, 5]}

    result = curves(make, lambda a, b: a * b, columns, features=("a",))

    assert result.row_indices.tolist() == [0, 1, 2]
    assert result.curves[0].values[:, :, 0].tolist() == [[5, 10]] * 3


def test_a_missing_value_is_a_point_where_it_is_wanted(make) -> None:
    columns = {"a": [1.0, np.nan, 3], "b": [1.0, 2, 3]}

    def function(a, b):
        return np.where(np.isnan(a), 100, a) + b

    without = curves(make, function, columns, features=("a",)).curves[0]
    with_it = curves(make, function, columns, features=("a",), include_missing=True).curves[0]

    assert without.grid[0].tolist() == [1, 3]
    assert np.isnan(with_it.grid[0]).tolist() == [False, False, True]
    assert with_it.values[:, 2, 0].tolist() == [101, 102, 103]


def test_each_row_is_predicted_once_a_point(make) -> None:
    found = answer(make, product, COLUMNS, features=("a", "b"))

    assert found.predicted_row_count == 4 * (4 + 3)


@pytest.mark.parametrize(
    ("given", "reason", "field", "message"),
    [
        ({"features": ("q",)}, Reason.UNKNOWN_FEATURE, "features", "'q'"),
        ({"features": ("a", "a")}, Reason.INVALID_OPTION, "features", "twice"),
        ({"curve_count": 0}, Reason.INVALID_OPTION, "curve_count", r"\[1, 10000\]"),
        ({"curve_count": 10_001}, Reason.INVALID_OPTION, "curve_count", r"\[1, 10000\]"),
        ({"group_columns": ("a", "b", "t")}, Reason.INVALID_OPTION, "group_columns", "at most 2"),
        ({"group_columns": ("q",)}, Reason.MISSING_COLUMN, "group_columns", "'q'"),
        ({"group_count": 0}, Reason.INVALID_OPTION, "group_count", r"\[1, 100\]"),
        ({"grid_size": 1}, Reason.INVALID_OPTION, "grid_size", r"\[2, 10000\]"),
        (
            {"features": ("a",), "grids": ({"b": np.ones(2)},)},
            Reason.INVALID_OPTION,
            "grids[0]",
            "columns 'b' for features 'a'",
        ),
    ],
)
def test_what_is_impossible_is_refused(
    make, given, reason: Reason, field: str, message: str
) -> None:
    with pytest.raises(ExplainError, match=message) as refused:
        curves(make, **given)

    assert refused.value.reason is reason
    assert refused.value.field == f"methods[0].individual_conditional_expectation.{field}"


def test_a_model_that_breaks_along_the_grid_is_named(make) -> None:
    columns = {"a": [1.0, 2, 3], "b": [1.0, 2, 3]}

    with pytest.raises(ExplainError, match=r"not finite for some rows when a = 3\.0") as refused:
        curves(make, lambda a, b: np.where(a == b, b, np.where(a == 3, np.nan, 0)), columns)

    assert refused.value.reason is Reason.NON_FINITE_PREDICTION


def test_features_together_worked_by_hand(make) -> None:
    columns = {"a": [1.0, 2], "b": [10.0, 20], "t": ["u", "vw"]}

    result = curves(make, columns=columns, features=("t",), joint_features=(("a", "b"),))

    alone, together = result.curves
    assert (alone.features, together.features) == (("t",), ("a", "b"))
    assert [axis.tolist() for axis in together.grid] == [[1, 2, 1, 2], [10, 10, 20, 20]]
    assert together.values[:, :, 0].tolist() == [[11, 21, 21, 41], [12, 22, 22, 42]]


def test_without_features_alone_only_those_together_are_varied(make) -> None:
    result = curves(make, joint_features=(("b", "a"), ("a", "t")))

    assert [one.features for one in result.curves] == [("b", "a"), ("a", "t")]


def test_the_mean_of_surfaces_is_partial_dependence(make) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=80) for name in "abc"}
    averaged = partial_dependence.Options(features=(("a", "b"), ("c", "a", "b")), grid_size=16)

    found = answer(
        make,
        lambda a, b, c: np.sin(a * b) + b * c,
        columns,
        averaged,
        joint_features=averaged.features,
        grid_size=16,
    )

    averages, singles = (explanation.result for explanation in found.explanations)
    for average, one in zip(averages.curves, singles.curves, strict=True):
        for ours, theirs in zip(one.grid, average.grid, strict=True):
            assert ours.tolist() == theirs.tolist()
        np.testing.assert_allclose(one.values.mean(axis=0), average.values, rtol=1e-12)


def test_features_together_have_given_grids_and_a_middle(make) -> None:
    grid = {"a": np.array([1.0, 5.0, 2.0]), "b": np.array([3.0, 4.0, 6.0])}

    result = curves(make, features=("a",), joint_features=(("a", "b"),), grids=(None, grid))
    centred = curves(make, joint_features=(("a", "b"),), grids=(grid,), centered=True)

    assert result.curves[1].values[0, :, 0].tolist() == [4, 21, 13]
    assert centred.curves[0].values[0, :, 0].tolist() == [-17, 0, -8]


@pytest.mark.parametrize(
    ("together", "message", "field"),
    [
        (("a",), "joint_features needs at least two", "joint_features[0].names"),
        ((), "is no feature", "joint_features[0].names"),
        (("a", "z"), "'z' is no feature", "joint_features[0].names"),
        (("a", "a"), "named twice", "joint_features[0].names"),
    ],
)
def test_features_together_that_cannot_be_are_refused(
    make, together: tuple[str, ...], message: str, field: str
) -> None:
    with pytest.raises(ExplainError, match=message) as refused:
        curves(make, joint_features=(together,))

    assert refused.value.field == f"methods[0].individual_conditional_expectation.{field}"
