"""Accumulated local effects on the wire: grids as columns."""

from onnxplain_server.wire.message_fields import WireExceptions
from onnxplain_server.wire.table import to_columns

EXCEPTIONS = WireExceptions(
    results={
        "AccumulatedLocalEffect": lambda curve: {"grid": to_columns(curve.features, curve.grid)}
    }
)
