"""Summary of a swarm plot: scores by window of weights as coloured cells, a row per feature.

A click behind the end of a row toggles the feature in the detail panels, by the parameter "shown";
a square marks the features shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Result
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import Spec
from onnxplain_server.plots.swarm.axes import (
    HARMFUL_COLOUR,
    NEUTRAL_COLOUR,
    PANEL_WIDTH,
    largest_weight,
    measure,
    outside_weights,
    pale,
    weight_axis,
)

_SHOWN_FIRST = 2
_ROW_HEIGHT = 22
_BOX_COLOUR = "#9aa0a6"


def draw(result: Result, chosen: Sequence[Effect], labels: Sequence[str], scale: Spec) -> Spec:
    """Draw windows coloured by their score, marks, and the boxes that select features."""
    y: Spec = {
        "field": "feature",
        "type": "nominal",
        "sort": list(labels),
        "axis": {"title": None, "domain": False, "ticks": False, "labelLimit": 0},
    }
    end = largest_weight(result, chosen)
    x = weight_axis(result, end, room=1.06)
    return {
        "width": round(PANEL_WIDTH * 1.06),
        "height": {"step": _ROW_HEIGHT},
        "layer": [
            {
                "data": {"values": _blocks(result, chosen, labels)},
                "mark": {"type": "rect", "height": {"band": 0.8}},
                "encoding": {
                    "x": {"field": "low", **x},
                    "x2": {"field": "high"},
                    "y": y,
                    "color": {"field": "score", **scale},
                    "tooltip": tooltip(
                        ("feature", "feature", ""),
                        ("low", "weights from", ".3~r"),
                        ("high", "to", ".3~r"),
                        ("score", f"mean {measure(result)}", ".3~r"),
                    ),
                },
            },
            pale(_outside(result, chosen, labels, end), x, {"y": y}),
            *_marks(result, chosen, labels, {"y": y}, _ROW_HEIGHT),
            _boxes(end, labels, {"y": y}),
        ],
    }


def _blocks(result: Result, chosen: Sequence[Effect], labels: Sequence[str]) -> list[Spec]:
    return [
        {
            "feature": label,
            "low": data_number(result.borders[i]),
            "high": data_number(result.borders[i + 1]),
            "score": data_number(score),
        }
        for effect, label in zip(chosen, labels, strict=True)
        for i, score in enumerate(effect.window_scores)
        if np.isfinite(score)
    ]


def _outside(
    result: Result, chosen: Sequence[Effect], labels: Sequence[str], end: float
) -> list[Spec]:
    """Return the ranges of weights that move rows out of the data, as far as they are drawn."""
    return [
        {"feature": label, "low": data_number(low), "high": data_number(min(high, end))}
        for effect, label in zip(chosen, labels, strict=True)
        for low, high in outside_weights(result, effect)
        if low < end
    ]


def _marks(
    result: Result, chosen: Sequence[Effect], labels: Sequence[str], y: Spec, size: float
) -> list[Spec]:
    """Mark the weight that changes nothing, and the most harmful one over it."""
    neutral = result.motion.neutral
    rows = [
        {
            "feature": label,
            "neutral": neutral,
            "best": data_number(effect.search_result.best_weight),
            "best_text": effect.search_result.best_weight_text,
            "score": data_number(effect.search_result.best_score)
            if np.isfinite(effect.search_result.best_score)
            else None,
            "importance": data_number(effect.importance),
            "outside": data_number(effect.reach.outside_share),
        }
        for effect, label in zip(chosen, labels, strict=True)
    ]
    description = tooltip(
        ("feature", "feature", ""),
        ("best_text", "most harmful weight", ""),
        ("score", measure(result), ".3~r"),
        ("importance", "importance", ".3~r"),
        ("outside", "rows moved out of the data", ".0%"),
    )
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "tick", "color": colour, "thickness": 3, "size": size},
            "encoding": {
                "x": {"field": field, "type": "quantitative"},
                "tooltip": description,
                **y,
            },
        }
        for field, colour in (("neutral", NEUTRAL_COLOUR), ("best", HARMFUL_COLOUR))
    ]


def _boxes(end: float, labels: Sequence[str], y: Spec) -> Spec:
    """Draw a box after the end of each row, filled if the feature is shown in detail."""
    initial = [{"feature": label} for label in labels[:_SHOWN_FIRST]]
    position = data_number(end * 1.035)
    rows = [{"feature": label, "box": position} for label in labels]
    return {
        "data": {"values": rows},
        "params": [
            {
                "name": "shown",
                "select": {"type": "point", "fields": ["feature"], "toggle": "true"},
                "value": initial,
            }
        ],
        "mark": {
            "type": "point",
            "shape": "square",
            "size": 110,
            "strokeOpacity": 0,
            "opacity": 1,
            "cursor": "pointer",
        },
        "encoding": {
            "x": {"field": "box", "type": "quantitative"},
            "fill": {"condition": {"param": "shown", "empty": False, "value": _BOX_COLOUR},
                     "value": "transparent"},
            **y,
        },
    }  # fmt: skip
