"""Columns that a request needs of a table: named by it, or features that its model names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

_SINGLE = (str, bytes, int, float, Message)


def needed_columns(
    request: ExplainRequest, model_features: Sequence[str], column_names: Sequence[str]
) -> Sequence[str] | None:
    """Return the columns to read, in the table's order; None for all.

    Expressions name columns too, so each column whose name stands as a whole word in some text of
    the request is read: more than is needed, but never less.

    Parameters
    ----------
    request : ExplainRequest
        Model and table are not looked at.
    model_features : sequence of str
        Names of features that the model carries; empty without a model, or where it carries none.
    column_names : sequence of str
        Of the table.
    """
    features = request.feature_columns or model_features
    known = set(column_names)
    if not features or not known.issuperset(features):
        return None
    texts = "\0".join(_texts(request))
    return [name for name in column_names if name in features or _is_mentioned(name, texts)]


def _is_mentioned(name: str, texts: str) -> bool:
    return name in texts and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", texts) is not None


def _texts(message: Message) -> Iterator[str]:
    """Yield all texts of a message."""
    for field, value in message.ListFields():
        if field.name in {"model", "table"} and isinstance(message, ExplainRequest):
            continue
        values = [value] if isinstance(value, _SINGLE) else value
        for item in values:
            if isinstance(item, str):
                yield item
            elif isinstance(item, Message):
                yield from _texts(item)
