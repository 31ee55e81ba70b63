"""Match of a table's columns with the features of a model, and the proposal of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from onnxplain_server.core.binding.column_order import likely_target
from onnxplain_server.core.binding.input_columns import has_matrices, spans
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.model import HasInputs, Input, Note
from onnxplain_server.core.table import Table
from onnxplain_server.explain.binding.position_notes import position_notes
from onnxplain_server.explain.binding.weighted_table import apply_weights
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.sample import bind_features


@dataclass(frozen=True, slots=True)
class FeatureMatch:
    """Match of features and columns; see `FeatureMatching` in the contract.

    Attributes
    ----------
    feature_columns : tuple of str
    rule : str
        "LISTED", "BY_NAME" or "BY_POSITION"; empty with a refusal.
    refusal : str
    missing_columns : tuple of str
    target_column : str
    notes : tuple of Note
        About the match.
    """

    feature_columns: tuple[str, ...] = ()
    rule: str = ""
    refusal: str = ""
    missing_columns: tuple[str, ...] = ()
    target_column: str = ""
    notes: tuple[Note, ...] = ()


def match(model: HasInputs, table: Table, question: Question) -> FeatureMatch:
    """Match the columns of a table with a model, as an explanation would, by their own names.

    Parameters
    ----------
    model : HasInputs
    table : Table
        As the model reads it; see `as_model_reads`.
    question : Question
    """
    present = table.present
    named = question.feature_columns or _carried(model.inputs)
    try:
        features = bind_features(model, apply_weights(table, question), question)
    except ExplainError as error:
        missing = tuple(name for name in named if name not in present)
        found = FeatureMatch(refusal=error.message, missing_columns=missing)
    else:
        rule = "BY_POSITION" if features.by_position else "BY_NAME"
        is_free = features.matrix or features.spans
        if is_free and (question.feature_columns or question.input_columns):
            rule = "LISTED"
        found = FeatureMatch(features.names, rule, notes=position_notes(features))
        named = features.names
    if question.targets:
        return replace(found, target_column=question.target_column)
    others = [name for name in present if name != question.weight_column]
    return replace(found, target_column=_target(model.inputs, others, named, table))


def _carried(inputs: Sequence[Input]) -> tuple[str, ...]:
    """Return the names of columns that a model carries: of a matrix, or of its inputs."""
    if len(inputs) == 1 and inputs[0].width != 1:
        return inputs[0].columns
    return () if has_matrices(inputs) else tuple(given.name for given in inputs)


def _target(
    inputs: Sequence[Input], columns: Sequence[str], features: Sequence[str], table: Table
) -> str:
    """Propose a target among the columns without weights; empty where none stands out."""
    rest = [name for name in columns if name not in features]
    if features:
        return rest[0] if len(rest) == 1 else ""
    count = sum(number for _, number in spans(inputs)) if has_matrices(inputs) else inputs[0].width
    if len(columns) - 1 != count:
        return ""
    takes_text = any(each.type == "string" for each in inputs)
    return likely_target(table, columns, takes_text=takes_text)
