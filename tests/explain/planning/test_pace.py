"""Pace of a model, by a clock that goes on by one second with each look."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import onnxplain
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning import nominal_pace, overview, overview_pace, pace
from onnxplain_server.explain.planning.overview_part import PaceSource

MODELS = Path(__file__).parents[2] / "models"
N_ROWS = 3_000


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.perf_counter = itertools.count().__next__


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[overview.OverviewPlan]:
    """Plans of overviews, by the clock of the tests."""
    monkeypatch.setattr(pace, "time", Clock())
    made: list[overview.OverviewPlan] = []
    original = overview_pace.plan_overview

    def plan(request: BoundRequest) -> overview.OverviewPlan:
        made.append(original(request))
        return made[-1]

    monkeypatch.setattr(overview_pace, "plan_overview", plan)
    return made


def explained(name: str, row_total: int = N_ROWS, **request) -> onnxplain.Explanations:
    random = np.random.default_rng(2)
    with onnxplain.local() as client:
        width = client.describe(MODELS / f"{name}.onnx").inputs[0].width
        columns = {f"x{j}": random.normal(size=row_total) for j in range(width)}
        return client.explain(
            MODELS / f"{name}.onnx", columns, feature_columns=[*columns], plots=False, **request
        )


def test_trees_are_measured_by_shuffled_rows_and_by_a_trial_of_interactions(plans) -> None:
    """A second for 2,048 rows, and one for interactions on 250 of them."""
    answer = explained("lightgbm_regressor", budget_seconds=20)

    [plan] = plans
    assert plan.pace == 2_048
    assert plan.tree_rows == 250 * 20 * 0.4
    assert dict(answer.receipt.overview_methods)["interactions"] == 2_000


def test_linked_trees_are_tried_on_two_numbers_of_rows(plans) -> None:
    """Both take a second, so time does not grow with the square: 1,000 rows per second."""
    explained("lightgbm_binary", budget_seconds=40)

    [plan] = plans
    assert plan.tree_rows == 1_000 * 40 * 0.4


@given(linear=st.floats(0, 1), square=st.floats(0, 1), rows=st.integers(10, 10**5))
def test_the_rows_of_a_time_follow_from_two_trials(linear, square, rows) -> None:
    assume(linear + square > 1e-3)

    def seconds(n):
        return linear * n / 1e3 + square * n**2 / 1e6

    few, many = (pace.TimedRows(n, seconds(n)) for n in (250, 1_000))

    grown = pace.growth(few, many)
    assert grown.rows_within(seconds(rows)) == pytest.approx(rows, rel=1e-3)
    assert grown.seconds(rows) == pytest.approx(seconds(rows), rel=1e-3)


@pytest.mark.parametrize(
    ("few", "many", "rows"),
    [
        pytest.param((250, 2.0), (1_000, 2.0), 8_000, id="not more time for more rows"),
        pytest.param((250, 1.0), (1_000, 64.0), 500, id="more than the square"),
        pytest.param((200, 4.0), (200, 4.0), 400, id="a table of few rows"),
    ],
)
def test_trials_that_are_no_sum_of_rows_and_squares_are_read_with_care(few, many, rows) -> None:
    grown = pace.growth(pace.TimedRows(*few), pace.TimedRows(*many))
    assert grown.rows_within(16.0) == pytest.approx(rows)


def test_other_models_are_measured_by_predicting(plans) -> None:
    explained("sklearn_linear", budget_seconds=20, row_count=50, engine="BLACK_BOX")

    [plan] = plans
    assert plan.tree_rows is None
    assert plan.pace == 1, "one row took longer than a call needs"


class ScaledClock:
    """Stands for the module `time` on a machine that is so many times as slow."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def perf_counter(self) -> float:
        return time.perf_counter() * self._factor

    def monotonic(self) -> float:
        return time.monotonic() * self._factor


@pytest.mark.parametrize("name", ["network_double", "lightgbm_regressor", "lightgbm_binary"])
def test_an_overview_has_the_same_rows_and_numbers_at_any_pace(name, monkeypatch) -> None:
    """Clients have a cache of their own; a time of 60 s is the default."""
    answers = []
    for factor in (0.5, 10_000):
        monkeypatch.setattr(pace, "time", ScaledClock(factor))
        answers.append(explained(name, row_total=60))
    answers.append(explained(name, row_total=60, budget_seconds=60))

    rows = [answer.receipt.overview_methods for answer in answers]
    assert rows == [rows[0]] * len(rows)
    tables = [answer.partial_dependence.to_arrow() for answer in answers]
    assert all(table.equals(tables[0]) for table in tables)


def test_sizes_that_follow_from_a_model_are_round_and_say_what_they_follow_from() -> None:
    slow = overview.OverviewPlan(tuple("abcdefgh"), 10**6, None, 60, 3_000, None, PaceSource.SIZE)

    curves = slow.curves(tuple("abcdef"))
    assert curves is not None
    parts = [*slow.importances(), *slow.pairs(), curves]
    assert [part.row_count for part in parts] == [1_000, 30, 100]
    [note] = slow.notes(parts, has_target=True)
    assert ": a model of this size is taken to predict 3,000 rows/s." in note.message
    assert [nominal_pace.round_rows(count) for count in (1, 4, 30, 99, 299, 10**6)] == [
        *(1, 3, 30, 50, 200, 10**6)
    ]
