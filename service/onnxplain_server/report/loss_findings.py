"""Findings on losses: tables of permutation importance and average loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from onnxplain_server.plots.elements.naming import TOTAL, in_units_of
from onnxplain_server.plots.elements.number_formats import spell_beside, spell_whole
from onnxplain_server.report.finding import Finding, Heading, if_several, joined, truncate

ROOT = "root mean squared error"


@dataclass(frozen=True, slots=True)
class RootLosses:
    """Root mean squared errors of one output, in its unit: before shuffling, and all together."""

    before: float
    all: Vector

    def shuffled(self, increase: float) -> float:
        """Return the root after the squared error has increased."""
        return math.sqrt(max(self.before**2 + increase, 0.0))


def root_losses(
    result: PermutationImportanceResult, options: PermutationImportanceOptions
) -> RootLosses | None:
    """Return the roots of squared errors; None of other losses, of several outputs, of classes."""
    is_one = len(result.output_names) == 1 and list(result.output_names) != [TOTAL]
    is_squared = loss_of(options) is Loss.SQUARED_ERROR and not options.one_hot_target
    if not is_one or not is_squared or options.normalize:
        return None
    losses = result.baseline_losses[0] + np.array([0.0, *(i.values[0] for i in result.importances)])
    if not np.isfinite(losses).all():
        return None
    return RootLosses(math.sqrt(losses[0]), np.sqrt(np.maximum(losses, 0.0)))


def of_permutation_importance(
    result: PermutationImportanceResult, options: PermutationImportanceOptions
) -> Iterator[Finding]:
    """Write the importance of each entry, and the loss before shuffling."""
    outputs = distinguish(result.output_names)
    loss = loss_of(options)
    ranked = sorted(result.importances, key=lambda i: -_strength(i.values))
    shown, left_out = truncate(ranked, len(outputs), "weaker ones")
    values = np.array([one.values for one in shown])
    roots = root_losses(result, options)
    rows = [
        (
            joined(one.features, " + "),
            *if_several(outputs, output),
            *(spell_beside(own[column], values) for own in (one.values, one.standard_errors)),
            *([spell_beside(roots.shuffled(one.values[0]), roots.all)] if roots else []),
        )
        for one in shown
        for column, output in enumerate(outputs)
    ]
    scale = (
        "share of that before" if options.normalize else in_units_of(loss_names.unit(loss), outputs)
    )
    change = f"{'fall' if is_score(loss) else 'increase'} ({scale})"
    columns = (
        Heading("shuffled"),
        *if_several(outputs, Heading("output")),
        *(Heading(title, is_number=True) for title in (change, "± standard error")),
        *_root_heading("root then", outputs, roots),
    )
    yield Finding(
        "Permutation importance",
        f"{loss_names.change(loss)} when the values are shuffled; "
        "the standard error is that of shuffling anew",
        "features that stand in for each other look unimportant; another table adds its own error",
        columns,
        tuple(rows),
        left_out,
    )
    yield _baseline(result, loss, roots)


def of_average_loss(result: AverageLossResult, options: AverageLossOptions) -> Iterator[Finding]:
    """Write the loss of all rows, or of each group by ascending value."""
    outputs = distinguish(result.output_names)
    loss = loss_of(options)
    grouped = any(one.group for one in result.losses)
    shown, left_out = truncate(result.losses, len(outputs), "further groups")
    constants = [] if grouped else list(result.constant_losses)
    values = np.array([*(one.values for one in shown), *([constants] if constants else [])])
    columns = (
        *([Heading(clean(options.group_column or "group"))] if grouped else []),
        *if_several(outputs, Heading("output")),
        Heading(_column(loss, outputs), is_number=True),
        *([Heading(f"of {loss_names.yardstick(loss)}", is_number=True)] if constants else []),
        Heading("weight", is_number=True),
    )
    rows = [
        (
            *([clean(one.group)] if grouped else []),
            *if_several(outputs, output),
            spell_beside(one.values[column], values),
            *([spell_beside(constants[column], values)] if constants else []),
            spell_whole(one.weight),
        )
        for one in shown
        for column, output in enumerate(outputs)
    ]
    better = loss_names.better(loss).lower()
    title = loss_names.heading(loss, tuple(result.output_names))
    yield Finding(
        f"{title}, by {clean(options.group_column)}" if grouped else title,
        f"{better}; weight = number of rows, or the sum of their case weights",
        "the average of a small group is one of few rows; on rows used in training it is too small",
        columns,
        tuple(rows),
        left_out,
    )


def _baseline(
    result: PermutationImportanceResult, loss: Measure, roots: RootLosses | None
) -> Finding:
    outputs = distinguish(result.output_names)
    losses: Vector = np.array(result.baseline_losses)
    columns = (
        *if_several(outputs, Heading("output")),
        Heading(_column(loss, outputs), is_number=True),
        *_root_heading(ROOT, outputs, roots),
    )
    rows = [
        (
            *if_several(outputs, output),
            spell_beside(value, losses),
            *([spell_beside(roots.before, roots.all)] if roots else []),
        )
        for output, value in zip(outputs, losses, strict=True)
    ]
    shown, left_out = truncate(rows, 1, "further outputs")
    return Finding(
        f"{'Score' if is_score(loss) else 'Loss'} before shuffling",
        "what the changes are to be compared with",
        "on rows used in training it is too small",
        columns,
        tuple(shown),
        left_out,
    )


def _column(loss: Measure, outputs: Sequence[str]) -> str:
    unit = in_units_of(loss_names.unit(loss), outputs)
    return f"{'score' if is_score(loss) else 'average'} ({unit})"


def _root_heading(
    title: str, outputs: Sequence[str], roots: RootLosses | None
) -> tuple[Heading, ...]:
    """Return the heading of roots, with the unit of predictions; none without them."""
    unit = in_units_of(loss_names.unit(Loss.ABSOLUTE_ERROR), outputs)
    return (Heading(f"{title} ({unit})", is_number=True),) if roots else ()


def _strength(values: Sequence[float]) -> float:
    """Return the sum over outputs; NaN ranks last."""
    total = float(np.sum(values))
    return -np.inf if np.isnan(total) else total


def loss_title(explanation: Explanation, title: str) -> str:
    """Return the title of a loss or score, with its name."""
    loss = loss_of(explanation.options.average_loss)
    return f"{'Score' if is_score(loss) else title}: {loss_names.name(loss)}"


def loss_of(options: PermutationImportanceOptions | AverageLossOptions) -> Measure:
    """Return the loss that was computed, or its expression."""
    if options.loss_expression:
        return str(options.loss_expression)
    loss = Loss(AverageLossOptions.Loss.Name(options.loss))
    names = ("quantile", "rank_count", "threshold")
    given = {name: getattr(options, name) for name in names if options.HasField(name)}
    return measure_of(loss, LossParameters(**given))
