"""Plots of interactions: a matrix as overview, bars of each order, a comparison of importances.

Read `matrix` with its `cells`, `bars`, then `comparison` (`compare`).
"""

from onnxplain_server.methods.interactions import Result
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.interactions import bars, matrix
from onnxplain_server.plots.interactions.comparison import compare


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the matrix and the bars."""
    return (*matrix.plots(result), *bars.plots(result))


__all__ = ["compare", "plots"]
