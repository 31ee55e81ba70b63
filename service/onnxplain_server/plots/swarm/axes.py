"""Axis of weights, name and scale of scores, and colours that all swarm plots share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Result, Score
from onnxplain_server.plots.axes.number_line import round_numbers
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import AREA_SCHEME, Spec
from onnxplain_server.plots.swarm_words import words_of

PANEL_WIDTH = 430
HARMFUL_COLOUR, NEUTRAL_COLOUR = "#d93025", "#9aa0a6"
PALE = "Pale: weights that move rows out of the data"


def measure(result: Result) -> str:
    """Name the score, or the average loss, for use in a sentence."""
    if result.score is not None:
        return "F1" if result.score is Score.F1 else result.score.value.lower().replace("_", " ")
    assert result.loss is not None  # noqa: S101 - either is given
    return loss_names.name(result.loss)


def score_scale(result: Result, chosen: Sequence[Effect]) -> Spec:
    """Colour scale: fixed for scores, so that all plots compare; from the data for losses."""
    domain = [0.0, 1.0]
    if result.score is None:
        scores = np.concatenate([effect.search_result.curve.scores for effect in chosen])
        finite = scores[np.isfinite(scores)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        domain = [data_number(low), data_number(max(high, low + 1e-6 * (abs(low) or 1.0)))]
    reverse = result.score is None
    return {
        "type": "quantitative",
        "scale": {"scheme": AREA_SCHEME, "domain": domain, "reverse": reverse, "clamp": True},
        "legend": {"title": measure(result), "gradientLength": 90},
    }


def largest_weight(result: Result, chosen: Sequence[Effect]) -> float:
    """Return where the axis of weights ends: where no larger one was tried, by windows."""
    finite = np.isfinite([effect.window_scores for effect in chosen]).any(axis=0)
    tried = result.borders[1:][finite].max(initial=result.motion.neutral)
    end = float(max(tried, *(effect.search_result.best_weight for effect in chosen)))
    return end or result.motion.weight_limit


def weight_axis(result: Result, end: float, *, room: float = 1.0) -> Spec:
    """Axis of weights up to an end; `room` widens it beyond."""
    title = words_of(result.motion.perturbation).axis
    ticks = [data_number(tick) for tick in round_numbers(0, end)]
    return {
        "type": "quantitative",
        "scale": {"domain": [0, data_number(end * room)], "nice": False},
        "axis": {"title": title, "values": ticks, "grid": False, "format": ".3~r"},
    }


def outside_weights(result: Result, effect: Effect) -> list[tuple[float, float]]:
    """Return the ranges of weights that move some row out of the data, up to the largest one."""
    first, last = effect.inside
    ranges = [(0.0, first), (last, result.motion.weight_limit)]
    return [(low, high) for low, high in ranges if low < high]


def pale(rows: Sequence[Spec], x: Spec, y: Spec) -> Spec:
    """Draw a veil over ranges of weights, "low" to "high", at their places."""
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "rect", "color": "white", "opacity": 0.5, "clip": True},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, **y},
    }
