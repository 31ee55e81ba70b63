"""Plots of interactions: a matrix as overview, bars of each order, a comparison of importances.

Read `matrix` with its `cells`, `bars`, then `comparison`.
"""

from onnxplain_server.methods.interactions import Result
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.interactions import bars, comparison, matrix


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the matrix and the bars."""
    return (*matrix.plots(result), *bars.plots(result))


DRAWING = Drawing(plots=plots, compared_with="permutation_importance", compare=comparison.compare)
