"""Names and units of losses, for plots and reports."""

from __future__ import annotations

from onnxplain_server.methods.losses import Loss
from onnxplain_server.plots.elements.labels import clean, shorten

_NAMES = {
    Loss.SQUARED_ERROR: "mean squared error",
    Loss.ABSOLUTE_ERROR: "mean absolute error",
    Loss.POISSON: "mean Poisson deviance",
    Loss.GAMMA: "mean gamma deviance",
    Loss.LOGLOSS: "mean log loss",
    Loss.MLOGLOSS: "mean multi-class log loss",
}
_UNITS = {
    Loss.SQUARED_ERROR: "squared units of the output",
    Loss.ABSOLUTE_ERROR: "units of the output",
    Loss.POISSON: "units of the output",
    Loss.GAMMA: "no unit",
    Loss.LOGLOSS: "nats",
    Loss.MLOGLOSS: "nats",
}


def name(loss: Loss | str) -> str:
    """Return the name of an average loss, for use in a sentence; of an expression, its text."""
    return f"mean of {shorten(clean(loss), 40)}" if isinstance(loss, str) else _NAMES[loss]


def unit(loss: Loss | str) -> str:
    """Return the unit of a loss."""
    return "unit of the expression" if isinstance(loss, str) else _UNITS[loss]


def heading(loss: Loss | str, output_names: tuple[str, ...]) -> str:
    """Return the name of an average loss as a title, with the output if there is only one."""
    start = name(loss)[0].upper() + name(loss)[1:]
    if len(output_names) > 1 or loss is Loss.MLOGLOSS:
        return start
    only = shorten(clean(output_names[0]), 30)
    if only == "total":
        return f"{start}, total"
    return f"{start} for {only}" if isinstance(loss, str) else f"{start} of {only}"
