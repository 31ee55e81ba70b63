"""Findings on losses: tables of permutation importance and average loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.average_loss_pb2 import AverageLossOptions, AverageLossResult
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.permutation_importance_pb2 import (
    PermutationImportanceOptions,
    PermutationImportanceResult,
)

from onnxplain_server.core.arrays import Vector
from onnxplain_server.methods.losses import Loss, LossParameters, Measure, is_score, measure_of
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.number_formats import spell_beside, spell_whole
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.plots.units.shown_losses import ShownLoss
from onnxplain_server.report.finding import Finding, Heading, if_several, joined, truncate


def of_permutation_importance(
    result: PermutationImportanceResult, options: PermutationImportanceOptions, units: Units
) -> Iterator[Finding]:
    """Write the importance of each entry, and the loss before shuffling."""
    outputs = distinguish(result.output_names)
    loss = shown_loss(result, options)
    before = np.array(result.baseline_losses)
    ranked = sorted(result.importances, key=lambda i: -_strength(i.values))
    shown, left_out = truncate(ranked, len(outputs), "weaker ones")
    changes = np.array([one.values for one in shown])
    errors = loss.increase_errors(before, changes, np.array([i.standard_errors for i in shown]))
    values, after = loss.increases(before, changes), loss.values(before + changes)
    rows = [
        (
            joined(one.features, " + "),
            *if_several(outputs, output),
            spell_beside(values[place, column], values),
            spell_beside(errors[place, column], values),
            *([spell_beside(after[place, column], after)] if loss.is_root else []),
        )
        for place, one in enumerate(shown)
        for column, output in enumerate(outputs)
    ]
    scale = "share of that before" if options.normalize else loss.unit(outputs, units)
    change = f"{'fall' if is_score(loss.loss) else 'increase'} ({scale})"
    titles = [change, "± standard error", *([f"{loss.name} then"] if loss.is_root else [])]
    columns = (
        Heading("shuffled"),
        *if_several(outputs, Heading("output")),
        *(Heading(title, is_number=True) for title in titles),
    )
    yield Finding(
        "Permutation importance",
        f"{loss.change} when the values are shuffled; the standard error is that of shuffling anew",
        "features that stand in for each other look unimportant; another table adds its own error",
        columns,
        tuple(rows),
        left_out,
    )
    yield _baseline(result, loss, units)


def shown_loss(
    result: PermutationImportanceResult, options: PermutationImportanceOptions
) -> ShownLoss:
    """Return the loss of shuffles as it is shown."""
    return ShownLoss.of(loss_of(options), result.output_names, is_share=options.normalize)


def of_average_loss(
    result: AverageLossResult, options: AverageLossOptions, units: Units
) -> Iterator[Finding]:
    """Write the loss of all rows, or of each group by ascending value."""
    outputs = distinguish(result.output_names)
    loss = ShownLoss.of(loss_of(options), result.output_names)
    grouped = any(one.group for one in result.losses)
    shown, left_out = truncate(result.losses, len(outputs), "further groups")
    constants = [] if grouped else list(result.constant_losses)
    values = np.array([*(one.values for one in shown), *([constants] if constants else [])])
    values = loss.values(values)
    columns = (
        *([Heading(clean(options.group_column or "group"))] if grouped else []),
        *if_several(outputs, Heading("output")),
        Heading(_column(loss, outputs, units), is_number=True),
        *([Heading(f"of {loss_names.yardstick(loss.loss)}", is_number=True)] if constants else []),
        Heading("weight", is_number=True),
    )
    rows = [
        (
            *([clean(one.group)] if grouped else []),
            *if_several(outputs, output),
            spell_beside(values[place, column], values),
            *([spell_beside(values[-1, column], values)] if constants else []),
            spell_whole(one.weight),
        )
        for place, one in enumerate(shown)
        for column, output in enumerate(outputs)
    ]
    better = loss_names.better(loss.loss).lower()
    title = loss.heading(result.output_names)
    yield Finding(
        f"{title}, by {clean(options.group_column)}" if grouped else title,
        f"{better}; weight = number of rows, or the sum of their case weights",
        "the average of a small group is one of few rows; on rows used in training it is too small",
        columns,
        tuple(rows),
        left_out,
    )


def _baseline(result: PermutationImportanceResult, loss: ShownLoss, units: Units) -> Finding:
    outputs = distinguish(result.output_names)
    losses: Vector = loss.values(np.array(result.baseline_losses))
    columns = (
        *if_several(outputs, Heading("output")),
        Heading(_column(loss, outputs, units), is_number=True),
    )
    rows = [
        (*if_several(outputs, output), spell_beside(value, losses))
        for output, value in zip(outputs, losses, strict=True)
    ]
    shown, left_out = truncate(rows, 1, "further outputs")
    return Finding(
        f"{'Score' if is_score(loss.loss) else 'Loss'} before shuffling",
        "what the changes are to be compared with",
        "on rows used in training it is too small",
        columns,
        tuple(shown),
        left_out,
    )


def _column(loss: ShownLoss, outputs: Sequence[str], units: Units) -> str:
    name = loss.name if loss.is_root else "score" if is_score(loss.loss) else "average"
    return f"{name} ({loss.unit(outputs, units)})"


def _strength(values: Sequence[float]) -> float:
    """Return the sum over outputs; NaN ranks last."""
    total = float(np.sum(values))
    return -np.inf if np.isnan(total) else total


def loss_title(explanation: Explanation, title: str) -> str:
    """Return the title of a loss or score, with its name."""
    loss = loss_of(explanation.options.average_loss)
    name = ShownLoss.of(loss, explanation.average_loss.output_names).name
    return f"{'Score' if is_score(loss) else title}: {name}"


def loss_of(options: PermutationImportanceOptions | AverageLossOptions) -> Measure:
    """Return the loss that was computed, or its expression."""
    if options.loss_expression:
        return str(options.loss_expression)
    loss = Loss(AverageLossOptions.Loss.Name(options.loss))
    names = ("quantile", "rank_count", "threshold")
    given = {name: getattr(options, name) for name in names if options.HasField(name)}
    return measure_of(loss, LossParameters(**given))
