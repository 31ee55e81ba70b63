"""Memory of a computation: an estimate of the arrays that it holds at its peak."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.methods.interactions import most_pairs

if TYPE_CHECKING:
    from onnxplain_server.explain.planning.explanation_plan import MethodPlan

_NUMBER = 8
"""Bytes of a number."""
_CALLS = 3
"""Calls whose rows and predictions are in memory at the same time, with the next ones."""


def peak_bytes(request: BoundRequest, methods: Sequence[MethodPlan], answer_bytes: int) -> int:
    """Return the bytes of table, rows in the model's types, calls, effects and answer.

    It does not hold the model, the runtime and the libraries, nor the tables that the trees engine
    builds for a model.
    """
    answer = 3 * answer_bytes  # as values, as messages and as bytes
    if request.given_table is None or not request.is_sampled:
        return answer
    features, outputs = len(request.sample.features.names), max(len(request.output_indices), 1)
    table = request.given_table.n_rows * len(request.given_table.columns) * _NUMBER
    drawn = max((method.row_count for method in methods), default=0)
    background = 2 * drawn * features * _NUMBER
    predicted = max((method.predicted_row_count for method in methods), default=0)
    calls = _CALLS * min(predicted, BatchSize.LARGEST) * (features + 2 * outputs) * _NUMBER
    effects = max((_effect_count(m.options, features) * m.row_count for m in methods), default=0)
    return table + background + calls + effects * outputs * _NUMBER + answer


def _effect_count(options: Any, features: int) -> int:
    """Count the numbers that a method keeps for each row and output."""
    resampling = getattr(options, "resampling", None)
    replicates = 1 + (resampling.repeat_count if resampling else 0)
    paired = getattr(options, "pairwise_feature_count", 0)
    pairs = most_pairs(features) if paired is None else math.comb(min(paired, features), 2)
    points = getattr(options, "grid_size", 0) if hasattr(options, "curve_count") else 0
    return replicates * (2 * features + 2 * pairs) + points
