"""The plots of any result."""

from __future__ import annotations

from onnxplain_server.methods import interactions, partial_dependence
from onnxplain_server.methods.kinds import Result
from onnxplain_server.plots import interactions as interaction_plots
from onnxplain_server.plots import partial_dependence as partial_dependence_plots
from onnxplain_server.plots.chart import Plot


def draw(result: Result) -> tuple[Plot, ...]:
    """Draw a result, by the file of its method."""
    match result:
        case interactions.Result():
            return interaction_plots.plots(result)
        case partial_dependence.Result():
            return partial_dependence_plots.plots(result)
        case _:
            return ()
