"""Axis of weights, scale of scores, and colours that all panels of a swarm plot share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Perturbation, Result
from onnxplain_server.plots.elements.labels import data_number
from onnxplain_server.plots.elements.style import AREA_SCHEME, Spec

PANEL_WIDTH = 430
BEST_COLOUR, NEUTRAL_COLOUR = "#d93025", "#9aa0a6"


def score_scale(result: Result, chosen: Sequence[Effect]) -> Spec:
    """Colour scale: fixed for scores, so that all plots compare; from the data for losses."""
    title = "score" if result.score is not None else "average loss"
    domain = [0.0, 1.0]
    if result.score is None:
        scores = np.concatenate([effect.search_result.curve.scores for effect in chosen])
        finite = scores[np.isfinite(scores)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        domain = [data_number(low), data_number(max(high, low + 1e-9))]
    reverse = result.score is None
    return {
        "type": "quantitative",
        "scale": {"scheme": AREA_SCHEME, "domain": domain, "reverse": reverse, "clamp": True},
        "legend": {"title": title, "gradientLength": 90},
    }


def weight_axis(result: Result, *, room: float = 1.0) -> Spec:
    """Axis of weights; `room` widens it beyond the largest weight."""
    gaussian = result.motion.perturbation is Perturbation.GAUSSIAN
    title = "Weight: noise in standard deviations" if gaussian else "Weight: factor of the values"
    limit = result.motion.weight_limit
    scale = {"domain": [0, data_number(limit * room)], "nice": False}
    ticks = [data_number(tick) for tick in np.linspace(0, limit, 11)]
    return {
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": title, "values": ticks, "grid": False, "format": ".3~r"},
    }
