"""A request's table: weights applied and columns bound to the model's inputs, each once."""

from __future__ import annotations

from functools import cached_property

from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import Table
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.sample import bind_features
from onnxplain_server.explain.weighted_table import WeightedTable, apply_weights


class BoundTable:
    """Table with what derives from it and the question; each part is computed at its first use.

    Parameters
    ----------
    table : Table
    question : Question
    model : Model or None
        Gives the inputs to bind; without it, the columns are features as they are.
    """

    def __init__(self, table: Table, question: Question, model: Model | None) -> None:
        self.table = table
        self._question = question
        self._model = model

    @cached_property
    def weighted(self) -> WeightedTable:
        """The table with its case weights; errors are those of `apply_weights`."""
        return apply_weights(self.table, self._question)

    @cached_property
    def features(self) -> Features:
        """The features of all its rows; errors are those of `bind_features`."""
        return bind_features(self._model, self.weighted, self._question)
