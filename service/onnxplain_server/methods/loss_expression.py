"""Losses as expressions over the true value, the prediction, and columns of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table, listed
from onnxplain_server.effects.background import fingerprint
from onnxplain_server.language import (
    ColumnValues,
    Expression,
    Scope,
    ValueKind,
    evaluate_unchecked,
    names_in,
    parse,
)

TRUE_VALUE, PREDICTION = "y", "p"
_NAMES = Scope(
    "a loss is over y, p, the outputs and the columns of the table, and there is no {name}; there "
    "are {known}",
    "the loss names neither p nor an output, so no prediction would change it",
    Reason.INVALID_OPTION,
)


@dataclass(frozen=True, slots=True, eq=False)
class LossExpression:
    """A loss, with the columns that it reads at some rows.

    Attributes
    ----------
    expression : Expression
    output_names : tuple of str
        Of the outputs explained.
    columns : mapping of str to (n_rows,)
        Columns of the table, and `y` where the loss is one for all outputs.
    source : (n_rows,)
        Numbers of the rows in the table as sent.
    """

    expression: Expression
    output_names: tuple[str, ...]
    columns: Mapping[str, Array]
    source: Indices

    @property
    def is_total(self) -> bool:
        """Return whether it is one loss for all outputs: it calls them by their names."""
        return PREDICTION not in self.expression.columns

    @property
    def reads_actual(self) -> bool:
        """Return whether it reads true values that it does not hold itself."""
        return TRUE_VALUE in self.expression.columns and TRUE_VALUE not in self.columns

    @property
    def fingerprint(self) -> bytes:
        """Identity of the loss and of what it reads."""
        parts = [name.encode() + fingerprint(column) for name, column in self.columns.items()]
        return b"\n".join((repr((self.expression.text, self.output_names)).encode(), *parts))

    def take(self, rows: Indices) -> LossExpression:
        """Select rows, in this order."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, source=self.source[rows])

    def losses(self, actual: Matrix, predicted: Matrix) -> Matrix:
        """Compute the loss of each row: (n_rows, n_outputs), or (n_rows, 1) if it is one for all.

        Parameters
        ----------
        actual, predicted : (n_rows, n_outputs)

        Raises
        ------
        ExplainError
            INVALID_OPTION for a loss that is not finite.
        """
        outputs = {name: predicted[:, k] for k, name in enumerate(self.output_names)}
        if self.is_total:
            return self._evaluate({**outputs, **self.columns})[:, np.newaxis]
        pairs = zip(actual.T, predicted.T, strict=True)
        each = [
            # What the target holds, where it is in the columns, is `y` of every output.
            self._evaluate({TRUE_VALUE: true, PREDICTION: output, **self.columns})
            for true, output in pairs
        ]
        return np.stack(each, axis=1)

    def _evaluate(self, values: Mapping[str, Array]) -> Vector:
        losses: Vector = evaluate_unchecked(self.expression, ColumnValues(values))
        wrong = np.flatnonzero(~np.isfinite(losses))
        if len(wrong):
            row = wrong[0]
            given = ", ".join(f"{n} = {_show(values[n][row])}" for n in self.expression.columns)
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"the loss {self.expression.text!r} is {losses[row]:g} in {len(wrong):,} of "
                f"{len(losses):,} rows, first in row {self.source[row]} (counted from 0), for "
                f"{given}; keep it finite, as by clip(x, low, high), or leave such rows out",
                self.expression.path,
            )
        return losses


def read_loss_expression(
    text: str, path: str, table: Table, target: str, output_names: Sequence[str], *, is_raw: bool
) -> LossExpression:
    """Parse a loss, and bind it to the columns of a table.

    Parameters
    ----------
    text, path : str
        The loss, and the field that holds it.
    target : str
        Column with the true values; empty if there are several.
    output_names : sequence of str
        Of the outputs explained.
    is_raw : bool
        Whether `y` is what the target holds; else it is the true value of each output.

    Raises
    ------
    ExplainError
        INVALID_OPTION, with the position in the text.
    """
    names = names_in(text, path) - {TRUE_VALUE, PREDICTION}
    named = tuple(name for name in output_names if name in names)
    holds_target = is_raw or bool(named)
    expression = _parse(text, path, table, target if holds_target else "", output_names)
    _check_names(expression, named, tuple(name for name in named if name in table.columns))
    read = names - {*named}
    columns = {name: table.columns[name] for name in expression.columns if name in read}
    if TRUE_VALUE in expression.columns and holds_target:
        if not target:
            raise _refuse(expression, "y would be several columns; name them in place of y")
        columns[TRUE_VALUE] = table.columns[target]
    source = table.as_sent(np.arange(table.n_rows))
    return LossExpression(expression, tuple(output_names), columns, source)


def _parse(
    text: str, path: str, table: Table, target: str, output_names: Sequence[str]
) -> Expression:
    """Parse a loss, in which `y` is of the kind of the target; a number without one."""
    kinds = ColumnValues(table.columns).kinds
    number = ValueKind.NUMBER
    reserved = {TRUE_VALUE: kinds[target] if target else number, PREDICTION: number}
    return parse(text, {**kinds, **dict.fromkeys(output_names, number), **reserved}, path, _NAMES)


def _check_names(
    expression: Expression, named: tuple[str, ...], ambiguous: tuple[str, ...]
) -> None:
    """Refuse losses without a prediction, or whose names could be read in two ways."""
    if ambiguous:
        reason = (
            f"{listed(ambiguous)} is an output and a column of the table: write y for the true "
            "value and p for the prediction, or give the output another name by prediction"
        )
        raise _refuse(expression, reason)
    uses_prediction = PREDICTION in expression.columns
    if not uses_prediction and not named:
        raise _refuse(expression, _NAMES.unused)
    if uses_prediction and named:
        reason = (
            f"p is each output in turn, and {listed(named)} is one of them; name them all, or "
            "write p only"
        )
        raise _refuse(expression, reason)


def _refuse(expression: Expression, reason: str) -> ExplainError:
    return ExplainError(
        Reason.INVALID_OPTION, f"the loss {expression.text!r}: {reason}", expression.path
    )


def _show(value: object) -> str:
    return repr(value) if isinstance(value, str) else f"{value:g}"
