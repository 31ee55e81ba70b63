"""Choice of the loss: the default by task, and the parameters of losses and scores.

The default is the usual measure of the task: squared error of numbers; for classes the log loss
of probabilities, the area under the ROC curve of other scores, and the accuracy of labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.contract_limits import AverageLossOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Scale
from onnxplain_server.explain.task import Task
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import THRESHOLD_SCORES, Loss, LossParameters
from onnxplain_server.methods.option_checks import check_limits

_DEFAULT_FLOOR = 2.0**-23
"""Rounding of float32, in which most models compute; scikit-learn's log loss has it too."""
_ROUNDING = 1e-6
_SUM_ROUNDING = 1e-3
"""Tolerances for probabilities outside of [0, 1], and for their sum over classes."""
_OWNERS = {
    "quantile": (Loss.PINBALL,),
    "threshold": (Loss.ACCURACY, Loss.BALANCED_ACCURACY, Loss.F1),
    "probability_floor": (Loss.LOGLOSS, Loss.MLOGLOSS),
    "rank_count": (Loss.NDCG,),
}
"""Losses and scores that a parameter is for."""
_MEDIAN, _HALF = 0.5, 0.5


def with_loss(comparison: Comparison, task: Task) -> Comparison:
    """Choose the loss, unless the request names one, and set its parameters.

    Parameters
    ----------
    comparison : Comparison
        With its target resolved.

    Raises
    ------
    ExplainError
        INVALID_OPTION for a parameter of another loss, or a score that does not fit the target.
    """
    check_parameters(comparison, task.path)
    if comparison.loss_expression:
        return comparison
    if comparison.loss is None:
        comparison = _with_default(comparison, task)
    loss, parameters = comparison.loss, comparison.parameters
    if loss is Loss.PINBALL and parameters.quantile is None:
        parameters = replace(parameters, quantile=_MEDIAN)
    if comparison.is_score:
        _check_score(comparison, task)
        parameters = replace(parameters, threshold=_threshold(comparison, task))
    return replace(comparison, parameters=parameters)


def check_parameters(comparison: Comparison, path: str) -> None:
    """Refuse parameters that the loss does not have.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    parameters, loss = comparison.parameters, comparison.loss
    check_limits(AverageLossOptions, parameters, path)
    for name, owners in _OWNERS.items():
        if getattr(parameters, name) is not None and loss not in owners:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"{name} is for the loss {' or '.join(owner.value for owner in owners)}; set loss "
                f"to it, or leave {name} out",
                f"{path}.{name}",
            )
    if comparison.query_column and not comparison.is_ranking:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "query_column is for the loss NDCG or PAIRWISE_ACCURACY; set loss to it, or leave "
            "query_column out",
            f"{path}.query_column",
        )


def _with_default(comparison: Comparison, task: Task) -> Comparison:
    if not comparison.one_hot_target:
        return replace(comparison, loss=Loss.SQUARED_ERROR)
    predicted = task.request.sampled_outputs
    if not task.request.model.roundings.any():
        return replace(comparison, loss=Loss.ACCURACY)
    if not _are_probabilities(task):
        return replace(comparison, loss=Loss.AUC)
    is_one_loss = predicted.shape[1] > 1 and _sum_to_one(predicted)
    return replace(
        comparison,
        loss=Loss.MLOGLOSS if is_one_loss else Loss.LOGLOSS,
        parameters=LossParameters(probability_floor=_DEFAULT_FLOOR),
    )


def _check_score(comparison: Comparison, task: Task) -> None:
    """Refuse scores of the other kind of target, and sums of scores."""
    if comparison.is_ranking and comparison.one_hot_target:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{_name(comparison)} compares the order of numbers, and the target names classes; "
            "leave one_hot_target and class_labels out, or use AUC",
            f"{task.path}.loss",
        )
    if not comparison.one_hot_target and not comparison.is_ranking:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{_name(comparison)} is a score of classes, and the target is compared as a number; "
            "set one_hot_target to true if it names classes, or use a loss",
            f"{task.path}.loss",
        )
    if comparison.sum_outputs:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{_name(comparison)} is a score, of which no sum is taken; leave sum_outputs out",
            f"{task.path}.sum_outputs",
        )


def _threshold(comparison: Comparison, task: Task) -> float | None:
    """Return the threshold of a score; None if the largest output gives the class."""
    given, outputs = comparison.parameters.threshold, task.outputs
    if given is not None or comparison.loss is None or comparison.loss not in THRESHOLD_SCORES:
        return given
    if len(outputs.explained) == 1:
        return _HALF if _are_probabilities(task) else 0.0
    if len(outputs.explained) < len(outputs.names):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{_name(comparison)} needs all outputs, to know which is the largest, or a threshold "
            "for each: explain all outputs, or one, or set threshold",
            f"{task.path}.threshold",
        )
    return None


def _are_probabilities(task: Task) -> bool:
    if task.question.scale is not Scale.RESPONSE:
        return False
    predicted = task.request.sampled_outputs
    return bool(predicted.min() >= -_ROUNDING and predicted.max() <= 1 + _ROUNDING)


def _sum_to_one(predicted: Matrix) -> bool:
    return bool(np.abs(predicted.sum(axis=1) - 1).max() <= _SUM_ROUNDING)


def _name(comparison: Comparison) -> str:
    return comparison.loss.value if comparison.loss else ""
