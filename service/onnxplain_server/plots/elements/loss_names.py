"""Names and units of losses and scores, for plots and reports."""

from __future__ import annotations

from onnxplain_server.core.number_texts import text_within
from onnxplain_server.methods.losses import RANK_SCORES, Loss, LossAt, Measure, is_score, plain_loss
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
            return f"{_NAMES[loss.loss]} ({parameter(loss)})"
        case _:
            return _NAMES[loss]


def parameter(loss: LossAt) -> str:
    """Write the parameter of a loss with its kind, exactly: "quantile 0.9"."""
    if loss.loss is Loss.NDCG:
        return f"first {loss.level:,.0f}"
    kind = "quantile" if loss.loss is Loss.PINBALL else "threshold"
    return f"{kind} {text_within(loss.level).replace('-', '−')}"


def unit(loss: Measure) -> str:
    """Return the unit of a loss."""
    return "unit of the expression" if isinstance(loss, str) else _UNITS[plain_loss(loss)]


def yardstick(loss: Measure) -> str:
    """Return what a loss or score is compared with: predictions that know nothing of the rows."""
    return "a random order" if _is_of_order(loss) else "the best constant"


def yardstick_in_words(loss: Measure) -> str:
    """Return what a loss or score is compared with, for a sentence."""
    return f"{yardstick(loss)}{'' if _is_of_order(loss) else ' prediction'}"


def _is_of_order(loss: Measure) -> bool:
    return not isinstance(loss, str) and plain_loss(loss) in RANK_SCORES


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
        is_one = not isinstance(loss, str) and plain_loss(loss) in _LABEL_SCORES
        return start if is_one else f"{start}, total"
    return f"{start} for {only}" if isinstance(loss, str) else f"{start} of {only}"
