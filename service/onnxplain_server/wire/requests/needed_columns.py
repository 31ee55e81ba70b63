"""Columns that a request needs of a table: named by it, or features that its model names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import DescribeTableRequest, ExplainRequest

from onnxplain_server.core.binding.text_columns import text_columns
from onnxplain_server.core.model import Input
from onnxplain_server.core.sources import TableNeeds

_SINGLE = (str, bytes, int, float, Message)
_REQUESTS = (DescribeTableRequest, ExplainRequest)


class NeededColumns:
    """Columns that a request needs of a table.

    Expressions name columns too, so each column whose name stands as a whole word in some text of
    the request is needed: more than is needed, but never less.

    Parameters
    ----------
    needs : TableNeeds
    """

    def __init__(self, needs: TableNeeds) -> None:
        self._needs = needs
        kind = DescribeTableRequest if needs.is_whole else ExplainRequest
        self._request = kind.FromString(needs.request)

    def of(self, column_names: Sequence[str]) -> Sequence[str] | None:
        """Return the columns to read, in the table's order; None for all.

        Parameters
        ----------
        column_names : sequence of str
            Of the table.
        """
        features = self._request.feature_columns or self._needs.model.names
        known = set(column_names)
        if self._needs.is_whole or not features or not known.issuperset(features):
            return None
        texts = "\0".join(_texts(self._request))
        return [name for name in column_names if name in features or _is_mentioned(name, texts)]

    def texts(self, column_names: Sequence[str]) -> Sequence[str]:
        """Return the columns that are text to the model, also where they look like numbers."""
        model, request = self._needs.model, self._request
        own = model.names if len(model.inputs) == 1 else ()
        inputs = [Input(each.name, each.type, each.width or None, own) for each in model.inputs]
        expected = getattr(request, "expected_prediction_columns", ())
        clusters = getattr(request, "cluster_column", "")
        roles = (request.target_column, request.weight_column, clusters)
        others = (*roles, *request.target_columns, *expected)
        by_input = [(each.input, tuple(each.columns)) for each in request.input_columns]
        return text_columns(inputs, column_names, tuple(request.feature_columns), others, by_input)


def _is_mentioned(name: str, texts: str) -> bool:
    return name in texts and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", texts) is not None


def _texts(message: Message) -> Iterator[str]:
    """Yield all texts of a message."""
    for field, value in message.ListFields():
        if field.name in {"model", "table"} and isinstance(message, _REQUESTS):
            continue
        values = [value] if isinstance(value, _SINGLE) else value
        for item in values:
            if isinstance(item, str):
                yield item
            elif isinstance(item, Message):
                yield from _texts(item)
