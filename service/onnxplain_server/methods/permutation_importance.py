"""Permutation importance: increase of the average loss, or fall of a score, after shuffling.

Fisher, Rudin and Dominici (2019), "All Models are Wrong, but Many are Useful",
Journal of Machine Learning Research 20(177), 1-81.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.contract_limits import PermutationImportanceOptions
from onnxplain_server.core.model import Note
from onnxplain_server.core.row_draws import shuffles
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import fingerprint
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.support.table_support import ignored_features
from onnxplain_server.effects.weighted_mean import standard_error
from onnxplain_server.methods import target
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.comparison import Comparison, RowContext, constant_losses
from onnxplain_server.methods.infinite_losses import (
    check_finite_baseline,
    check_nonzero_baseline,
    infinite_loss_notes,
)
from onnxplain_server.methods.loss_notes import check_defined, floor_notes, undefined_notes
from onnxplain_server.methods.losses import Loss, Measure
from onnxplain_server.methods.option_checks import check_limits, choose
from onnxplain_server.methods.resampling import ReplicatedStatistic

Observer: TypeAlias = Callable[[Sequence[Indices], Sequence[Matrix]], None]
"""Gets, of an entry, the row whose values each row got, (n_rows,), and the predictions, for each
repetition."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of permutation importance; see `PermutationImportanceOptions` in the contract.

    Attributes
    ----------
    features : tuple of tuples of str
        Features of an entry are shuffled together. Empty, before `resolve`: each one singly.
    kept_repeat_count : int
        Replicates of averages over rows that the result keeps, to be compared with others.
    """

    features: tuple[tuple[str, ...], ...] = ()
    comparison: Comparison = field(default_factory=Comparison)
    repeat_count: int = PermutationImportanceOptions.repeat_count.default
    normalize: bool = PermutationImportanceOptions.normalize.default
    kept_repeat_count: int = 0

    @property
    def may_keep_replicates(self) -> bool:
        """Return whether results may keep replicates, if the request asks for them."""
        return True


@dataclass(frozen=True, slots=True, eq=False)
class PermutedLoss:
    """Increase of the loss when some features are shuffled.

    Attributes
    ----------
    features : tuple of str
    values, standard_errors : (n_outputs,)
        Unit of the loss; shares of the baseline loss if normalised.
    lower, upper : (n_outputs,) or None
        Intervals of the values on all rows, where these are from a sample of them.
    """

    features: tuple[str, ...]
    values: Vector
    standard_errors: Vector
    lower: Vector | None = None
    upper: Vector | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Importances in request order; see `PermutationImportanceResult` in the contract.

    Attributes
    ----------
    baseline_losses : (n_outputs,)
        Average losses before shuffling.
    loss : Measure
    notes : tuple of Note
    replicates : tuple of ReplicatedStatistic
        Where they are kept.
    """

    output_names: tuple[str, ...]
    baseline_losses: Vector
    importances: tuple[PermutedLoss, ...]
    loss: Measure
    normalize: bool
    notes: tuple[Note, ...] = ()
    replicates: tuple[ReplicatedStatistic, ...] = ()


def resolve(  # noqa: PLR0917 - all that defaults depend on
    options: Options,
    names: Sequence[str],
    table: Table,
    targets: tuple[str, ...],
    outputs: Outputs,
    path: str,
) -> Options:
    """Fill in defaults that depend on features, table and model; reject invalid options."""
    features = options.features or tuple((name,) for name in names)
    for i, group in enumerate(features):
        choose(group or ("",), names, f"{path}.features[{i}].names")
    check_limits(PermutationImportanceOptions, options, path)
    comparison = target.resolve(options.comparison, table, targets, outputs, path)
    return replace(options, features=features, comparison=comparison)


def cost(effects: Effects, options: Options) -> int:
    """Return the number of rows to predict."""
    shuffled = len(options.features) * options.repeat_count
    return len(effects.background) * (1 + shuffled)


# Long: most of it documents the parameters.
def compute(  # noqa: PLR0917 - arguments of the job
    effects: Effects,
    options: Options,
    actual: Matrix,
    seed: int,
    beside: RowContext | None = None,
    observe: Observer | None = None,
) -> Result:
    """Shuffle each entry and compare the average loss with the baseline.

    Only the features' values are shuffled; weights and targets stay with their rows.

    Parameters
    ----------
    effects : Effects
        Of every row, without merged duplicates.
    actual : (n_rows, n_outputs)
        True values of the background's rows.
    beside : RowContext or None
        What the loss reads of these rows beside, if it is an expression or of a ranking.
    observe : callable or None
        Gets the shuffles of each entry. Then no average is taken from the cache.

    Raises
    ------
    ExplainError
        INVALID_OPTION if no increase is defined, as of an infinite baseline loss.
    """
    loss = _BoundLoss(options.comparison, actual, beside)
    baseline, notes = _baseline(effects, options, loss)
    before = np.where(np.isfinite(baseline), baseline, np.nan)
    scale = before if options.normalize else np.ones_like(baseline)
    importances, after = [], []
    table = effects.background.features
    ignored = {table.names[j] for j in ignored_features(effects, table)}
    for i, features in enumerate(options.features):
        if ignored.issuperset(features) and observe is None:
            effects.release(len(effects.background) * options.repeat_count)
            losses = np.tile(baseline, (options.repeat_count, 1))
        else:
            losses = _shuffled_losses(effects, options, loss, i, seed, observe)
        with np.errstate(divide="ignore", invalid="ignore"):  # the notes report them
            rise = loss.comparison.direction * (losses - before)
            after.append(rise.mean(axis=0))
            rise /= scale
            errors = standard_error(rise, np.ones(len(rise)))
            importances.append(PermutedLoss(features, rise.mean(axis=0), errors))
    names, measure = loss.output_names(effects), loss.comparison.measure
    notes += infinite_loss_notes(measure, np.array(after), options.features, "shuffling")
    named = loss.comparison.named_measure
    return Result(names, baseline, tuple(importances), named, options.normalize, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _BoundLoss:
    """Comparison of predictions with the true values of the background's rows."""

    comparison: Comparison
    actual: Matrix
    beside: RowContext | None

    def output_names(self, effects: Effects) -> tuple[str, ...]:
        return self.comparison.output_names(effects.output_names, self.beside)

    def average(self, predicted: Matrix, weights: Vector) -> Vector:
        return self.comparison.average(self.actual, predicted, weights, self.beside)

    def averages(self, predictions: Sequence[Matrix], weights: Vector) -> Matrix:
        return self.comparison.averages(self.actual, predictions, weights, self.beside)

    @property
    def identity(self) -> bytes:
        """All that the losses depend on beside the predictions."""
        columns = self.beside.fingerprint if self.beside else b""
        return f"{self.comparison}".encode() + fingerprint(self.actual) + columns


def _baseline(
    effects: Effects, options: Options, loss: _BoundLoss
) -> tuple[Vector, tuple[Note, ...]]:
    """Return the average losses before shuffling, (n_outputs,), with notes on unusable ones."""
    predicted, names = effects.outputs(), loss.output_names(effects)
    baseline = loss.average(predicted, effects.background.weights)
    measure = loss.comparison.measure
    if loss.comparison.is_score and isinstance(measure, Loss):
        check_defined(measure, baseline, names)
        notes = undefined_notes(measure, [("", baseline)], names)
    else:
        losses = loss.comparison.losses(loss.actual, predicted, loss.beside)
        notes = check_finite_baseline(measure, losses, baseline, names, effects.background)
    notes += floor_notes(loss.comparison, loss.actual, predicted, effects.background.weights)
    if options.normalize:
        weights = effects.background.weights
        constants = constant_losses(loss.comparison, loss.actual, weights, loss.beside)
        notes += check_nonzero_baseline(measure, baseline, constants, names)
    return baseline, notes


def _shuffled_losses(  # noqa: PLR0917 - as of `compute`
    effects: Effects,
    options: Options,
    loss: _BoundLoss,
    entry: int,
    seed: int,
    observe: Observer | None,
) -> Matrix:
    """Return the average losses after each shuffle of one entry: (n_repeats, n_outputs).

    A shuffle gives each row, in the order of the table, the value of the row that has its place in
    an order of `shuffles`.
    """
    features, rows = effects.background.features, effects.background.source
    positions = [features.index(name) for name in options.features[entry]]

    def shuffled() -> Matrix:
        orders = shuffles(rows, options.repeat_count, seed, *positions)
        predictions = effects.permuted(positions, orders)
        if observe is not None:
            observe(orders, predictions)
        return loss.averages(predictions, effects.background.weights)

    if observe is not None:
        return shuffled()
    width = len(loss.output_names(effects))
    cache_key = f"{positions} {seed}".encode() + fingerprint(rows) + loss.identity
    shape = (options.repeat_count, width)
    return effects.cached(cache_key, shape, len(rows) * options.repeat_count, shuffled)
