"""Support of curves from request to answer: told, warned of, and what grids are cut by."""

from __future__ import annotations

import csv
import gzip
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.partial_dependence import Options, Strategy

MIAMI = Path(__file__).parents[2] / "examples" / "miami" / "miami_housing.csv.gz"


def wild(x, y, _z):
    """Add up two features, and explode where they are far apart: nowhere in `close`."""
    return x + y + 1_000 * np.maximum(np.abs(x - y) - 2, 0)


def tame(x, y, z):
    return x + y + z


def far_apart(count: int = 1_000):
    x, y, z = np.random.default_rng(0).normal(size=(3, count))
    return {"x": x, "y": y, "z": z}


def close(count: int = 1_000):
    columns = far_apart(count)
    return columns | {"y": columns["x"] + 0.2 * columns["y"]}


def curves_of(make, function, columns, options=None, **question):
    types = ["string" if values.dtype == object else "double" for values in columns.values()]
    model = make.model(function, tuple(columns), types)
    answer = make.answer(model, make.table(columns), options or Options(), **question)
    (explanation,) = answer.explanations
    codes = [note.code for note in answer.notes]
    return explanation.result.curves, codes, answer


def test_a_model_that_is_wild_outside_the_data_is_warned_of(make) -> None:
    curves, codes, answer = curves_of(make, wild, close())

    of_x, of_y, of_z = (curve.outside_share for curve in curves)
    assert of_x == pytest.approx(of_y, abs=0.05)
    assert of_x > 0.5
    assert of_z == 0
    assert "CURVES_EXTRAPOLATE" in codes
    (message,) = (note.message for note in answer.notes if note.code == "CURVES_EXTRAPOLATE")
    assert f"{of_y:.0%} of them along 'y', mostly beside 'x'; " in message
    assert f"; {of_x:.0%} along 'x', mostly beside 'y'. " in message
    assert "'z'" not in message
    assert np.ptp(curves[0].values) > 100, "no row of the table is above 10"


def test_a_tame_model_of_a_table_that_has_all_combinations_is_not(make) -> None:
    curves, codes, _ = curves_of(make, tame, far_apart())

    assert [curve.outside_share for curve in curves] == [0, 0, 0]
    assert all(curve.outside_partner == "" for curve in curves)
    assert "CURVES_EXTRAPOLATE" not in codes


def test_points_with_more_rows_outside_are_left_out_and_not_predicted(make) -> None:
    whole, _, _ = curves_of(make, tame, close())
    options = Options(features=(("x",), ("x", "y")), max_outside_share=0.6)

    (curve, surface), _, _ = curves_of(make, tame, close(), options)

    assert 2 < len(curve.grid[0]) < len(whole[0].grid[0])
    assert set(curve.grid[0]) < set(whole[0].grid[0])
    assert curve.outside_shares.max() <= 0.65, "of the rows drawn; points by all rows"
    assert len(surface.grid[0]) == len(surface.values) < 49
    assert np.abs(surface.grid[0] - surface.grid[1]).max() < 2


def test_a_limit_of_0_keeps_the_points_without_any_row_outside(make) -> None:
    columns = far_apart(2_000)
    columns["y"] = np.where(columns["x"] > 1, np.abs(columns["y"]), columns["y"])
    options = Options(features=(("x",),), max_outside_share=0)

    (curve,), _, _ = curves_of(make, tame, columns, options)

    assert 2 < len(curve.grid[0]) < 49
    assert not curve.outside_shares.any()


def test_a_feature_that_the_model_ignores_makes_no_row_lie_outside(make) -> None:
    columns = close()
    model = make.model(lambda x, y, z: x + z, tuple("xyz"), ["double"] * 3, without={0: [1]})  # noqa: ARG005 - ignored

    answer = make.answer(model, make.table(columns), Options())

    assert [curve.outside_share for curve in answer.explanations[0].result.curves] == [0, 0, 0]


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        (close(39), {}, "too few to tell"),
        (close(), {"strategy": Strategy.STEPS}, "STEPS"),
        (close(), {"grids": ({"x": np.array([9.0])},)}, "the best one 1"),
    ],
    ids=["few rows", "steps", "no point remains"],
)
def test_what_cannot_be_cut_is_refused(make, columns, options, text: str) -> None:
    asked = Options(features=(("x",),), max_outside_share=0.5, **options)

    with pytest.raises(ExplainError, match=text) as error:
        curves_of(make, tame, columns, asked)

    assert error.value.reason is Reason.INVALID_OPTION


def test_few_rows_tell_nothing(make) -> None:
    curves, codes, _ = curves_of(make, wild, close(39))

    assert {curve.outside_share for curve in curves} == {None}
    assert "CURVES_EXTRAPOLATE" not in codes


def test_points_of_the_caller_beyond_the_values_of_the_table_are_outside(make) -> None:
    columns = far_apart() | {"t": np.array(["a", "b"] * 500, object)}
    columns["z"][:100] = np.nan
    grids = (
        {"x": np.array([0.0, 99.0, np.nan])},
        {"z": np.array([0.0, np.nan])},
        {"t": np.array(["a", "c"], object)},
    )
    options = Options(features=(("x",), ("z",), ("t",)), grids=grids)

    curves, _, _ = curves_of(make, lambda x, y, z, t: np.nan_to_num(x), columns, options)  # noqa: ARG005 - unused

    assert [curve.outside_shares.tolist() for curve in curves] == [[0, 1, 1], [0, 0], [0, 1]]


def test_each_group_has_the_share_of_its_own_rows(make) -> None:
    """Where y is low, moving x up leads outside; where it is high, moving x down does."""
    columns = close() | {"z": (close()["y"] > 0).astype(float)}
    grid = ({"x": np.array([-1.5, 1.5])},)
    options = Options(features=(("x",),), grids=grid, group_column="z")

    curves, _, _ = curves_of(make, tame, columns, options)

    low, high = (curve.outside_shares for curve in curves)
    assert low[0] < 0.8 < low[1] == 1
    assert high[1] < 0.8 < high[0] == 1


def miami(*names: str):
    with gzip.open(MIAMI, "rt") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in names}


def brute_force(columns, features) -> float:
    """Move 50,000 rows to the values of another row each; cells are counted on all rows."""
    count = len(columns[features[0]])
    moved, sources = np.random.default_rng(1).integers(count, size=(2, 50_000))
    tenths = {
        name: (column[:, None] > np.sort(column)[np.arange(1, 10) * count // 10 - 1]).sum(axis=1)
        for name, column in columns.items()
    }
    outside = np.zeros(len(moved), bool)
    for feature, other in product(features, set(columns) - set(features)):
        held = np.zeros((10, 10))
        np.add.at(held, (tenths[feature], tenths[other]), 1)
        even = held.sum(axis=1, keepdims=True) * held.sum(axis=0) / count
        lacks = held < 0.1 * even
        outside |= lacks[tenths[feature][sources], tenths[other][moved]]
    return float(outside.mean())


def test_shares_of_houses_in_miami_are_those_of_brute_force(make) -> None:
    columns = miami("OCEAN_DIST", "TOT_LVG_AREA", "LONGITUDE", "LND_SQFOOT", "age", "CNTR_DIST")
    asked = (("OCEAN_DIST",), ("TOT_LVG_AREA",), ("LONGITUDE",), ("OCEAN_DIST", "TOT_LVG_AREA"))
    options = Options(features=asked, grid_size=400, strategy=Strategy.QUANTILE)

    curves, _, _ = curves_of(make, lambda *c: c[0], columns, options, row_count=2_000)

    expected = [brute_force(columns, features) for features in asked]
    assert [curve.outside_share for curve in curves] == pytest.approx(expected, abs=0.02)
    assert max(expected) > 0.4
    assert min(expected) < 0.15
