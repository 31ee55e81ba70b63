"""Attributions on the wire: values of features as columns, players as groups of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.table import to_columns

if TYPE_CHECKING:
    from onnxplain_server.methods import attributions


def _result(result: attributions.Result) -> Values:
    return {"feature_values": to_columns(result.names, result.feature_values)}


_OF_ROWS = (
    *("row_indices", "predictions", "values", "standard_errors"),
    *("interactions", "feature_values"),
)


def _without_rows(_result: attributions.Result) -> Values:
    return dict.fromkeys(_OF_ROWS, ())


EXCEPTIONS = WireExceptions(
    results={"AttributionsResult": _result}, without_rows={"AttributionsResult": _without_rows}
)
