"""Sentences on losses and scores: permutation importance, average loss, swarm."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.swarm_pb2 import SwarmOptions

from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.naming import class_phrase
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.report.finding import joined
from onnxplain_server.report.loss_findings import loss_of
from onnxplain_server.report.sentences.effects import largest
from onnxplain_server.report.sentences.words import for_output
from onnxplain_server.report.swarm_findings import weight_text


def of_permutation_importance(explanation: Explanation) -> Iterator[str]:
    """Name what hurts most when it is shuffled."""
    result = explanation.permutation_importance
    if not result.importances:
        return
    outputs = list(result.output_names)
    options = explanation.options.permutation_importance
    loss = loss_of(options)
    values = np.array([importance.values for importance in result.importances])
    place = largest(values)
    if place is None:
        yield f"Shuffling no feature makes the {loss_names.name(loss)} worse."
        return
    row, column = place
    baseline = np.array(result.baseline_losses)
    article = "a" if loss_names.is_score(loss) else "an"
    share = " times its value before" if options.normalize else ""
    yield (
        f"Shuffling {joined(result.importances[row].features, ' + ')} does most harm: "
        f"{article} {loss_names.change(loss)}{for_output(outputs, column)} by "
        f"{spell_beside(values[row, column], values)}{share}, from "
        f"{spell_beside(baseline[column], baseline)} before."
    )


def of_average_loss(explanation: Explanation) -> Iterator[str]:
    """Tell the loss; of groups, the smallest and the largest."""
    result = explanation.average_loss
    values = np.array([one.values for one in result.losses])
    if not values.size or not np.isfinite(values).all():
        return
    outputs = list(result.output_names)
    loss = loss_of(explanation.options.average_loss)
    name = loss_names.heading(loss, tuple(outputs))
    is_score = loss_names.is_score(loss)
    column = int(np.argmin(values.min(axis=0)) if is_score else np.argmax(values.max(axis=0)))
    start = f"{name}{for_output(outputs, column)} is"
    if len(values) == 1:
        worst = ", the lowest of all outputs" if is_score else ", the highest of all outputs"
        number = spell_beside(values[0, column], values)
        yield f"{start} {number}{worst if len(outputs) > 1 else ''}."
        return
    low, high = (
        f"{spell_beside(values[at, column], values)} for {clean(result.losses[at].group)}"
        for at in (int(np.argmin(values[:, column])), int(np.argmax(values[:, column])))
    )
    yield f"{start} smallest, {low}, and largest, {high}."


def of_swarm(explanation: Explanation) -> Iterator[str]:
    """Tell what the move that does most harm does, and that moved rows are made up."""
    result, options = explanation.swarm, explanation.options.swarm
    effects = [effect for effect in result.effects if np.isfinite(effect.importance)]
    worst = max(effects, key=lambda effect: effect.importance, default=None)
    if worst is None or worst.importance <= 0:
        yield "No move of a feature makes predictions worse."
        return
    measured = "score" if options.score else "average loss"
    if options.score:
        measured = SwarmOptions.Score.Name(options.score).lower().replace("_", " ")
        measured = "F1" if measured == "f1" else measured
    moved = (
        f"Adding noise of {weight_text(worst.best_weight)} standard deviations to"
        if options.perturbation == SwarmOptions.GAUSSIAN
        else f"Scaling by {weight_text(worst.best_weight)} the values of"
    )
    rows = f" in rows of {class_phrase(worst.class_name)}" if worst.class_name else ""
    yield (
        f"{moved} {clean(worst.feature)}{rows} does most harm: {measured} "
        f"{weight_text(worst.best_score)} in place of {weight_text(result.baseline_score)}; "
        "a stress test on made-up rows, which are no real persons or things."
    )
