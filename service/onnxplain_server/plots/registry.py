"""The plots of any result."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.methods import (
    average_loss,
    feature_vectors,
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    sequences,
    swarm,
)
from onnxplain_server.methods.registry import Result
from onnxplain_server.plots import average_loss as average_loss_plots
from onnxplain_server.plots import feature_vectors as feature_vectors_plots
from onnxplain_server.plots import firm as firm_plots
from onnxplain_server.plots import individual_conditional_expectation as individual_plots
from onnxplain_server.plots import interactions as interaction_plots
from onnxplain_server.plots import partial_dependence as partial_dependence_plots
from onnxplain_server.plots import permutation_importance as permutation_importance_plots
from onnxplain_server.plots import sequences as sequence_plots
from onnxplain_server.plots import swarm as swarm_plots
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.importances import compare


def draw_all(results: Sequence[Result]) -> list[tuple[Plot, ...]]:
    """Draw each result; the later one of two importances also shows them side by side."""
    drawn = [draw(result) for result in results]
    placed = list(enumerate(results))
    moved = [(i, one) for i, one in placed if isinstance(one, interactions.Result)]
    shuffled = [(i, one) for i, one in placed if isinstance(one, permutation_importance.Result)]
    if moved and shuffled:
        (i, first), (k, second) = moved[0], shuffled[0]
        drawn[max(i, k)] += compare(first, second)
    return drawn


def draw(result: Result) -> tuple[Plot, ...]:  # noqa: PLR0911 - one per method
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
        case feature_vectors.Result():
            return feature_vectors_plots.plots(result)
        case firm.Result():
            return firm_plots.plots(result)
        case sequences.Result():
            return sequence_plots.plots(result)
        case swarm.Result():
            return swarm_plots.plots(result)
