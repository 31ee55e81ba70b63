"""Plots as messages, with their specification as JSON on one line."""

from __future__ import annotations

import json

from onnxplain.v1 import plot_pb2

from onnxplain_server.plots.elements.chart import Plot


def write_plot(plot: Plot) -> plot_pb2.Plot:
    """Write a plot."""
    return plot_pb2.Plot(
        name=plot.name,
        title=plot.title,
        description=plot.description,
        vega_lite=json.dumps(plot.vega_lite, ensure_ascii=False, separators=(",", ":")),
    )
