"""Plots of attributions.

Of few rows: a waterfall each (`waterfall`), and their lines in one plot (`decision`). Of more: mean
sizes as bars (`sizes`), rows as points by feature (`points`), and along the values of a feature
(`dependence`). Of pairs, where these were asked for: a matrix (`pairs`).
"""

from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions import (
    decision,
    dependence,
    pairs,
    points,
    sizes,
    waterfall,
)
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw few rows one by one and together, more rows as bars and points; pairs where asked."""
    if result.explained_row_count <= waterfall.MOST_ROWS:
        return (*waterfall.plots(result), *decision.plots(result), *pairs.plots(result))
    # Pages fold away what comes later, and pairs were asked for.
    over_all = (*sizes.plots(result), *points.plots(result), *pairs.plots(result))
    return (*over_all, *dependence.plots(result))


DRAWING = Drawing(plots=plots)
