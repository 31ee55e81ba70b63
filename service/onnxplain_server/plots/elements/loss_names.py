"""Names and units of losses and scores, for plots and reports."""

from __future__ import annotations

from onnxplain_server.methods.losses import SCORES, Loss, LossAt, Measure
from onnxplain_server.plots.elements.labels import clean, shorten

_NAMES = {
    Loss.SQUARED_ERROR: "mean squared error",
    Loss.ABSOLUTE_ERROR: "mean absolute error",
    Loss.POISSON: "mean Poisson deviance",
    Loss.GAMMA: "mean gamma deviance",
    Loss.LOGLOSS: "mean log loss",
    Loss.MLOGLOSS: "mean multi-class log loss",
    Loss.PINBALL: "mean pinball loss",
    Loss.MAPE: "mean absolute percentage error",
    Loss.ACCURACY: "accuracy",
    Loss.BALANCED_ACCURACY: "balanced accuracy",
    Loss.F1: "F1 score",
    Loss.AUC: "area under the ROC curve",
    Loss.NDCG: "NDCG",
    Loss.PAIRWISE_ACCURACY: "pairwise accuracy",
}
_UNITS = {
    Loss.SQUARED_ERROR: "squared units of the output",
    Loss.ABSOLUTE_ERROR: "units of the output",
    Loss.POISSON: "units of the output",
    Loss.GAMMA: "no unit",
    Loss.LOGLOSS: "nats",
    Loss.MLOGLOSS: "nats",
    Loss.PINBALL: "units of the output",
    Loss.MAPE: "share of the true value",
    Loss.ACCURACY: "share of rows",
    Loss.BALANCED_ACCURACY: "share of rows",
    Loss.F1: "no unit",
    Loss.AUC: "share of pairs",
    Loss.NDCG: "share of the best order's gain",
    Loss.PAIRWISE_ACCURACY: "share of pairs",
}

_LABEL_SCORES = frozenset({Loss.ACCURACY, Loss.BALANCED_ACCURACY})
"""Scores that are one for all outputs without being a sum."""


def name(loss: Measure) -> str:
    """Return the name of an average loss, for use in a sentence; of an expression, its text."""
    match loss:
        case str():
            return f"mean of {shorten(clean(loss), 40)}"
        case LossAt():
            level = "first " if loss.loss is Loss.NDCG else "quantile "
            return f"{_NAMES[loss.loss]} ({level}{loss.level:g})"
        case _:
            return _NAMES[loss]


def unit(loss: Measure) -> str:
    """Return the unit of a loss."""
    return "unit of the expression" if isinstance(loss, str) else _UNITS[_plain(loss)]


def is_score(loss: Measure) -> bool:
    """Return whether larger is better."""
    return not isinstance(loss, str) and _plain(loss) in SCORES


def _plain(loss: Loss | LossAt) -> Loss:
    return loss.loss if isinstance(loss, LossAt) else loss


def change(loss: Measure) -> str:
    """Return the noun for getting worse, with the name of the loss or score."""
    return f"{'fall' if is_score(loss) else 'increase'} of the {name(loss)}"


def better(loss: Measure) -> str:
    """Return the sentence that says which values are better."""
    return "Larger is better" if is_score(loss) else "Smaller is better"


def heading(loss: Measure, output_names: tuple[str, ...]) -> str:
    """Return the name of an average loss as a title, with the output if there is only one."""
    start = name(loss)[0].upper() + name(loss)[1:]
    if len(output_names) > 1 or loss is Loss.MLOGLOSS:
        return start
    only = shorten(clean(output_names[0]), 30)
    if only == "total":
        return start if loss in _LABEL_SCORES else f"{start}, total"
    return f"{start} for {only}" if isinstance(loss, str) else f"{start} of {only}"
