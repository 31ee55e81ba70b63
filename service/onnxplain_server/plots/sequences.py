"""FIRM of sequences: draw."""

from __future__ import annotations

from onnxplain_server.methods.firm.sequences import Result
from onnxplain_server.plots.chart import Plot


def plots(result: Result) -> tuple[Plot, ...]:  # noqa: ARG001
    """Draw."""
    return ()
