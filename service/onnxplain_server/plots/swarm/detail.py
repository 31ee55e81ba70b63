"""Swarm plot of one class: a summary of all features, and panels of the selected ones below it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.number_texts import between_zero_and_one, share_text
from onnxplain_server.methods.swarm import Effect, Result
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten, shorten_apart
from onnxplain_server.plots.elements.style import Spec
from onnxplain_server.plots.marks.ranking import MOST_BARS
from onnxplain_server.plots.swarm import panels, summary
from onnxplain_server.plots.swarm.axes import (
    PALE,
    largest_weight,
    measure,
    outside_weights,
    score_scale,
)
from onnxplain_server.plots.swarm_words import words_of
from onnxplain_server.plots.units.naming import class_phrase

_HINT = "Click the right end of a feature's row to see it in detail, or to hide it."


def plot(result: Result, effects: Sequence[Effect], name: str) -> Plot:
    """Draw one class, its most important features first."""
    shown = sorted(effects, key=lambda effect: -effect.importance)[:MOST_BARS]
    labels = shorten_apart(distinguish(e.feature for e in shown), 42)
    scale = score_scale(result, shown)
    below = [panels.draw(result, shown, labels, scale), panels.histograms(shown, labels)]
    above = summary.draw(result, shown, labels, scale)
    body: Spec = {"vconcat": [above, {"hconcat": below}]}
    title = "Stress test: moving features"
    if result.class_names:
        title += f" in rows of {class_phrase(effects[0].class_name)}"
    remarks = [_finding(result, shown[0], effects), *_remarks(result, effects, shown)]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(name, title, remarks, description, body, hint=_HINT)


def _finding(result: Result, strongest: Effect, effects: Sequence[Effect]) -> str:
    if not strongest.importance:
        return "No weight makes predictions worse"
    optimum = strongest.search_result
    alike = leaders(np.array([effect.importance for effect in effects]))
    verb = "lowers" if result.score is not None else "raises the"
    most = " most" if len(alike) == 1 else ", and no other feature more"
    return (
        f"{shorten(clean(strongest.feature))} {verb} {measure(result)}{most}: "
        f"{_score(optimum.best_score)} {_perturbation(result, optimum.best_weight_text)}"
    )


def _score(value: float) -> str:
    return between_zero_and_one(value, f"{value:.3g}")


def _perturbation(result: Result, weight: str) -> str:
    """Describe the perturbation of values at a weight."""
    limit = f"of at most {result.motion.weight_limit:.4g}"
    return words_of(result.motion.perturbation).predictions.format(weight, limit)


def made_up(result: Result, effect: Effect) -> str:
    """Return a remark that rows moved by the most harmful weight are no real ones."""
    weight = effect.search_result.best_weight_text
    moved = words_of(result.motion.perturbation).rows.format(weight)
    return f"Rows {moved} are made up to test the model: they are no real persons or things"


def extrapolation(effects: Sequence[Effect]) -> list[str]:
    """Return a remark on rows that most harmful weights move out of the data, if there are any."""
    harmful = [effect for effect in effects if effect.importance > 0]
    shares = [e.reach.outside_share for e in harmful if e.reach.outside_share > 0]
    if not shares:
        return []
    weights = f"{len(shares)} of {len(harmful)} most harmful weights"
    rows = f"up to {share_text(max(shares))} of their rows"
    return [f"Extrapolates: {weights} move {rows} out of the data"]


def _remarks(result: Result, effects: Sequence[Effect], shown: Sequence[Effect]) -> list[str]:
    name = measure(result)
    remarks = [
        f"{name[0].upper()}{name[1:]} as it is: {_score(result.baseline_score)}",
        made_up(result, shown[0]),
        "Red: most harmful weight; grey: no change; grey squares: features in detail below",
        *([PALE] if any(outside_weights(result, one) for one in shown) else []),
        *extrapolation(effects),
    ]
    end = largest_weight(result, shown)
    if end < result.motion.weight_limit:
        remarks.append(f"No weight above {end:.4g} was tried for these features")
    if any(not len(e.values.counts) and np.isfinite(e.reach.observed_low) for e in shown):
        remarks.append("Empty panels of values: the features of a group have no common axis")
    if len(shown) < len(effects):
        remarks.append(f"{len(shown)} most important of {len(effects)} features")
    return remarks
