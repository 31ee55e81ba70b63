"""Key figures of an answer: losses and scores of all rows beside the best constant, and rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation

from onnxplain_server.core.arrays import Flags
from onnxplain_server.core.warnings import ALL, WARNINGS
from onnxplain_server.methods.losses import Loss, Measure, are_perfect, is_score
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.plots.units.shown_losses import ShownLoss
from onnxplain_server.report.loss_findings import loss_of
from onnxplain_server.report.output_names import units_of_answer


class KeyFigure(NamedTuple):
    """A number with its name, its unit, and what it compares with, or an empty text."""

    name: str
    value: str
    unit: str
    comparison: str


def of_answer(answer: ExplainResponse) -> list[KeyFigure]:
    """Return the key figures of an answer whose outputs have their names for reports.

    There are none where a warning says that losses cannot be relied on.
    """
    messages: list[Any] = list(answer.warnings)
    silenced = {name for w in messages if w.code in WARNINGS for name in WARNINGS[w.code].silences}
    if silenced.issuperset(ALL):
        return []
    told = [e for e in answer.explanations if (e.WhichOneof("result") or "") not in silenced]
    plain, units = list(filter(is_of_all_rows, told)), units_of_answer(answer)
    figures = [figure for explanation in plain for figure in _of_losses(explanation, units)]
    return [*figures, *_rows(answer)] if figures else []


def _rows(answer: ExplainResponse) -> Iterator[KeyFigure]:
    """Yield the most rows of a part, and what they may make of figures.

    Parts of an overview may have fewer rows than others.
    """
    counts = [e.rows.used_row_count for e in answer.explanations if e.HasField("rows")]
    if counts:
        fewest, most = min(counts), max(counts)
        fewer = f"{fewest:,} in some parts; " if fewest < most else ""
        comparison = f"{fewer}figures too good if trained on these"
        yield KeyFigure("Rows", f"{most:,}", "", comparison)


def is_of_all_rows(explanation: Explanation) -> bool:
    """Return whether these are losses of all rows together."""
    losses = explanation.average_loss.losses
    return len(losses) == 1 and not losses[0].group


def is_single(explanation: Explanation) -> bool:
    """Return whether this is a single loss."""
    return is_of_all_rows(explanation) and len(explanation.average_loss.output_names) == 1


def r_squared(explanation: Explanation) -> float:
    """Return R² of the only output; NaN where the loss is another, or the constant's no measure."""
    options, result = explanation.options.average_loss, explanation.average_loss
    is_one_output = is_single(explanation) and not options.sum_outputs
    is_of_numbers = loss_of(options) is Loss.SQUARED_ERROR and not options.one_hot_target
    if not is_of_numbers or not is_one_output or not result.constant_losses:
        return math.nan
    constant = result.constant_losses[0]
    is_measure = math.isfinite(constant) and constant > 0
    return 1 - result.losses[0].values[0] / constant if is_measure else math.nan


def r_squared_text(explanation: Explanation) -> str:
    """Write R² with three digits, and 1 of a perfect fit alone; empty where it is not known."""
    share = r_squared(explanation)
    if not math.isfinite(share):
        return ""
    if perfect_outputs(explanation).any():
        return "1"
    text = spell_beside(share, np.ones(1))
    return "almost 1" if text == "1" else text


def perfect_outputs(explanation: Explanation) -> Flags:
    """Tell for which outputs the loss or score of all rows is perfect: (n_outputs,)."""
    result = explanation.average_loss
    loss = loss_of(explanation.options.average_loss)
    return are_perfect(loss, np.array(result.losses[0].values), np.array(result.constant_losses))


def is_no_better(loss: Measure, value: float, constant: float) -> bool:
    """Return whether a loss or score is at most as good as that of the best constant."""
    return bool(value <= constant if is_score(loss) else value >= constant)


def _of_losses(explanation: Explanation, units: Units) -> Iterator[KeyFigure]:
    result = explanation.average_loss
    outputs = list(result.output_names)
    loss = ShownLoss.of(loss_of(explanation.options.average_loss), outputs)
    unit = loss.unit(outputs, units)
    values, constants = np.array(result.losses[0].values), np.array(result.constant_losses)
    values, constants = loss.values(values), loss.values(constants)
    are_best, name = perfect_outputs(explanation), loss.name
    if share := r_squared_text(explanation):
        yield KeyFigure("R²", share, "", "1 is perfect, 0 the mean alone")
    name = name[0].upper() + name[1:]
    all_values = np.concatenate([values, constants])
    for column, output in enumerate(outputs):
        if math.isfinite(values[column]):
            named = name if len(outputs) == 1 else f"{name}, {clean(output)}"
            comparison = ""
            if constants.size:
                worse = is_no_better(loss.loss, values[column], constants[column])
                constant = spell_beside(constants[column], all_values)
                yardstick = loss_names.yardstick(loss.loss)
                comparison = f"{'no better than ' * worse}{yardstick}: {constant}"
            if are_best[column]:
                told = "perfect, as rows used in training can be"
                comparison = f"{told}; {comparison}" if comparison else told
            yield KeyFigure(named, spell_beside(values[column], all_values), unit, comparison)
