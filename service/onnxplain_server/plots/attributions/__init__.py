"""Plots of attributions: mean sizes as bars, rows as a swarm of points, a row as a waterfall."""

from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions import points, sizes, waterfall
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw few rows one by one, more rows as bars and points."""
    if result.explained_row_count <= waterfall.MOST_ROWS:
        return waterfall.plots(result)
    return (*sizes.plots(result), *points.plots(result))


DRAWING = Drawing(plots=plots)
