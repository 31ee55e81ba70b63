"""Partial dependence: average predictions over grids, for all rows or by groups of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.partial_dependence import (
    Options,
    PartialDependenceCurve,
    Result,
    Strategy,
)

COLUMNS = {"a": [1.0, 2, 3, 4], "b": [10.0, 20, 20, 50], "t": ["u", "v", "u", ""]}


def product(a, b, t):
    return a * b + np.array([len(value) for value in t])


def curves(make, function, columns, *, n_outputs: int = 1, **given) -> Result:
    """Compute curves; what is no option of the method is one of the question."""
    question = {
        name: given.pop(name) for name in ("weight_column", "row_count", "seed") if name in given
    }
    table = make.table(columns)
    used = [name for name in columns if name not in question.values()][
        : function.__code__.co_argcount
    ]
    types = given.pop("types", ["string" if name == "t" else "double" for name in used])
    model = make.model(function, used, types, n_outputs=n_outputs)
    answer = make.answer(model, table, Options(**given), **question)
    result = answer.explanations[0].result
    assert isinstance(result, Result)
    return result


def points(curve: PartialDependenceCurve) -> list[list[Any]]:
    return [list(values.tolist()) for values in curve.grid]


def test_a_curve_worked_by_hand(make) -> None:
    """Feature b has mean 25; three texts of one letter add 3/4."""
    (curve,) = curves(make, product, COLUMNS, features=(("a",),)).curves

    assert curve.features == ("a",)
    assert curve.group == ""
    assert points(curve) == [[1, 2, 3, 4]]
    assert curve.values.tolist() == [[25.75], [50.75], [75.75], [100.75]]
    assert curve.weight == 4


@pytest.mark.parametrize("strategy", [Strategy.UNIFORM, Strategy.QUANTILE])
def test_the_grid_of_an_entry_does_not_depend_on_the_other_entries(make, strategy) -> None:
    """The whole feature c is rounded; pairs and triples have fewer points per feature."""
    random = np.random.default_rng(0)
    columns = {"a": random.normal(size=90), "b": random.exponential(size=90), "c": np.arange(90.0)}
    entries = (("a",), ("a", "b"), ("b", "a"), ("a", "c"), ("c",), ("a", "b", "c"), ("b",))
    types = ["double", "double", "int64"]

    def lay(*features: tuple[str, ...]) -> list[list[list[Any]]]:
        given = {"features": features, "types": types, "strategy": strategy, "grid_size": 20}
        return [
            points(curve)
            for curve in curves(make, lambda a, b, c: a + b + c, columns, **given).curves
        ]

    together = lay(*entries)

    assert [len(grid[0]) for grid in together] == [20, 25, 25, 25, 20, 27, 20]
    assert together == [lay(entry)[0] for entry in entries]


def test_a_weighted_curve_worked_by_hand(make) -> None:
    """With weights 2, 0, 1, 1, b has mean 90/4, and 3/4 of the weight has a text.

    The row without weight is no row: the grid leaves its value out.
    """
    result = curves(
        make,
        product,
        COLUMNS | {"w": [2.0, 0, 1, 1]},
        features=(("a",), ("t",)),
        weight_column="w",
    )

    assert result.curves[0].values.ravel().tolist() == [22.5 * a + 0.75 for a in (1, 3, 4)]
    # a · b has weighted mean (20 + 60 + 200) / 4.
    assert points(result.curves[1]) == [["u"]]
    assert result.curves[1].values.ravel().tolist() == [71]
    assert [curve.weight for curve in result.curves] == [4, 4]


def test_every_feature_is_varied_by_default_in_table_order(make) -> None:
    found = curves(make, product, COLUMNS).curves

    assert [curve.features for curve in found] == [("a",), ("b",), ("t",)]


def test_curves_come_in_the_order_asked_for(make) -> None:
    found = curves(make, product, COLUMNS, features=(("t",), ("b", "a"), ("a",))).curves

    assert [curve.features for curve in found] == [("t",), ("b", "a"), ("a",)]


def test_a_surface_varies_its_first_feature_fastest(make) -> None:
    (surface,) = curves(make, product, COLUMNS, features=(("b", "a"),)).curves

    assert points(surface) == [[10, 20, 50] * 4, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]]
    assert surface.values.ravel().tolist() == [
        a * b + 0.75 for a in (1, 2, 3, 4) for b in (10, 20, 50)
    ]


def test_a_solid_of_three_features_is_the_model_itself(make) -> None:
    (solid,) = curves(make, product, COLUMNS, features=(("a", "b", "t"),)).curves

    a, b, t = solid.grid
    assert solid.values.ravel().tolist() == product(a, b, t).tolist()


def test_an_explicit_grid_is_kept_as_it_is_with_its_duplicates(make) -> None:
    grid = {"a": np.array([3.0, -1, 3, 0, 100])}

    (curve,) = curves(make, product, COLUMNS, features=(("a",),), grids=(grid,)).curves

    assert points(curve) == [[3, -1, 3, 0, 100]]
    assert curve.values.ravel().tolist() == [75.75, -24.25, 75.75, 0.75, 2500.75]


def test_explicit_and_laid_grids_may_stand_side_by_side(make) -> None:
    grid = {"b": np.array([5.0, 0]), "t": np.array(["", "long"], object)}

    first, second = curves(
        make, product, COLUMNS, features=(("a",), ("b", "t")), grids=(None, grid)
    ).curves

    assert points(first) == [[1, 2, 3, 4]]
    assert points(second) == [[5, 0], ["", "long"]]
    assert second.values.ravel().tolist() == [12.5, 4]


def test_a_group_has_the_curve_of_its_own_rows(make) -> None:
    """Rows 0 and 2 have u, row 1 has v, row 3 nothing; grids are of all rows."""
    result = curves(make, product, COLUMNS, features=(("a",),), group_column="t")

    assert result.group_column == "t"
    found = result.curves
    assert [(curve.group, curve.weight) for curve in found] == [("u", 2), ("v", 1), ("missing", 1)]
    assert [points(curve) for curve in found] == [[[1, 2, 3, 4]]] * 3
    assert [curve.values.ravel().tolist() for curve in found] == [
        [16, 31, 46, 61],
        [21, 41, 61, 81],
        [50, 100, 150, 200],
    ]


def test_each_curve_comes_by_its_groups(make) -> None:
    found = curves(make, product, COLUMNS, features=(("a",), ("b",)), group_column="t").curves

    assert [(*curve.features, curve.group) for curve in found] == [
        (name, group) for name in "ab" for group in ("u", "v", "missing")
    ]


def test_rows_may_be_grouped_by_a_column_that_is_no_feature(make) -> None:
    columns = {name: COLUMNS[name] for name in "ab"} | {"year": [8.0, 1, 2, 3]}

    found = curves(
        make, lambda a, b: a * b, columns, features=(("a",),), group_column="year", group_count=2
    ).curves

    # The halves of 1, 2, 3, 8 by quantiles of type 1.
    assert [(curve.group, curve.values[0, 0]) for curve in found] == [("[1,2]", 20), ("(2,8]", 30)]


def test_groups_are_weighted_within(make) -> None:
    columns = {"a": [1.0, 2, 3], "b": [10.0, 20, 40], "g": [1.0, 2, 1], "w": [3.0, 5, 1]}

    found = curves(
        make,
        lambda a, b: a * b,
        columns,
        features=(("a",),),
        group_column="g",
        weight_column="w",
    ).curves

    assert [(c.weight, c.values[0, 0]) for c in found] == [(4, 17.5), (5, 20)]


def test_a_group_of_weight_zero_is_no_group(make) -> None:
    columns = {"a": [1.0, 2, 3], "b": [10.0, 20, 40], "g": [1.0, 2, 1], "w": [3.0, 0, 1]}

    found = curves(make, lambda a, b: a * b, columns, group_column="g", weight_column="w")

    assert {curve.group for curve in found.curves} == {"1"}


def test_rows_are_drawn_within_each_group(make) -> None:
    columns = {"a": np.arange(90.0), "b": np.arange(90.0), "g": [0.0] * 20 + [1.0] * 70}

    found = curves(
        make, lambda a, b: a * b, columns, features=(("a",),), group_column="g", row_count=30
    ).curves

    assert [curve.weight for curve in found] == [20, 30]
    assert found[0].values[-1, 0] == pytest.approx(found[0].grid[0][-1] * 9.5)


def test_grids_are_laid_over_all_rows_not_only_those_drawn(make) -> None:
    columns = {"a": np.arange(1000.0), "b": np.arange(1000.0)}

    (curve,) = curves(
        make,
        lambda a, b: a + b,
        columns,
        features=(("a",),),
        row_count=5,
        trim_lower=0.0,
        trim_upper=1.0,
        grid_size=4,
    ).curves

    assert points(curve) == [[0, 333, 666, 999]]
    assert curve.weight == 5


def test_strategy_and_trimming_reach_the_grid(make) -> None:
    columns = {"a": np.arange(1.0, 101) ** 2, "b": np.arange(100.0)}

    (curve,) = curves(
        make,
        lambda a, b: a + b,
        columns,
        features=(("a",),),
        strategy=Strategy.QUANTILE,
        trim_lower=0.1,
        trim_upper=0.4,
        grid_size=3,
    ).curves

    assert points(curve) == [[100, 625, 1600]]


def test_a_missing_value_is_a_point_where_it_is_wanted(make) -> None:
    columns = {"a": [1.0, np.nan, 3], "b": [1.0, 2, 3]}

    def function(a, b):
        return np.where(np.isnan(a), 100, a) + b

    (without,) = curves(make, function, columns, features=(("a",),)).curves
    (curve,) = curves(make, function, columns, features=(("a",),), include_missing=True).curves

    assert points(without) == [[1, 3]]
    assert np.isnan(curve.grid[0]).tolist() == [False, False, True]
    assert curve.values.ravel() == pytest.approx([3, 5, 102])


def test_a_feature_that_the_model_takes_as_whole_numbers_gets_a_whole_grid(make) -> None:
    columns = {"a": np.arange(200.0), "b": np.arange(200.0)}

    (curve,) = curves(
        make, lambda a, b: a * 1.0 + b, columns, features=(("a",),), types=["int64", "double"]
    ).curves

    (a,) = curve.grid
    assert (a == np.round(a)).all()
    assert (a[0], a[-1], len(a)) == (1, 197, 49)


def test_an_explicit_grid_of_values_that_the_model_cannot_take_is_refused(make) -> None:
    grid = {"a": np.array([1.0, 2.5])}

    with pytest.raises(ExplainError, match=r"'a' holds 2\.5, but the model takes int64") as refused:
        curves(
            make,
            lambda a, b: a * b,
            {"a": [1.0, 2], "b": [1.0, 2]},
            features=(("b",), ("a",)),
            grids=(None, grid),
            types=["int64", "double"],
        )

    assert refused.value.field == "methods[0].partial_dependence.grids[1]"


def test_an_explicit_grid_of_text_for_numbers_is_refused(make) -> None:
    grid = {"a": np.array(["x"], object)}

    with pytest.raises(ExplainError) as refused:
        curves(make, product, COLUMNS, features=(("a",),), grids=(grid,))

    assert refused.value.reason is Reason.WRONG_TYPE
    assert refused.value.field == "methods[0].partial_dependence.grids[0]"


def test_several_outputs_have_a_column_each(make) -> None:
    result = curves(
        make,
        lambda a, b: np.stack([a * b, b], axis=1),
        {"a": [1.0, 2], "b": [10.0, 20]},
        features=(("a",),),
        n_outputs=2,
    )

    assert result.output_names == ("y0", "y1")
    assert result.curves[0].values.tolist() == [[15, 15], [30, 15]]


@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, 2.5]), st.floats(-5, 5), st.sampled_from([0.0, 1, 3])),
        min_size=2,
        max_size=10,
    ),
    grid=st.lists(st.floats(-5, 5), min_size=1, max_size=5),
)
def test_a_curve_equals_its_definition(make, rows, grid: list[float]) -> None:
    a, b, w = np.array([(0.0, 0.0, 1.0), (1.0, 0.5, 2.0), *rows]).T

    def function(x, y):
        return np.sin(x * y) + y

    (curve,) = curves(
        make,
        function,
        {"x": a, "y": b, "w": w},
        features=(("x",),),
        grids=({"x": np.array(grid)},),
        weight_column="w",
    ).curves

    expected = [np.average(function(np.full_like(b, x), b), weights=w) for x in grid]
    np.testing.assert_allclose(curve.values.ravel(), expected, rtol=1e-9, atol=1e-12)
    assert curve.weight == pytest.approx(w.sum())


def test_the_rug_shows_values_of_the_table_evenly(make) -> None:
    columns = {"a": np.arange(450.0), "b": np.arange(450.0), "c": np.arange(450.0)}

    samples = curves(make, lambda a, b, c: a + b + c, columns, features=(("a", "c"),)).samples

    assert set(samples) == {"a", "c"}
    assert len(samples["a"]) == 200
    assert (samples["a"][0], samples["a"][-1]) == (0, 449)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("strategy", [Strategy.UNIFORM, Strategy.QUANTILE])
def test_grids_are_laid_over_finite_values(make, sign: int, strategy: Strategy) -> None:
    a = np.arange(100.0)
    a[:9] = sign * np.inf
    columns = {"a": a, "b": np.arange(100.0)}

    result = curves(
        make,
        lambda a, b: np.minimum(a, 5) + b,
        columns,
        features=(("a",),),
        grid_size=4,
        strategy=strategy,
        trim_lower=0.0,
        trim_upper=1.0,
    )

    [curve] = result.curves
    assert np.isfinite(curve.grid[0]).all()
    assert (curve.grid[0].min(), curve.grid[0].max()) == (9, 99)
