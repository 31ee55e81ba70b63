"""Pace of a model, by a clock that goes on by one second with each look."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnxplain
import pytest
from onnxplain_server.explain import overview, pace
from onnxplain_server.explain.bound_request import BoundRequest

MODELS = Path(__file__).parents[1] / "models"
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
    original = overview.plan_overview

    def plan(request: BoundRequest) -> overview.OverviewPlan:
        made.append(original(request))
        return made[-1]

    monkeypatch.setattr(overview, "plan_overview", plan)
    return made


def explained(name: str, **request) -> onnxplain.Explanations:
    random = np.random.default_rng(2)
    with onnxplain.local() as client:
        width = client.describe(MODELS / f"{name}.onnx").inputs[0].width
        columns = {f"x{j}": random.normal(size=N_ROWS) for j in range(width)}
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


def test_the_time_of_linked_trees_grows_with_the_square_of_the_rows(plans) -> None:
    explained("lightgbm_binary", budget_seconds=40)

    [plan] = plans
    assert plan.tree_rows == 250 * (40 * 0.4) ** 0.5


def test_other_models_are_measured_by_predicting(plans) -> None:
    explained("sklearn_linear", budget_seconds=20, row_count=50)

    [plan] = plans
    assert plan.tree_rows is None
    assert plan.pace == 1, "one row took longer than a call needs"
