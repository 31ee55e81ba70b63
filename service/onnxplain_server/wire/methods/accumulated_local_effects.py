"""Accumulated local effects on the wire: grids as columns."""

from onnxplain_server.wire.message_fields import WireExceptions
from onnxplain_server.wire.methods.curve_bands import write_curve

EXCEPTIONS = WireExceptions(results={"AccumulatedLocalEffect": write_curve})
