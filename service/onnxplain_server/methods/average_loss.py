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
from onnxplain_server.effects.weighted_mean import mean, standard_error
from onnxplain_server.methods import target
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.comparison import Comparison, RowContext, constant_losses
from onnxplain_server.methods.groups import Group
from onnxplain_server.methods.loss_notes import floor_note, undefined_notes
from onnxplain_server.methods.losses import Measure
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.methods.resampling import (
    Band,
    Deviations,
    ReplicatedStatistic,
    Resampling,
    RowUnits,
    bootstrap_counts,
    few_rows_notes,
)
from onnxplain_server.methods.streamed_loss import LossSums


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the average loss; see `AverageLossOptions` in the contract."""

    comparison: Comparison = field(default_factory=Comparison)
    group_column: str = ""
    group_count: int = AverageLossOptions.group_count.default
    resampling: Resampling = field(default_factory=Resampling)


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
        Of the values, by replicates, or by the spread of the losses of the rows; without replicates
        None of scores, and where rows are not read together.
    row_count : int
        Number of rows; 0 where it is not known.
    band : Band or None
        Of one point; None without replicates.
    """

    group: str
    values: Vector
    weight: float
    share: float
    standard_errors: Vector | None = None
    row_count: int = 0
    band: Band | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One loss per group, in ascending order; see `AverageLossResult` in the contract.

    Attributes
    ----------
    output_names : tuple of str
    losses : tuple of AverageLoss
    loss : Measure
    total : (n_outputs,)
        Loss of all rows.
    group_column : str
        Empty if rows are not grouped.
    notes : tuple of Note
    constant_losses : (n_outputs,)
        Of the best constant prediction on all rows; empty where it is not known, as of rows that
        are never read together.
    confidence_level : float
        0 without replicates.
    replicates : tuple of ReplicatedStatistic
        Where they are kept.
    """

    output_names: tuple[str, ...]
    losses: tuple[AverageLoss, ...]
    loss: Measure
    total: Vector
    group_column: str = ""
    notes: tuple[Note, ...] = ()
    constant_losses: Vector = field(default_factory=lambda: np.zeros(0))
    confidence_level: float = 0.0
    replicates: tuple[ReplicatedStatistic, ...] = ()


def check(options: Options, path: str) -> None:
    """Reject options that are invalid for any table."""
    check_limits(AverageLossOptions, options, path)
    check_limits(AverageLossOptions, options.resampling, path)


def resolve(
    options: Options, table: Table, targets: tuple[str, ...], outputs: Outputs, path: str
) -> Options:
    """Fill in defaults that depend on table and model; reject invalid options."""
    check(options, path)
    comparison = target.resolve(options.comparison, table, targets, outputs, path)
    return replace(options, comparison=comparison)


def compute(
    effects: Effects,
    options: Options,
    actual: Matrix,
    groups: Sequence[Group],
    beside: RowContext | None = None,
) -> Result:
    """Compute the average loss of each group: rows in memory are one block.

    Parameters
    ----------
    effects : Effects
        Its background must keep every row (no merged duplicates).
    actual : (n_rows, n_outputs)
        True values of the background's rows.
    groups : sequence of Group
        Groups of the background's rows.
    beside : RowContext or None
        What the loss reads of these rows beside, if it is an expression or of a ranking.
    """
    predicted, rows, comparison = effects.outputs(), effects.background, options.comparison
    sums, errors = [], []
    for group in groups:
        own = group.rows
        part = beside and beside.take(own)
        compared = actual[own], predicted[own], rows.weights[own], part
        sums.append((group.label, LossSums.of(comparison, *compared)))
        errors.append(_standard_errors(comparison, *compared))
    names = comparison.output_names(effects.output_names, beside)
    found = result_of(options, sums, names, rows.unit)
    losses = tuple(
        replace(loss, standard_errors=error, row_count=len(group.rows))
        for loss, error, group in zip(found.losses, errors, groups, strict=True)
    )
    total = found.total
    if comparison.is_score:
        total = comparison.average(actual, predicted, rows.weights, beside)
    constant = constant_losses(comparison, actual, rows.weights, beside)
    return replace(found, losses=losses, total=total, constant_losses=constant)


def _standard_errors(
    comparison: Comparison,
    actual: Matrix,
    predicted: Matrix,
    weights: Vector,
    beside: RowContext | None,
) -> Vector | None:
    """Return the standard errors of average losses over some rows; None of scores, or one row."""
    if comparison.is_score or (weights > 0).sum() < 2:
        return None
    losses = comparison.losses(actual, predicted, beside)
    if not np.isfinite(losses).all():
        return None
    errors = standard_error(losses, weights)
    return None if np.isnan(errors).any() else errors


def with_intervals(
    result: Result, effects: Effects, options: Options, compared: Compared, seed: int
) -> Result:
    """Add standard errors and intervals by replicates of the rows of each group."""
    predicted, rows, resampling = effects.outputs(), effects.background, options.resampling
    losses, kept = [], []
    for loss, group in zip(result.losses, compared.groups, strict=True):
        if not np.isfinite(loss.values).all():  # infinity has no interval
            losses.append(loss)
            continue
        own, units = group.rows, compared.units.take(group.rows)
        part = compared.beside and compared.beside.take(own)
        values = compared.actual[own], predicted[own]
        counts = bootstrap_counts(units, seed, range(resampling.repeat_count))
        replicates = _replicates(options.comparison, values, counts * rows.weights[own], part)
        deviations = Deviations()
        around = replicates - np.nanmean(replicates, axis=0)
        deviations.add(around[:, None], np.nanmax(np.abs(replicates), axis=0, initial=0.0))
        count = units.effective_count(rows.weights[own])
        band = deviations.band(loss.values[None], resampling.confidence_level, count)
        losses.append(replace(loss, standard_errors=band.standard_errors[0], band=band))
        numbers = np.concatenate([loss.values[None], replicates])
        kept.append(
            ReplicatedStatistic.of_numbers("AVERAGE_LOSS", (), numbers, count, group=loss.group)
        )
    notes = few_rows_notes(resampling, rows.weights, compared.units)
    return replace(
        result,
        losses=tuple(losses),
        confidence_level=resampling.confidence_level,
        notes=(*result.notes, *notes),
        replicates=tuple(kept) if resampling.is_kept else (),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """True values of the background's rows, what losses read beside, and what replicates draw.

    Attributes
    ----------
    actual : (n_rows, n_outputs)
    groups : sequence of Group
    beside : RowContext or None
    units : RowUnits
    """

    actual: Matrix
    groups: Sequence[Group]
    beside: RowContext | None
    units: RowUnits


def _replicates(
    comparison: Comparison,
    values: tuple[Matrix, Matrix],
    weights: Matrix,
    beside: RowContext | None,
) -> Matrix:
    """Average losses under weights, (n_replicates, n_rows): NaN without any weight."""
    if not comparison.is_score:
        losses, totals = comparison.losses(*values, beside), weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights, totals, out=np.full_like(weights, np.nan), where=totals > 0)
        averages: Matrix = shares @ losses
        return averages
    unknown = np.full(len(comparison.average(*values, np.ones(len(values[0])), beside)), np.nan)
    return np.stack([
        comparison.average(*values, own, beside) if own.any() else unknown for own in weights
    ])  # fmt: skip


def result_of(
    options: Options, sums: Sequence[tuple[str, LossSums]], names: tuple[str, ...], unit: float
) -> Result:
    """Present the average losses of groups, none of them empty; scores have another `total`.

    Parameters
    ----------
    sums : sequence of (str, LossSums)
        Labels and losses of the groups.
    names : tuple of str
        Names of the loss columns.
    unit : float
        Case weight that a weight of 1 stands for.
    """
    comparison, (labels, parts) = options.comparison, zip(*sums, strict=True)
    weights = np.array([part.weight for part in parts])
    shares = (weights / weights.sum()).tolist()
    losses = tuple(
        AverageLoss(label, part.average, part.weight * unit, share)
        for label, part, share in zip(labels, parts, shares, strict=True)
    )
    floored_rows, rows = sum(part.floored_rows for part in parts), sum(part.rows for part in parts)
    notes = (
        *floor_note(comparison, int(floored_rows), int(rows)),
        *undefined_notes(comparison.loss, [(group.group, group.values) for group in losses], names),
    )
    total = mean(np.stack([part.average for part in parts]), weights)
    return Result(names, losses, comparison.named_measure, total, options.group_column, notes)
