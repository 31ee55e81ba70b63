"""Plots of interactions: a matrix as overview, bars of each order, a comparison of importances.

Read `matrix` with its `cells`, `bars`, then `comparison`.
"""

from onnxplain_server.methods import permutation_importance
from onnxplain_server.methods.interactions import Result
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.interactions import bars, comparison, matrix
from onnxplain_server.plots.permutation_importance import ranked_features


def plots(
    result: Result, shuffled: permutation_importance.Result | None = None
) -> tuple[Plot, ...]:
    """Draw the matrix, its features in the order of `shuffled` where it is given, and the bars."""
    order = ranked_features(shuffled) if shuffled and shuffled.importances else ()
    return (*matrix.plots(result, order), *bars.plots(result))


DRAWING = Drawing(
    plots=plots,
    beside="permutation_importance",
    compared_with="permutation_importance",
    compare=comparison.compare,
)
