"""Attributions on the wire: values of features as columns, players as groups of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.table import to_columns

if TYPE_CHECKING:
    from onnxplain_server.methods import attributions


def _result(result: attributions.Result) -> Values:
    return {"feature_values": to_columns(result.names, result.feature_values)}


EXCEPTIONS = WireExceptions(results={"AttributionsResult": _result})
