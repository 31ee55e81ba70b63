"""Registry of plots: the drawing function of each method's result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from onnxplain_server import plots as room
from onnxplain_server.methods.registry import Method, Result, method_of
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.naming import Naming, with_model

_COMPARED = ("interactions", "permutation_importance")
"""Two importances that an answer with both also shows side by side."""
_CURVES = "partial_dependence"
"""Method whose curves tell the directions of features in the bars of another one."""


def draw_all(
    results: Sequence[Result],
    naming: Naming = Naming(),  # noqa: B008 - immutable
) -> list[tuple[Plot, ...]]:
    """Draw each result; the later one of two importances also shows them side by side."""
    results = [_with_output_names(result, naming) for result in results]
    plots = [draw(result) for result in results]
    names = [method_of(result).name for result in results]
    curves = [result for result, name in zip(results, names, strict=True) if name == _CURVES]
    for k, name in enumerate(names):
        if name == "permutation_importance" and curves:
            plots[k] = drawing(method_of(results[k]))(results[k], curves[0])
    if all(name in names for name in _COMPARED):
        i, k = (names.index(name) for name in _COMPARED)
        plots[max(i, k)] += _compared(results[i], results[k])
    return [tuple(with_model(plot, naming.model_name) for plot in drawn) for drawn in plots]


def draw(result: Result) -> tuple[Plot, ...]:
    """Draw the plots of a result."""
    return drawing(method_of(result))(result)


def drawing(method: Method) -> Callable[..., tuple[Plot, ...]]:
    """Return the function (result) -> plots of the method's module in `plots`."""
    return cast("Callable[..., tuple[Plot, ...]]", method.module_in(room.__name__).plots)


def _compared(statistics: Any, permutations: Any) -> tuple[Plot, ...]:
    from onnxplain_server.plots.interactions.comparison import compare

    return compare(statistics, permutations)


def _with_output_names(result: Any, naming: Naming) -> Any:
    """Give outputs, and the classes of swarm, their names in plots."""
    name = method_of(result).name
    if name == "swarm":
        effects = [replace(e, class_name=naming.output(e.class_name)) for e in result.effects]
        names = naming.named(result.class_names)
        return replace(result, class_names=names, effects=tuple(effects))
    if name == "feature_vectors":
        return result
    return replace(result, output_names=naming.named(result.output_names))
