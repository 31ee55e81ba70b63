"""Key figures of a comparison: each loss of all rows, with that before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.explanation_comparison_pb2 import (
    ExplanationComparison,
    ReplicatedStatistic,
    StatisticDifference,
)
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.methods.losses import is_score
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.units.shown_losses import ShownLoss
from onnxplain_server.report.key_figures import KeyFigure
from onnxplain_server.report.loss_findings import loss_of
from onnxplain_server.report.output_names import units_of_answer


def change_figures(
    comparison: ExplanationComparison, answer: ExplainResponse
) -> Iterator[KeyFigure]:
    """Yield the losses of all rows that an answer names; outputs have their names for reports."""
    for each in comparison.differences:
        explanation = answer.explanations[each.explanation_index]
        options = explanation.options.average_loss
        is_named = bool(options.loss or options.loss_expression)
        if each.kind == ReplicatedStatistic.AVERAGE_LOSS and not each.group and is_named:
            yield _figure(each, answer)


def _figure(each: StatisticDifference, answer: ExplainResponse) -> KeyFigure:
    explanation = answer.explanations[each.explanation_index]
    outputs = list(explanation.average_loss.output_names)
    loss = ShownLoss.of(loss_of(explanation.options.average_loss), outputs)
    values = loss.values(np.array([each.reference_value, each.value]))
    before, after = (spell_beside(value, values) for value in values)
    name = f"{loss.name[0].upper()}{loss.name[1:]}"
    if len(outputs) > 1:
        name = f"{name}, {clean(each.output_name)}"
    unit = loss.unit([each.output_name], units_of_answer(answer))
    return KeyFigure(name, after, unit, f"{before} before; {_verdict(each, loss)}")


def _verdict(each: StatisticDifference, loss: ShownLoss) -> str:
    if each.verdict != ExplanationComparison.CHANGED:
        return "no change is shown"
    is_better = (each.difference > 0) is is_score(loss.loss)
    return "better by more than chance" if is_better else "worse by more than chance"
