"""Choice of the engine SURROGATE, where predictions of a request would take too long."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning.nominal_pace import nominal_pace
from onnxplain_server.explain.prepared_method import PreparedMethod, prepare_methods
from onnxplain_server.explain.question import Engine
from onnxplain_server.explain.rows.surrogate_budget import MOST_PREDICTED_ROWS, PREDICTED_ROWS

_LEAST_SAVING = 3
"""Times as many rows that the black box would predict."""


def prepare_within_seconds(request: BoundRequest) -> Sequence[PreparedMethod]:
    """Prepare the methods, for the engine SURROGATE where predictions would take too long.

    Time is that of the model's size, not of a clock: equal requests have equal answers. Options
    that the engine does not take are left to the black box.

    Parameters
    ----------
    request : BoundRequest
        See `may_be_estimated`.

    Raises
    ------
    ExplainError
        As preparing the methods raises it.
    """
    prepared = prepare_methods(request)
    if request.choice is None or request.choice.engine is not Engine.BLACK_BOX:
        return prepared
    predicted, pace = sum(method.predicted_row_count for method in prepared), nominal_pace(request)
    seconds, limit = predicted / pace, request.resources.surrogate_seconds
    rows = len(prepared) * int(min(max(limit * pace, PREDICTED_ROWS), MOST_PREDICTED_ROWS))
    if seconds <= limit or predicted < _LEAST_SAVING * rows:
        return prepared
    counted = "the size of the model" if request.resources.row_seconds else "an unknown size"
    because = (
        f"predicting {predicted:,} rows may take {seconds:,.0f} s, by a coarse count from {counted}"
    )
    try:
        return prepare_methods(request.by_surrogate(rows, because))
    except ExplainError as error:
        if error.reason is not Reason.INVALID_OPTION:
            raise
        return prepared
