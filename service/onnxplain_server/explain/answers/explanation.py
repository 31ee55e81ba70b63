"""Explanations of results: put together with what their jobs tell, named and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onnxplain_server.core.model import Note, Scale
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.explanation import Explanation
from onnxplain_server.explain.task import Job
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import Result
from onnxplain_server.plots.elements.chart import Plot
from onnxplain_server.plots.elements.class_names import with_classes
from onnxplain_server.plots.registry import draw_all
from onnxplain_server.plots.units.naming import Naming, output_labels
from onnxplain_server.plots.units.prediction_units import Units, are_probabilities
from onnxplain_server.telemetry.spans import span


def explanations_of(
    jobs: Sequence[Job[Any]], results: Sequence[Result], naming: Naming, *, plots: bool
) -> tuple[Explanation, ...]:
    """Put results together with what their jobs tell, and draw them."""
    drawn_plots = _draw(results, naming, plots=plots)
    return tuple(
        Explanation(job.options, result, with_classes(drawn, job.pairings), job.rows, job.pairings)
        for job, result, drawn in zip(jobs, results, drawn_plots, strict=True)
    )


def _draw(results: Sequence[Result], naming: Naming, *, plots: bool) -> Sequence[tuple[Plot, ...]]:
    if not plots:
        return [()] * len(results)
    with span("draw"):
        return draw_all(results, naming)


def naming_of(request: BoundRequest, jobs: Sequence[Job[Any]]) -> Naming:
    """Return the names of the model and its outputs in plots."""
    model, question = request.given_model, request.question
    is_margin = question.scale is Scale.MARGIN
    if model is None or question.prediction:
        return Naming(question.model_name, is_margin=is_margin)
    pairings = list(dict.fromkeys(pairing for job in jobs for pairing in job.pairings))
    labels = output_labels(
        model.output_names,
        are_classes=model.has_class_scores,
        pairings=pairings,
        target=question.targets[0] if len(question.targets) == 1 else "",
    )
    known = are_probabilities(
        are_classes=model.has_class_scores,
        is_response=not is_margin,
        has_link=question.has_margin,
        losses=_losses(jobs),
    )
    return Naming(question.model_name, labels, is_margin, Units(known))


def _losses(jobs: Sequence[Job[Any]]) -> Iterator[Loss | None]:
    """Yield the losses of methods that compare predictions with true values."""
    for job in jobs:
        comparison = getattr(job.options, "comparison", None)
        if isinstance(comparison, Comparison):
            yield comparison.loss


def method_notes(jobs: Sequence[Job[Any]], results: Sequence[Result]) -> Iterator[Note]:
    """Return the warnings of methods, each once."""
    pairs = zip(jobs, results, strict=True)
    notes = (note for job, result in pairs for note in (*job.notes, *job.remarks(result)))
    yield from dict.fromkeys(notes)
