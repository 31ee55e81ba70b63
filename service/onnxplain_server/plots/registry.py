"""Registry of plots: the drawing function of each method's result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

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
from onnxplain_server.plots.elements.naming import Naming, with_model


def draw_all(
    results: Sequence[Result],
    naming: Naming = Naming(),  # noqa: B008 - immutable
) -> list[tuple[Plot, ...]]:
    """Draw each result; the later one of two importances also shows them side by side."""
    results = [_with_output_names(result, naming) for result in results]
    plots = [draw(result) for result in results]
    indexed = list(enumerate(results))
    statistics = [(i, r) for i, r in indexed if isinstance(r, interactions.Result)]
    permutations = [(i, r) for i, r in indexed if isinstance(r, permutation_importance.Result)]
    if statistics and permutations:
        (i, first), (k, second) = statistics[0], permutations[0]
        plots[max(i, k)] += interaction_plots.compare(first, second)
    return [tuple(with_model(plot, naming.model_name) for plot in drawn) for drawn in plots]


def draw(result: Result) -> tuple[Plot, ...]:
    """Draw the plots of a result."""
    return PLOTS[type(result)](result)


def _with_output_names(result: Any, naming: Naming) -> Any:
    """Give outputs, and the classes of swarm, their names in plots."""
    if isinstance(result, swarm.Result):
        effects = [replace(e, class_name=naming.output(e.class_name)) for e in result.effects]
        names = naming.named(result.class_names)
        return replace(result, class_names=names, effects=tuple(effects))
    if isinstance(result, feature_vectors.Result):
        return result
    return replace(result, output_names=naming.named(result.output_names))


PLOTS: Mapping[type[Result], Callable[[Any], tuple[Plot, ...]]] = MappingProxyType(
    {
        interactions.Result: interaction_plots.plots,
        partial_dependence.Result: partial_dependence_plots.plots,
        individual_conditional_expectation.Result: individual_plots.plots,
        permutation_importance.Result: permutation_importance_plots.plots,
        average_loss.Result: average_loss_plots.plots,
        feature_vectors.Result: feature_vectors_plots.plots,
        firm.Result: firm_plots.plots,
        sequences.Result: sequence_plots.plots,
        swarm.Result: swarm_plots.plots,
    }
)
