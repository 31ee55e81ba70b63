"""Plan of an overview from its pace: by the size of the model, or measured for a time asked."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.contract_limits import ExplainRequest
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning.nominal_pace import (
    nominal_pace,
    nominal_tree_rows,
    nominal_value_seconds,
)
from onnxplain_server.explain.planning.overview import SHARES, OverviewPlan
from onnxplain_server.explain.planning.overview_part import PaceSource, single_texts
from onnxplain_server.explain.planning.pace import predicted_pace, tree_pace, tree_rows
from onnxplain_server.explain.planning.remembered import remembered


def plan_overview(request: BoundRequest) -> OverviewPlan:
    """Plan an overview: by the size of the model, or for a time that is asked for, by its pace."""
    question, sample = request.question, request.sample
    budget = question.budget_seconds or ExplainRequest.budget_seconds.default
    is_tree = not request.tabular_choice.predicts
    pace = overview_pace(request, budget * SHARES["interactions"])
    limit = question.budget_predicted_row_count
    return OverviewPlan(
        sample.features.names,
        sample.population_count,
        question.row_count,
        budget,
        pace.rows,
        pace.tree_rows,
        pace.source,
        math.inf if limit is None or is_tree else limit,
        single_texts(sample.features),
        partial(nominal_value_seconds, request) if _has_exact_values(request) else None,
    )


def _has_exact_values(request: BoundRequest) -> bool:
    """Return whether Shapley values are exact without predicting: outputs are sums, not links."""
    choice = request.tabular_choice
    if choice.predicts or choice.is_quadratic:
        return False
    return request.effects.exact_attributions() is not None


class OverviewPace(NamedTuple):
    """Pace of a model.

    Attributes
    ----------
    rows : float
        Rows that the engine evaluates in a second.
    tree_rows : int or None
        Rows on which interactions on trees take the time that they are given; None for other
        models.
    source : PaceSource
    """

    rows: float
    tree_rows: int | None
    source: PaceSource


def overview_pace(request: BoundRequest, seconds: float) -> OverviewPace:
    """Return the pace, and the rows of interactions on trees in some seconds."""
    is_tree = not request.tabular_choice.predicts
    source = _source(request)
    if source is PaceSource.MEASURED:
        pace, rows = _measured(request, seconds, is_tree=is_tree)
        return OverviewPace(pace, int(rows) if is_tree else None, source)
    rows_of_trees = nominal_tree_rows(request, seconds) if is_tree else None
    return OverviewPace(nominal_pace(request), rows_of_trees, source)


def _source(request: BoundRequest) -> PaceSource:
    """Return what decides: the default time is the same as none."""
    budget = request.question.budget_seconds
    if budget is not None and not math.isclose(budget, ExplainRequest.budget_seconds.default):
        return PaceSource.MEASURED
    return PaceSource.SIZE if request.resources.row_seconds else PaceSource.ADDRESS


def _measured(request: BoundRequest, seconds: float, *, is_tree: bool) -> tuple[float, float]:
    """Return the pace and the rows of trees as they were first measured."""

    def measure() -> Vector:
        if not is_tree:
            return np.array([predicted_pace(request), 0.0])
        return np.array([tree_pace(request), tree_rows(request, seconds)])

    pace, rows = remembered(request, "overview", 2, measure).tolist()
    return pace, rows
