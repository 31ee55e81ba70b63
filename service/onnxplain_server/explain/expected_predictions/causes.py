"""Likely causes of differences: each is tried in turn, and told only where it explains them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onnxplain_server.core.arrays import Flags
from onnxplain_server.core.model import Scale
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.expected_predictions import labels, output_causes
from onnxplain_server.explain.expected_predictions.comparison import CauseKind, LikelyCause
from onnxplain_server.explain.expected_predictions.feature_order import feature_order
from onnxplain_server.explain.expected_predictions.row_causes import causes_in_rows
from onnxplain_server.explain.expected_predictions.threshold_rounding import threshold_rounding
from onnxplain_server.explain.expected_predictions.trial import CauseTrial
from onnxplain_server.explain.resources import WrittenModel

_REPAIRED_SHARE = 0.5
"""Share of the rows that agree without a fault of the converter: others may add to it."""

_OF_ALL_ROWS: tuple[Callable[[CauseTrial], LikelyCause | None], ...] = (
    output_causes.output_order,
    labels.class_labels,
    output_causes.link,
    output_causes.factor_or_constant,
    feature_order,
)


def likely_causes(
    trial: CauseTrial, request: BoundRequest, differs: Flags
) -> tuple[LikelyCause, ...]:
    """Return the cause that explains all rows, or those that explain some rows each.

    Parameters
    ----------
    trial : CauseTrial
    request : BoundRequest
    differs : (n_rows,)
        Of all rows compared.
    """
    for find in _OF_ALL_ROWS:
        if cause := find(trial):
            return (cause,)
    written = request.resources.written()
    found = (
        _repaired(trial, request, written),
        *causes_in_rows(request.features, differs, written.texts, written.missing_fault),
        threshold_rounding(trial, written.threshold_fault) if written.has_trees else None,
    )
    return tuple(cause for cause in found if cause)


def _repaired(
    trial: CauseTrial, request: BoundRequest, written: WrittenModel
) -> LikelyCause | None:
    """Find that the model predicts as expected without a known fault of its converter."""
    question = request.question
    if written.repaired is None or question.prediction or question.scale is not Scale.RESPONSE:
        return None
    predictor = request.unplanned.of(written.repaired)
    predicted = predictor.predict_rows(trial.features, trial.columns)
    if predicted.shape != trial.predicted.shape:
        return None
    agreeing = trial.agreeing(predicted[:, trial.outputs])
    left, count = (
        int(np.count_nonzero(rows)) for rows in (trial.differs & ~agreeing, trial.differs)
    )
    message = written.repaired_fault
    if left:
        does = "does" if left == 1 else "do"
        message += f" {left} of {count} rows that differ {does} so without this fault as well."
    return trial.cause(CauseKind.CONVERTER_FAULT, agreeing, message, _REPAIRED_SHARE)
