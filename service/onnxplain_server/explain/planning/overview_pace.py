"""Pace that an overview is sized by: by the size of the model, or measured for a time asked."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.contract_limits import ExplainRequest
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning.nominal_pace import nominal_pace, nominal_tree_rows
from onnxplain_server.explain.planning.pace import predicted_pace, tree_pace, tree_rows
from onnxplain_server.explain.planning.remembered import remembered


class PaceSource(Enum):
    """Source of a pace, in the words of the warning."""

    MEASURED = "the model predicts"
    SIZE = "a model of this size is taken to predict"
    ADDRESS = "a model behind an address is taken to predict"


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
