"""Registry of plots: what each method's module in `plots` declares as `DRAWING`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from onnxplain_server import plots as room
from onnxplain_server.methods.registry import Method, Result, method_of
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.units.naming import Naming, with_model


def draw_all(
    results: Sequence[Result],
    naming: Naming = Naming(),  # noqa: B008 - immutable
) -> list[tuple[Plot, ...]]:
    """Draw each result; the later one of two that are compared also shows them side by side."""
    drawings = [drawing(method_of(result)) for result in results]
    results = [own.named(result, naming) for own, result in zip(drawings, results, strict=True)]
    first: dict[str, int] = {}
    for k, result in enumerate(results):
        first.setdefault(method_of(result).name, k)
    plots = []
    for own, result in zip(drawings, results, strict=True):
        beside = [results[first[own.beside]]] if own.beside in first else []
        plots.append(own.plots(result, *beside))
    for i in first.values():
        own = drawings[i]
        if own.compared_with in first:
            k = first[own.compared_with]
            plots[max(i, k)] += own.compare(results[i], results[k])
    return [tuple(with_model(plot, naming.model_name) for plot in drawn) for drawn in plots]


def draw(result: Result) -> tuple[Plot, ...]:
    """Draw the plots of a result."""
    return drawing(method_of(result)).plots(result)


def drawing(method: Method) -> Drawing:
    """Return the drawing that the method's module in `plots` declares."""
    return cast("Drawing", method.module_in(room.__name__).DRAWING)
