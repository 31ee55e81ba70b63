"""Bands of curves on the wire: flat; without replicates empty."""

from __future__ import annotations

from typing import Any

from onnxplain_server.wire.message_fields import Values
from onnxplain_server.wire.table import to_columns

_FIELDS = ("standard_errors", "lower", "upper", "simultaneous_lower", "simultaneous_upper")


def write_curve(curve: Any) -> Values:
    """Write grid and band; ends of intervals that are no replicates' are the curve's own."""
    values = {name: getattr(curve.band or curve, name, None) for name in _FIELDS}
    return {"grid": to_columns(curve.features, curve.grid), **values}
