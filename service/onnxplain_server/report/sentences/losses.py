"""Sentences on losses and scores: permutation importance, average loss, swarm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.swarm_pb2 import SwarmOptions

from onnxplain_server.core.arrays import Vector
from onnxplain_server.core.number_texts import share_text
from onnxplain_server.methods.losses import Measure, is_score
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.units.naming import class_phrase
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.plots.units.shown_losses import ShownLoss
from onnxplain_server.report.finding import joined
from onnxplain_server.report.key_figures import r_squared_text
from onnxplain_server.report.loss_findings import loss_of, shown_loss
from onnxplain_server.report.sentences.effects import largest
from onnxplain_server.report.sentences.words import few_of, for_output
from onnxplain_server.report.swarm_findings import best_weight_text, move_words, score_text


def of_permutation_importance(
    explanation: Explanation, loss_row_count: int, units: Units
) -> Iterator[str]:
    """Name what hurts most when it is shuffled, beyond the error of shuffling.

    Parameters
    ----------
    loss_row_count : int
        Rows of the loss that is told beside it, which may be more; 0 without one.
    """
    own = explanation.rows.used_row_count
    for text in _shuffled(explanation, units):
        yield text if own >= loss_row_count else f"{text[:-1]} ({own:,} of the rows)."


# Long: a sentence for each outcome of shuffling.
def _shuffled(explanation: Explanation, units: Units) -> Iterator[str]:
    result = explanation.permutation_importance
    if not result.importances:
        return
    outputs = list(result.output_names)
    options = explanation.options.permutation_importance
    loss = shown_loss(result, options)
    before = np.array(result.baseline_losses)
    values = np.array([importance.values for importance in result.importances])
    errors = np.array([importance.standard_errors for importance in result.importances])
    errors = loss.increase_errors(before, values, errors)
    after, values = loss.values(before + values), loss.increases(before, values)
    place = largest(values)
    if place is None:
        if np.isfinite(values).all():
            yield f"Shuffling no feature makes the {loss.name} worse."
        return
    column = place[1]
    rows = leaders(values[:, column], errors[:, column])
    share = " times its value before" if options.normalize else ""
    texts = [spell_beside(values[row, column], values) for row in rows or place[:1]]
    if not rows:
        yield (
            f"Shuffling no feature makes the {loss.name}{for_output(outputs, column)} "
            f"worse by more than two standard errors: by {texts[0]}{share} at most."
        )
        return
    names = [joined(result.importances[row].features, " + ") for row in rows]
    once = "" if np.isfinite(errors[rows[0], column]) else ", in one shuffle,"
    start = f"Shuffling {few_of(names, 'or')}{once} worsens predictions most:"
    apart = ", which shuffles cannot tell apart" if len(rows) > 1 else ""
    if loss.is_root:
        ends = _from_to(loss.values(before)[column], after[rows, column], after[:, column])
        unit = f" ({loss.unit(outputs, units)})"
        yield f"{start} the {loss.name}{for_output(outputs, column)} rises {ends}{unit}{apart}."
        return
    size = texts[0] if texts[0] == texts[-1] else f"{texts[-1]} to {texts[0]}"
    article = "a" if is_score(loss.loss) else "an"
    yield (
        f"{start} {article} {loss.change}{for_output(outputs, column)} by "
        f"{size}{share}{apart}, from {spell_beside(before[column], before)} before."
    )


def _from_to(before: float, after: Vector, others: Vector) -> str:
    """Write from where to where a loss rises: "from 1 to 2", or "from 1 to values from 2 to 3"."""
    beside = np.append(others, before)
    texts = [spell_beside(value, beside) for value in after]
    ends = texts[0] if texts[0] == texts[-1] else f"values from {texts[-1]} to {texts[0]}"
    return f"from {spell_beside(before, beside)} to {ends}"


def most_harmful(explanation: Explanation) -> list[str]:
    """Return the features, or groups, whose shuffling worsens predictions most beyond its error.

    Several where shuffles cannot tell them apart; none where no shuffling does harm.
    """
    result = explanation.permutation_importance
    loss = shown_loss(result, explanation.options.permutation_importance)
    before = np.array(result.baseline_losses)
    values = np.array([importance.values for importance in result.importances])
    errors = np.array([importance.standard_errors for importance in result.importances])
    errors, values = loss.increase_errors(before, values, errors), loss.increases(before, values)
    place = largest(values)
    rows = [] if place is None else leaders(values[:, place[1]], errors[:, place[1]])
    return [joined(result.importances[row].features, " + ") for row in rows]


def first_shuffled(explanation: Explanation) -> str:
    """Return the feature that hurts most when it is shuffled; empty where none does, or several."""
    importances = explanation.permutation_importance.importances
    place = largest(np.array([importance.values for importance in importances]))
    features = [] if place is None else importances[place[0]].features
    return features[0] if len(features) == 1 else ""


def of_average_loss(explanation: Explanation, loss_row_count: int = 0) -> Iterator[str]:
    """Tell the loss; of groups, or of outputs, from which to which it goes.

    Parameters
    ----------
    loss_row_count : int
        Most rows of a loss of all rows in the answer; 0 where that is not known.
    """
    result = explanation.average_loss
    values = np.array([one.values for one in result.losses])
    if not values.size or not np.isfinite(values).all():
        return
    outputs = list(result.output_names)
    shown = ShownLoss.of(loss_of(explanation.options.average_loss), outputs)
    loss, name, values = shown.loss, shown.heading(outputs), shown.values(values)
    if len(values) == 1:
        compared = _beside_constant(explanation, name)
        yield compared or f"{name}{_worst(values[0], outputs, loss)}."
        if loss_row_count:
            rows = "this row" if loss_row_count == 1 else f"these {loss_row_count:,} rows"
            yield f"{_OF_TRAINING.format(rows)}."
        return
    best_is_high = is_score(loss)
    column = int(np.argmin(values.min(axis=0)) if best_is_high else np.argmax(values.max(axis=0)))
    groups = [clean(one.group) for one in result.losses]
    yield f"{name}{for_output(outputs, column)} {_extent(values[:, column], groups)}."


_OF_TRAINING = (
    "Neither model nor table tells whether the model was trained on {}; if it was, it looks better "
    "here than on new rows"
)


def _beside_constant(explanation: Explanation, name: str) -> str:
    """Compare the only loss with that of the best constant; empty where that is not known."""
    result = explanation.average_loss
    if len(result.constant_losses) != 1:
        return ""
    loss = loss_of(explanation.options.average_loss)
    shown = ShownLoss.of(loss, result.output_names)
    pair = shown.values(np.array([*result.losses[0].values, *result.constant_losses]))
    own, constant = (spell_beside(value, pair) for value in pair)
    share = r_squared_text(explanation)
    if not share:
        return f"{name} is {own}; that of {loss_names.yardstick_in_words(loss)} is {constant}."
    output = clean(result.output_names[0])
    return (
        f"R² is {share}: the root mean squared error of {output} is "
        f"{own}, that of its mean {constant}."
    )


def _worst(values: Vector, outputs: Sequence[str], loss: Measure) -> str:
    """Write the number of the only output, or of the one predicted worst; ties are told as such."""
    best_is_high = is_score(loss)
    column = int(np.argmin(values) if best_is_high else np.argmax(values))
    texts = [spell_beside(value, values) for value in values]
    if len(values) > 1 and len(set(texts)) == 1:
        return f" is {texts[0]} for each output"
    alike = [clean(outputs[k]) for k, text in enumerate(texts) if text == texts[column]]
    if len(alike) > 1:
        better = "higher" if best_is_high else "lower"
        return f" is {texts[column]} for {few_of(alike)}, and {better} for the other outputs"
    worst = ", the lowest of all outputs" if best_is_high else ", the highest of all outputs"
    return f"{for_output(outputs, column)} is {texts[column]}{worst if len(values) > 1 else ''}"


def _extent(values: Vector, groups: Sequence[str]) -> str:
    """Write "goes from 1 for a to 2 for b", or the number where all are written alike."""
    low, high = int(np.argmin(values)), int(np.argmax(values))
    smallest, largest_one = (spell_beside(values[at], values) for at in (low, high))
    if smallest == largest_one:
        return f"is {smallest} for each group"
    return f"goes from {smallest} for {groups[low]} to {largest_one} for {groups[high]}"


def of_swarm(explanation: Explanation) -> Iterator[str]:
    """Tell what the most harmful move does, and that moved rows are made up."""
    result, options = explanation.swarm, explanation.options.swarm
    effects = [effect for effect in result.effects if np.isfinite(effect.importance)]
    worst = max(effects, key=lambda effect: effect.importance, default=None)
    if worst is None or worst.importance <= 0:
        if len(effects) == len(result.effects):
            yield "No move of a feature makes predictions worse."
        return
    measured = "the average loss"
    if options.score:
        measured = SwarmOptions.Score.Name(options.score).lower().replace("_", " ")
        measured = "F1" if measured == "f1" else measured
    moved = move_words(options).doing.format(best_weight_text(worst))
    rows = f" in rows of {class_phrase(worst.class_name)}" if worst.class_name else ""
    alike = leaders(np.array([effect.importance for effect in effects]))
    verb = "lowers" if options.score else "raises"
    most = " most" if len(alike) == 1 else ", and no other move more"
    leaving = ""
    if worst.reach.outside_share > 0:
        leaving = f"; {share_text(worst.reach.outside_share)} of the moved values leave the data"
    yield (
        f"{moved} {clean(worst.feature)}{rows} {verb} {measured}{most}: "
        f"{score_text(worst.best_score)} in place of {score_text(result.baseline_score)}{leaving}; "
        "a stress test on made-up rows, which are no real persons or things."
    )
