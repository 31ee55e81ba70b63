"""Outputs that a target is compared with: those of its classes, of its name, or the only one.

A number is the true value of one output. Where a model has several, nothing but a name tells which.
"""

from __future__ import annotations

from dataclasses import replace

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table, listed
from onnxplain_server.methods.classes import Outputs
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.loss_expression import LossExpression
from onnxplain_server.methods.target import read_expression


class UnclearTargetError(ExplainError):
    """INVALID_OPTION for a target that may be the true values of any of several outputs.

    Attributes
    ----------
    cause : str
        What is not clear, as a sentence without its end.
    """

    def __init__(self, cause: str, path: str) -> None:
        advice = (
            "choose the output in outputs, or give a column for each output in target_columns; if "
            "the target names classes, set one_hot_target"
        )
        super().__init__(Reason.INVALID_OPTION, f"{cause}; {advice}", path)
        self.cause = cause


def compared_outputs(
    comparison: Comparison, table: Table, outputs: Outputs, path: str
) -> tuple[int, ...]:
    """Return the positions of the outputs that the target columns hold the true values of.

    Parameters
    ----------
    comparison : Comparison
        Resolved.

    Returns
    -------
    tuple of int
        One for each target column; all explained ones for a target of classes, and for a loss
        expression that names its outputs or no true value, or is beside expressions to explain.

    Raises
    ------
    UnclearTargetError
        If neither names nor numbers of columns and outputs tell.
    """
    columns, explained = comparison.target_columns, outputs.explained
    expression = read_expression(comparison, table, outputs, path)
    if comparison.one_hot_target or _is_explicit(expression, outputs):
        return explained
    return named_outputs(columns, outputs, f"{path}.target_columns")


def _is_explicit(expression: LossExpression | None, outputs: Outputs) -> bool:
    """Return whether a loss tells itself what it compares: outputs by name, or expressions."""
    if expression is None:
        return False
    return expression.is_total or not expression.reads_actual or outputs.are_expressions


def in_output_order(
    comparison: Comparison, table: Table, outputs: Outputs, path: str
) -> Comparison:
    """Bring the target columns into the order of the outputs, where all are compared.

    Raises
    ------
    ExplainError
        INVALID_OPTION without a column for each; see `compared_outputs`.
    """
    compared = compared_outputs(comparison, table, outputs, path)
    if compared == outputs.explained:
        return comparison
    columns = dict(zip(compared, comparison.target_columns, strict=True))
    if len(columns) < len(outputs.explained):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the loss is one of all outputs, {listed(outputs.names)}, and the target is that of "
            f"{listed(tuple(columns.values()))} only; give a column for each in target_columns",
            f"{path}.target_columns",
        )
    return replace(comparison, target_columns=tuple(columns[k] for k in outputs.explained))


def named_outputs(columns: tuple[str, ...], outputs: Outputs, path: str) -> tuple[int, ...]:
    """Return the positions of the outputs of these columns of numbers; see `compared_outputs`."""
    explained = outputs.explained
    names = [outputs.names[k] for k in explained]
    if all(names.count(column) == 1 == columns.count(column) for column in columns):
        return tuple(explained[names.index(column)] for column in columns)
    if len(columns) != len(names):
        raise UnclearTargetError(_several(columns, tuple(names)), path)
    for column, name in zip(columns, names, strict=True):
        if column != name and column in outputs.names:
            raise UnclearTargetError(
                f"the target {column!r} has the name of another output than {name!r}, which it "
                "would be compared with",
                path,
            )
    return explained


def _several(columns: tuple[str, ...], names: tuple[str, ...]) -> str:
    if len(columns) > 1:
        return f"{len(columns)} target columns for {len(names)} outputs, {listed(names)}"
    return (
        f"the target {columns[0]!r} may be the true values of any of {len(names)} outputs, "
        f"{listed(names)}"
    )
