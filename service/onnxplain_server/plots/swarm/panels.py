"""Detail panels of a swarm plot, a row per feature: classes predicted, weights tried, and values.

Only the features selected in the summary are shown.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Result
from onnxplain_server.plots.elements.chart import tooltip
from onnxplain_server.plots.elements.labels import distinguish
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import MOST_SERIES, SERIES_COLOURS, Spec
from onnxplain_server.plots.swarm.axes import (
    HARMFUL_COLOUR,
    NEUTRAL_COLOUR,
    PANEL_WIDTH,
    largest_weight,
    measure,
    weight_axis,
)

_MAX_DOTS = 150
_HEIGHT, _HISTOGRAM_WIDTH = 110, 150
_OTHERS = "other classes"


def draw(result: Result, chosen: Sequence[Effect], labels: Sequence[str], scale: Spec) -> Spec:
    """Draw shares of predicted classes as stacked bars, above weights coloured by their score."""
    rows = [
        row
        for effect, label in zip(chosen, labels, strict=True)
        for row in (
            *_shares(result, effect, label),
            *_scores(effect, label),
            *_rules(result, effect, label),
        )
    ]
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [-0.55 if result.class_names else -1, 1], "nice": False},
        "axis": {"title": "share predicted", "values": [0, 0.5, 1], "grid": False}
        if result.class_names
        else None,
    }
    x = weight_axis(result, largest_weight(result, chosen))
    spec: Spec = {
        "width": PANEL_WIDTH,
        "height": _HEIGHT if result.class_names else _HEIGHT // 2,
        "layer": _layers(result, x, y, scale),
    }
    return {**_facet_selected(rows, labels, place="top"), "spec": spec}


def histograms(chosen: Sequence[Effect], labels: Sequence[str]) -> Spec:
    """Draw the distributions of the features' values in these rows; groups have an empty panel."""
    rows = [
        {"feature": label, "low": data_number(low), "high": data_number(high),
         "rows": data_number(min(count, sys.float_info.max))}
        for effect, label in zip(chosen, labels, strict=True)
        for low, high, count in zip(
            effect.values.borders[:-1], effect.values.borders[1:], effect.values.counts, strict=True
        )
    ]  # fmt: skip
    rows += [
        {"feature": label, "low": 0, "high": 0, "rows": 0}
        for effect, label in zip(chosen, labels, strict=True)
        if not len(effect.values.counts)
    ]
    spec: Spec = {
        "width": _HISTOGRAM_WIDTH,
        "height": _HEIGHT,
        "mark": {"type": "bar", "color": NEUTRAL_COLOUR},
        "encoding": {
            "x": {
                "field": "low",
                "type": "quantitative",
                "bin": {"binned": True},
                "scale": {"zero": False, "nice": False},
                "axis": {"title": None, "tickCount": 3, "grid": False},
            },
            "x2": {"field": "high"},
            "y": {"field": "rows", "type": "quantitative",
                  "axis": {"title": "rows", "tickCount": 2, "grid": False}},
            "tooltip": tooltip(("low", "from", ".4~r"), ("high", "to", ".4~r"),
                               ("rows", "rows", ".4~r")),
        },
    }  # fmt: skip
    resolve = {"scale": {"x": "independent", "y": "independent"}}
    return {**_facet_selected(rows, labels, place="bottom"), "spec": spec, "resolve": resolve}


def _facet_selected(rows: list[Spec], labels: Sequence[str], *, place: str) -> Spec:
    """Facet by feature, for those selected in the summary; names stand at the top or bottom."""
    label = {
        "labelOrient": place,
        "labelAnchor": "start" if place == "top" else "middle",
        "labelLimit": 0,
    }
    return {
        "data": {"values": rows},
        "transform": [{"filter": {"param": "shown", "empty": False}}],
        "facet": {
            "row": {"field": "feature", "sort": list(labels), "title": None, "header": label}
        },
    }


def _layers(result: Result, x: Spec, y: Spec, scale: Spec) -> list[Spec]:
    classes = _classes(result)
    description = tooltip(("x", "weight", ".4~r"), ("score", measure(result), ".3~r"))
    score = {"field": "score", **scale, "legend": None}
    dots: Spec = {
        "transform": [{"filter": "datum.part == 'dot'"}],
        "mark": {"type": "circle", "size": 26, "opacity": 0.9},
        "encoding": {"x": {"field": "x", **x}, "y": y, "tooltip": description, "color": score},
    }
    strip: Spec = {
        "transform": [{"filter": "datum.part == 'piece'"}],
        "mark": {"type": "rect"},
        "encoding": {"x": {"field": "x", **x}, "x2": {"field": "x2"}, "y": y,
                     "y2": {"field": "y2"}, "tooltip": description, "color": score},
    }  # fmt: skip
    rules = [
        {
            "transform": [{"filter": f"datum.part == '{part}'"}],
            "mark": {"type": "rule", "color": colour, "strokeWidth": 2},
            "encoding": {"x": {"field": "x", **x}},
        }
        for part, colour in (("neutral", NEUTRAL_COLOUR), ("best", HARMFUL_COLOUR))
    ]
    return [*([_stacked_bars(classes, x, y)] if classes else []), dots, strip, *rules]


def _stacked_bars(classes: Sequence[str], x: Spec, y: Spec) -> Spec:
    colours = {"domain": classes, "range": [*SERIES_COLOURS[: len(classes) - 1], NEUTRAL_COLOUR]
               if _OTHERS in classes else list(SERIES_COLOURS[: len(classes)])}  # fmt: skip
    return {
        "transform": [{"filter": "datum.part == 'share'"}],
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.4},
        "encoding": {
            "x": {"field": "x", **x},
            "x2": {"field": "x2"},
            "y": y,
            "y2": {"field": "y2"},
            "fill": {"field": "class", "type": "nominal", "scale": colours,
                      "legend": {"title": "predicted as"}},
            "tooltip": tooltip(("class", "predicted as", ""), ("share", "share", ".0%"),
                               ("x", "weights from", ".3~r"), ("x2", "to", ".3~r")),
        },
    }  # fmt: skip


def _classes(result: Result) -> list[str]:
    names = list(distinguish(result.class_names))
    return names if len(names) <= MOST_SERIES else [*names[: MOST_SERIES - 1], _OTHERS]


def _shares(result: Result, effect: Effect, label: str) -> list[Spec]:
    """Return stacked shares of the predicted classes, window by window."""
    classes, rows = _classes(result), []
    for window, shares in enumerate(effect.window_shares):
        if not np.isfinite(shares).all():
            continue
        heights = shares[: len(classes)].copy()
        if _OTHERS in classes:
            heights[-1] = shares[len(classes) - 1 :].sum()
        for name, share, top in zip(classes, heights, np.cumsum(heights), strict=True):
            if share > 0:
                rows.append(
                    {
                        "feature": label,
                        "part": "share",
                        "class": name,
                        "x": data_number(result.borders[window]),
                        "x2": data_number(result.borders[window + 1]),
                        "y": data_number(top - share),
                        "y2": data_number(top),
                        "share": data_number(share),
                    }
                )
    return rows


def _scores(effect: Effect, label: str) -> list[Spec]:
    """Return sampled weights as jittered dots, or the pieces of an exact curve as a strip."""
    curve = effect.search_result.curve
    if curve.is_pieces:
        joined = curve.joined(_MAX_DOTS)
        return [
            {"feature": label, "part": "piece", "x": data_number(low), "x2": data_number(high),
             "y": -0.45, "y2": -0.15, "score": data_number(score)}
            for low, high, score in zip(joined.lows, joined.highs, joined.scores, strict=True)
            if np.isfinite(score)
        ]  # fmt: skip
    places = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), _MAX_DOTS)).astype(int))
    # Heights are jitter by the golden ratio, which keeps neighbours apart.
    return [
        {"feature": label, "part": "dot", "x": data_number(curve.lows[i]),
         "y": data_number(-0.12 - 0.36 * (0.618034 * k % 1)), "score": data_number(curve.scores[i])}
        for k, i in enumerate(places.tolist())
        if np.isfinite(curve.scores[i])
    ]  # fmt: skip


def _rules(result: Result, effect: Effect, label: str) -> list[Spec]:
    neutral, best = result.motion.neutral, effect.search_result.best_weight
    return [
        {"feature": label, "part": "neutral", "x": neutral},
        {"feature": label, "part": "best", "x": data_number(best)},
    ]
