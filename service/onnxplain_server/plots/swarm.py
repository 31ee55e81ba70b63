"""What moving features does, as pictures."""

from __future__ import annotations

from onnxplain_server.methods.swarm import Result
from onnxplain_server.plots.chart import Plot


def plots(_result: Result) -> tuple[Plot, ...]:
    """Draw nothing where nothing was moved."""
    return ()
