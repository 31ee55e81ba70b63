"""Use case `predict`: rows of a table, bound and predicted as an explanation would."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.core.contract_limits import PredictRequest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.messages.missing_parts import missing_model
from onnxplain_server.core.model import Model, Note
from onnxplain_server.core.rows import Features, bind
from onnxplain_server.explain.binding.position_notes import position_notes
from onnxplain_server.explain.binding.weighted_table import WeightedTable
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.output_choice import requested_outputs
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.resources import Resources
from onnxplain_server.explain.rows.prediction_checks import check_prediction
from onnxplain_server.explain.sample import BoundTable
from onnxplain_server.methods.option_checks import check_row_indices


@dataclass(frozen=True, slots=True, eq=False)
class PredictedRows:
    """PredictedRows of rows.

    Attributes
    ----------
    output_names : tuple of str
    rows : (n_rows,)
        Row numbers in the table as sent.
    values : (n_rows, n_outputs)
    notes : tuple of Note
    predicted_row_count : int
    """

    output_names: tuple[str, ...]
    rows: Indices
    values: Matrix
    notes: tuple[Note, ...]
    predicted_row_count: int


class PredictedTable(BoundTable):
    """Table whose rows are predicted: one row is enough, and a column may have no value.

    Weights do not count. Otherwise it is bound, and refused, as the table of an explanation.
    """

    @cached_property
    def weighted(self) -> WeightedTable:
        """All rows, of equal weight."""
        n_rows = self.table.n_rows
        return WeightedTable(self.table, np.ones(n_rows), 1.0, n_rows)

    @cached_property
    def features(self) -> Features:
        """The features of all rows.

        Raises
        ------
        ExplainError
            EMPTY_TABLE; INVALID_REQUEST without a model; those of `bind`.
        """
        table, question = self.table, self._question
        if table.n_rows == 0:
            raise ExplainError(Reason.EMPTY_TABLE, "the table has no rows to predict", "table")
        others = question.non_features
        for name in question.targets:
            table.stored_column(name, question.target_field)
        if question.weight_column:
            table.stored_column(question.weight_column, "weight_column")
        if self._model is None:
            raise missing_model()
        return bind(
            self._model.inputs,
            table,
            question.feature_columns,
            others,
            is_part=True,
            input_columns=question.input_columns,
        )


def predict(
    model: Model | None,
    table: BoundTable | None,
    question: Question,
    resources: Resources,
    rows: tuple[int, ...],
) -> PredictedRows:
    """Predict rows of a table.

    Parameters
    ----------
    model : Model or None
        None is refused.
    table : PredictedTable or None
        None is refused.
    question : Question
        Without methods.
    resources : Resources
    rows : tuple of int
        Row numbers; empty: all rows.

    Raises
    ------
    ExplainError
        With the path of the request's field if one is to blame.
    """
    check_prediction(question)
    request = BoundRequest(model, table, question, resources, rows_once=True)
    explained, whole = request.model, request.table
    chosen = _chosen(rows, whole.n_rows)
    features = request.features.take(chosen)
    names = explained.output_names
    outputs = np.array(requested_outputs(question, names) or range(len(names)), dtype=np.intp)
    request.ledger.reserve(len(chosen))
    values = request.predictor.predict_rows(features, features.cast_columns())[:, outputs]
    notes = (*explained.notes, *position_notes(features))
    return PredictedRows(
        tuple(names[k] for k in outputs), chosen, values, notes, request.ledger.predicted
    )


def _chosen(rows: tuple[int, ...], n_rows: int) -> Indices:
    """Return the rows to predict: those asked for, or all."""
    limits = PredictRequest.row_indices
    if not rows and n_rows > (limits.max_items or 0):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the table has {n_rows:,} rows, and a request predicts at most {limits.max_items:,}; "
            "choose rows by row_indices",
            "row_indices",
        )
    check_row_indices(rows, n_rows, limits, "row_indices")
    return np.array(rows or range(n_rows), dtype=np.intp)
