"""Average loss: mean distance between predictions and true values, overall or by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.contract_limits import AverageLossOptions
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import Table
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods import target
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.comparison import Comparison, constant_losses
from onnxplain_server.methods.groups import Group
from onnxplain_server.methods.loss_expression import LossExpression
from onnxplain_server.methods.loss_notes import floor_note, floor_notes, undefined_notes
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.methods.streamed_loss import LossPass, LossSums


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the average loss; see `AverageLossOptions` in the contract."""

    comparison: Comparison = field(default_factory=Comparison)
    group_column: str = ""
    group_count: int = AverageLossOptions.group_count.default


@dataclass(frozen=True, slots=True, eq=False)
class AverageLoss:
    """Average loss of a group of rows.

    Attributes
    ----------
    group : str
        Empty if rows are not grouped.
    values : (n_outputs,)
    weight : float
        Total weight of the rows; infinity if it exceeds float64.
    share : float
        Share of the total weight, in [0, 1].
    standard_errors : (n_outputs,) or None
        Of the values, by the spread of the losses of the rows; None of scores, and where rows are
        not read together.
    row_count : int
        Number of rows; 0 where it is not known.
    """

    group: str
    values: Vector
    weight: float
    share: float
    standard_errors: Vector | None = None
    row_count: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One loss per group, in ascending order; see `AverageLossResult` in the contract.

    Attributes
    ----------
    output_names : tuple of str
    losses : tuple of AverageLoss
    loss : Loss or str
        The loss, or its expression.
    total : (n_outputs,)
        Loss of all rows.
    group_column : str
        Empty if rows are not grouped.
    notes : tuple of Note
    constant_losses : (n_outputs,)
        Of the best constant prediction on all rows; empty where it is not known, as of rows that
        are never read together.
    """

    output_names: tuple[str, ...]
    losses: tuple[AverageLoss, ...]
    loss: Loss | str
    total: Vector
    group_column: str = ""
    notes: tuple[Note, ...] = ()
    constant_losses: Vector = field(default_factory=lambda: np.zeros(0))


def check(options: Options, path: str) -> None:
    """Reject options that are invalid for any table."""
    check_limits(AverageLossOptions, options, path)


def resolve(
    options: Options, table: Table, target_column: str, outputs: Outputs, path: str
) -> Options:
    """Fill in defaults that depend on table and model; reject invalid options."""
    check(options, path)
    comparison = target.resolve(options.comparison, table, target_column, outputs, path)
    return replace(options, comparison=comparison)


# Long: one sequence from predictions to the result, with the notes on each part.
def compute(
    effects: Effects,
    options: Options,
    actual: Matrix,
    groups: Sequence[Group],
    expression: LossExpression | None = None,
) -> Result:
    """Compute the average loss of each group.

    Parameters
    ----------
    effects : Effects
        Its background must keep every row (no merged duplicates).
    actual : (n_rows, n_outputs)
        True values of the background's rows.
    groups : sequence of Group
        Groups of the background's rows.
    expression : LossExpression or None
        Loss of these rows, if it is an expression.
    """
    predicted, weights = effects.outputs(), effects.background.weights
    comparison = options.comparison

    def of_group(group: Group) -> AverageLoss:
        rows = group.rows
        part = expression and expression.take(rows)
        values = comparison.average(actual[rows], predicted[rows], weights[rows], part)
        share = float(weights[rows].sum() / weights.sum())
        errors = _standard_errors(comparison, actual[rows], predicted[rows], weights[rows], part)
        weight = effects.background.weight(rows)
        return AverageLoss(group.label, values, weight, share, errors, len(rows))

    losses = tuple(map(of_group, groups))
    total = comparison.average(actual, predicted, weights, expression)
    names = comparison.output_names(effects.output_names, expression)
    notes = (
        *floor_notes(comparison, actual, predicted, weights),
        *undefined_notes([(group.group, group.values) for group in losses], names),
    )
    constant = np.zeros(0) if expression else constant_losses(comparison, actual, weights)
    return Result(names, losses, comparison.measure, total, options.group_column, notes, constant)


def _standard_errors(
    comparison: Comparison,
    actual: Matrix,
    predicted: Matrix,
    weights: Vector,
    expression: LossExpression | None,
) -> Vector | None:
    """Return the standard errors of average losses over some rows; None of scores, or one row."""
    if comparison.is_score or (weights > 0).sum() < 2:
        return None
    losses = comparison.losses(actual, predicted, expression)
    if not np.isfinite(losses).all():
        return None
    shares = weights / weights.sum()
    deviations = losses - shares @ losses
    rest = 1 - float(shares @ shares)
    if rest <= 0:  # one row has all the weight, to its rounding
        return None
    scale = np.abs(deviations).max(axis=0)  # squares stay within float64
    relative = deviations / np.where(scale > 0, scale, 1)
    with np.errstate(over="ignore"):
        errors: Vector = scale * np.sqrt((shares**2) @ relative**2 / rest)
    return errors


def streamed_result(
    options: Options, work: LossPass, sums: LossSums, output_names: tuple[str, ...], unit: float
) -> Result:
    """Present the sums over all rows.

    Parameters
    ----------
    unit : float
        Case weight that a weight of 1 stands for.
    """
    comparison, whole = options.comparison, float(sums.weights.sum())
    losses = tuple(
        AverageLoss(label, total / weight, float(weight) * unit, float(weight) / whole)
        for label, total, weight in zip(
            work.grouping.labels, sums.losses, sums.weights, strict=True
        )
        if weight
    )
    names = comparison.output_names(output_names)
    notes = (
        *floor_note(comparison, int(sums.floored_rows), int(sums.rows)),
        *undefined_notes([(group.group, group.values) for group in losses], names),
    )
    total = sums.losses.sum(axis=0) / whole
    return Result(names, losses, comparison.measure, total, options.group_column, notes)
