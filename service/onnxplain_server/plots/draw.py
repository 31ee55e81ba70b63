"""The plots of any result."""

from __future__ import annotations

from onnxplain_server.methods import (
    average_loss,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
)
from onnxplain_server.methods.kinds import Result
from onnxplain_server.plots import average_loss as average_loss_plots
from onnxplain_server.plots import individual_conditional_expectation as individual_plots
from onnxplain_server.plots import interactions as interaction_plots
from onnxplain_server.plots import partial_dependence as partial_dependence_plots
from onnxplain_server.plots import permutation_importance as permutation_importance_plots
from onnxplain_server.plots.chart import Plot


def draw(result: Result) -> tuple[Plot, ...]:
    """Draw a result, by the file of its method."""
    match result:
        case interactions.Result():
            return interaction_plots.plots(result)
        case partial_dependence.Result():
            return partial_dependence_plots.plots(result)
        case individual_conditional_expectation.Result():
            return individual_plots.plots(result)
        case permutation_importance.Result():
            return permutation_importance_plots.plots(result)
        case average_loss.Result():
            return average_loss_plots.plots(result)
