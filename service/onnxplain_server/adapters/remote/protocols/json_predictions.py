"""Predictions in JSON, as KServe's first protocol and MLflow answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.json_numbers import number_array
from onnxplain_server.adapters.remote.protocols.predictions import PredictionColumns
from onnxplain_server.core.arrays import Array

_FIELD_LIMIT = 100_000


class JsonPredictions:
    """Reader of predictions: a list with one entry per row, or lists by name.

    An entry is a number, a list, or a record with one number per column; a record whose fields are
    no single numbers needs the name of one.

    Parameters
    ----------
    output : str
        Field with the predictions; empty: the only one, or all numbers of a record.
    columns : PredictionColumns
    failures : ModelFailures
    labels_cure : str
        What to do where the server answers labels.
    """

    def __init__(
        self, output: str, columns: PredictionColumns, failures: ModelFailures, labels_cure: str
    ) -> None:
        self._output = output
        self._columns = columns
        self._failures = failures
        self._cure = labels_cure

    def matrix(self, document: dict[str, Any], row_count: int) -> Array:
        """Return (n_rows, n_outputs) of an answer with the field "predictions"."""
        if "predictions" not in document:
            raise self._failures.answer('answers without the field "predictions"')
        predictions, names = self._select(document["predictions"])
        if not isinstance(predictions, list):
            raise self._failures.answer("answers with predictions that are no list")
        values = number_array(predictions, self._failures, self._cure)
        return self._columns.matrix(values, row_count, names)

    def _select(self, predictions: object) -> tuple[object, Sequence[str]]:
        """Return the predictions row by row, and the names of their columns if they have some."""
        if isinstance(predictions, dict):
            return self._of_lists(predictions)
        if isinstance(predictions, list) and predictions and isinstance(predictions[0], dict):
            return self._of_records(predictions)
        if self._output:
            fault = f'has no output "{self._output}": it answers predictions without names'
            raise self._failures.invalid("output", fault)
        return predictions, ()

    def _of_lists(self, lists: dict[str, Any]) -> tuple[object, Sequence[str]]:
        name = self._chosen(lists)
        if name is not None:
            return lists[name], ()
        counts = {len(values) if isinstance(values, list) else -1 for values in lists.values()}
        if len(counts) != 1 or -1 in counts:
            raise self._failures.answer("answers with lists of unequal lengths")
        rows = list(map(list, zip(*lists.values(), strict=True)))
        self._check_flat(rows[:1], lists)
        return rows, tuple(lists)

    def _of_records(self, records: list[Any]) -> tuple[object, Sequence[str]]:
        fields = records[0].keys()
        if len(fields) > _FIELD_LIMIT or not all(
            isinstance(record, dict) and record.keys() == fields for record in records
        ):
            raise self._failures.answer("answers with records of different fields")
        name = self._chosen(records[0])
        if name is not None:
            return [record[name] for record in records], ()
        rows = [[record[field] for field in fields] for record in records]
        self._check_flat(rows[:1], records[0])
        return rows, tuple(fields)

    def _chosen(self, fields: dict[str, Any]) -> str | None:
        """Return the field with the predictions; None: all of them."""
        if self._output in fields:
            return self._output
        if self._output:
            fault = f'has no output "{self._output}", but {_listed(fields)}'
            raise self._failures.invalid("output", fault)
        return next(iter(fields)) if len(fields) == 1 else None

    def _check_flat(self, rows: list[list[Any]], fields: dict[str, Any]) -> None:
        if any(isinstance(value, (list, dict, str)) for row in rows for value in row):
            fault = f"answers with several outputs: name one of {_listed(fields)}"
            raise self._failures.invalid("output", fault)


def _listed(names: dict[str, Any]) -> str:
    return ", ".join(f'"{name}"' for name in list(names)[:10])
