"""Step grids: tree models are constant between two points of the grid."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnxplain_server.effects.grids import GridLayout, make_step_grid
from onnxplain_server.trees import bound as bound_rows
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")
WHOLE = GridLayout(
    size=2, by_quantiles=False, trim_lower=0.0, trim_upper=1.0, include_missing=False
)


def grown(rng, depth: int, width: int):
    """A random tree; thresholds are of a coarse grid, or anywhere."""
    if depth == 0:
        return rng.normal(size=2).tolist()
    threshold = float(rng.integers(-6, 7)) / 2 if rng.random() < 0.7 else float(rng.normal())
    test = (int(rng.integers(width)), str(rng.choice(MODES)), threshold, rng.random() < 0.3)
    return (test, *(grown(rng, depth - 1, width) for _ in range(2)))


def within(rng, points, dtype):
    """For each point but the last, numbers of the type before the next one: ends and between."""
    for low, high in pairwise(points):
        last = float(np.nextafter(dtype(high), dtype(-np.inf)))
        inside = dtype(rng.uniform(low, high, 5)).astype(float).clip(low, last)
        yield low, np.array([*inside, last])


def breakpoints_of(model, feature: int = 0):
    ensemble = read_ensemble(model)
    assert isinstance(ensemble, Ensemble)
    return ensemble.axes[feature].breakpoints()


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_curve_is_constant_between_breakpoints(regressor, engine, brute, seed: int) -> None:
    """Against the definition, just before each point, at it, and anywhere in between."""
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 3, 2) for _ in range(3)]
    rows = np.column_stack([rng.integers(-8, 9, 12) / 2, rng.normal(size=12)])
    rows[rng.random(size=rows.shape) < 0.1] = np.nan
    rows[0] = 0.25
    bound, reference = engine(regressor(trees, 2), rows), brute(trees, rows)

    for feature in (0, 1):
        column = rows[:, feature].astype(np.float32).astype(float)
        points = make_step_grid(column, bound.breakpoints(feature), WHOLE)
        curve = bound.curve([feature], [points.astype(np.float32)])

        assert points[[0, -1]].tolist() == [np.nanmin(column), np.nanmax(column)]
        assert (np.diff(points) > 0).all()
        expected = reference.partial_dependence([feature], points[:, None])
        np.testing.assert_allclose(curve, expected, rtol=1e-10, atol=1e-12)
        for place, (_, between) in enumerate(within(rng, points, np.float32)):
            level = reference.partial_dependence([feature], between[:, None])
            np.testing.assert_allclose(level, expected[[place]].repeat(6, 0), atol=1e-12)


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_individual_curves_are_constant_between_breakpoints(regressor, engine, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 4, 3) for _ in range(3)]
    rows = rng.integers(-8, 9, (9, 3)) / 2
    bound = engine(regressor(trees, 3), rows)
    points = make_step_grid(rows[:, 1], bound.breakpoints(1), WHOLE)

    at_points = bound.individual([1], [points.astype(np.float32)])

    for place, (_, between) in enumerate(within(rng, points, np.float32)):
        inside = bound.individual([1], [between.astype(np.float32)])
        assert (inside == at_points[:, [place]]).all()


def test_the_block_size_changes_nothing(regressor, engine, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    bound = engine(regressor([grown(rng, 4, 2) for _ in range(3)], 2), rng.normal(size=(11, 2)))
    points = np.linspace(-2, 2, 5, dtype=np.float32)
    together = bound.individual([0], [points])

    for limit in (1, 10, 13):
        monkeypatch.setattr(bound_rows, "_MAX_HYBRID_ROWS", limit)
        assert (bound.individual([0], [points]) == together).all()
    assert together.shape == (11, 5, 2)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("LT", [0.5]),
        ("GTE", [0.5]),
        ("LEQ", [np.nextafter(np.float32(0.5), np.float32(1))]),
        ("GT", [np.nextafter(np.float32(0.5), np.float32(1))]),
        ("EQ", [0.5, np.nextafter(np.float32(0.5), np.float32(1))]),
        ("NEQ", [0.5, np.nextafter(np.float32(0.5), np.float32(1))]),
    ],
)
def test_a_breakpoint_is_the_first_number_beyond_the_threshold(
    regressor, mode: str, expected
) -> None:
    model = regressor([((0, mode, 0.5), [1.0], [2.0])], 1)

    assert breakpoints_of(model).tolist() == [float(value) for value in expected]


@pytest.mark.parametrize(
    ("input_type", "expected"),
    [
        pytest.param(TensorProto.FLOAT, np.nextafter(np.float32(0.5), np.float32(1)), id="float"),
        # Trees compare in float32, to which the double halfway to the next one is rounded down.
        pytest.param(TensorProto.DOUBLE, 0.5000000298023225, id="double"),
        pytest.param(TensorProto.INT64, 1.0, id="int64"),
    ],
)
def test_breakpoints_are_exact_in_the_type_of_the_input(
    model, collected, input_type: int, expected
) -> None:
    trees = [((0, "LEQ", t), [1.0], [2.0]) for t in (-2.5, 0.5, 0.7)]
    nodes = [
        helper.make_node("Cast", ["X"], ["x"], to=TensorProto.FLOAT),
        helper.make_node(
            "TreeEnsembleRegressor",
            ["x"],
            ["y"],
            domain="ai.onnx.ml",
            **{"n_targets": 1, **collected(trees)},
        ),
    ]
    breakpoints = breakpoints_of(model(nodes, 1, ["y"], input_type=input_type))

    assert breakpoints[1] == float(expected)
    assert len(breakpoints) == (2 if input_type == TensorProto.INT64 else 3)
    assert breakpoints[0] == (-2.0 if input_type == TensorProto.INT64 else pytest.approx(-2.5))


def test_a_feature_without_thresholds_has_one_step(regressor, engine) -> None:
    bound = engine(regressor([((0, "LEQ", 0.5), [1.0], [2.0])], 2), np.eye(2))

    assert bound.breakpoints(1).tolist() == []
    assert make_step_grid(np.array([3.0, 1.0, 7.0]), bound.breakpoints(1), WHOLE).tolist() == [1, 7]


def test_steps_outside_the_trimming_quantiles_are_left_out() -> None:
    layout = GridLayout(
        size=2, by_quantiles=True, trim_lower=0.1, trim_upper=0.9, include_missing=True
    )
    column = np.append(np.arange(1.0, 11), np.nan)
    starts = np.array([-np.inf, 0.5, 1.0, 1.0001, 4.0, 8.9999, 9.0, 9.5, 11.0, np.inf])

    grid = make_step_grid(column, starts, layout)

    assert grid[:-1].tolist() == [1, 1.0001, 4, 8.9999, 9]
    assert np.isnan(grid[-1])


def test_a_feature_that_does_not_vary_is_one_point() -> None:
    assert make_step_grid(np.full(4, 2.0), np.array([1.0, 2.0, 3.0]), WHOLE).tolist() == [2]


def test_text_is_evaluated_at_its_distinct_values() -> None:
    column = np.array(["b", "", "a", "b"], dtype=object)

    assert make_step_grid(column, np.zeros(0), WHOLE).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("column", "expected"), [(0, [1.0, 2.0]), (1, [1.0, 2.0, 5.0]), (2, [1.0, 5.0])]
)
def test_breakpoints_are_categories_that_a_strict_encoder_accepts(
    model, collected, column: int, expected
) -> None:
    """A strict encoder knows 1, 2 and 5 only; after 2 the next number is 5."""
    nodes = [
        helper.make_node(
            "OneHotEncoder", ["X"], ["hot"], domain="ai.onnx.ml", cats_int64s=[1, 2, 5], zeros=0
        ),
        helper.make_node("Reshape", ["hot", "shape"], ["flat"]),
        helper.make_node(
            "TreeEnsembleRegressor",
            ["flat"],
            ["y"],
            domain="ai.onnx.ml",
            **{"n_targets": 1, **collected([((column, "GT", 0.5), [1.0], [2.0])])},
        ),
    ]
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [-1, 3])
    built = model(nodes, 1, ["y"], input_type=TensorProto.INT64, constants=[shape])

    assert {1.0, *breakpoints_of(built)} == set(expected)
