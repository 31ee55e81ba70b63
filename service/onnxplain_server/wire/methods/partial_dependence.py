"""Partial dependence on the wire: grids as columns."""

from __future__ import annotations

from typing import Any

from onnxplain.v1 import partial_dependence_pb2

from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.methods.curve_bands import write_curve
from onnxplain_server.wire.table import from_column, to_columns


def read_grids(message: Any, _path: str) -> Values:
    """Read grids as arrays by feature; None where a grid is laid."""
    grids = (grid.columns for grid in message.grids)
    return {"grids": tuple({c.name: from_column(c) for c in g} if g else None for g in grids)}


def write_grids(options: Any) -> Values:
    """Write grids as columns."""
    grids = (grid or {} for grid in options.grids)
    columns = (to_columns(tuple(grid), tuple(grid.values())) for grid in grids)
    return {"grids": [partial_dependence_pb2.Grid(columns=c) for c in columns]}


EXCEPTIONS = WireExceptions(
    read={"PartialDependenceOptions": read_grids},
    write={"PartialDependenceOptions": write_grids},
    results={"PartialDependenceCurve": write_curve, "GroupDifference": write_curve},
)
