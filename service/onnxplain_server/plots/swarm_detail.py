"""One class: all features as blocks, and those chosen by a click in detail."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.swarm import Effect, Perturbation, Result
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import (
    clean,
    data_number,
    distinguish,
    shorten,
    shorten_inside,
)
from onnxplain_server.plots.elements.ranking import MOST_BARS
from onnxplain_server.plots.elements.style import AREA_SCHEME, MOST_SERIES, SERIES_COLOURS, Spec

_SHOWN_FIRST = 2
_MOST_DOTS = 150
_WIDTH, _HEIGHT, _SIDE_WIDTH, _STEP = 430, 110, 150, 22
_BEST, _NEUTRAL, _BOX = "#d93025", "#9aa0a6", "#9aa0a6"
_OTHERS = "other classes"


def plot(result: Result, effects: Sequence[Effect], name: str) -> Plot:
    """Draw the summary of a class, with detail below it."""
    order = sorted(range(len(effects)), key=lambda i: -effects[i].importance)[:MOST_BARS]
    chosen = [effects[i] for i in order]
    labels = [shorten_inside(label, 34) for label in distinguish(e.feature for e in chosen)]
    labels = list(distinguish(labels))
    scale = _score_scale(result, chosen)
    whole = _summary(result, chosen, labels, scale)
    below = {"hconcat": [_detail(result, chosen, labels, scale), _histograms(chosen, labels)]}
    body: Spec = {"vconcat": [whole, below]}
    class_name = clean(effects[0].class_name) if result.class_names else ""
    title = "Stress test: moving features"
    if class_name:
        title += f" of {shorten(class_name)}"
    remarks = _remarks(result, effects, chosen)
    found = _found(result, chosen)
    description = " ".join(f"{sentence}." for sentence in [title, found, *remarks])
    return finish(name, title, [found, *remarks], description, body)


def _found(result: Result, chosen: Sequence[Effect]) -> str:
    first = chosen[0]
    if not first.importance:
        return "No weight makes predictions worse"
    return (
        f"{shorten(clean(first.feature))} does most harm: {_measure(result)} "
        f"{first.search_result.best_score:.3g} {_moved(result, first.search_result.best_weight)}"
    )


def _measure(result: Result) -> str:
    return "score" if result.score is not None else "average loss"


def _moved(result: Result, weight: float) -> str:
    """Say what is done to values."""
    limit = f"of at most {result.motion.weight_limit:.4g}"
    if result.motion.perturbation is Perturbation.GAUSSIAN:
        return f"with noise of {weight:.3g} standard deviations ({limit}) added"
    return f"with values times {weight:.3g} ({limit})"


def outside(effects: Sequence[Effect]) -> list[str]:
    """Say how far best weights lead out of the data."""
    harmful = [effect for effect in effects if effect.importance > 0]
    beyond = [effect for effect in harmful if effect.reach.outside_share > 0]
    if not beyond:
        return []
    most = max(effect.reach.outside_share for effect in beyond)
    counts = f"{len(beyond)} of {len(harmful)} best weights"
    return [f"Extrapolates: {counts} move up to {most:.0%} of their rows out of the observed range"]


def _remarks(result: Result, effects: Sequence[Effect], chosen: Sequence[Effect]) -> list[str]:
    before = "Score" if result.score is not None else "Average loss"
    remarks = [
        f"{before} as it is: {result.baseline_score:.3g}. Red: best weight; grey: no change",
        *outside(effects),
        "Click a box to see, or hide, a feature in detail",
    ]
    if len(chosen) < len(effects):
        remarks.append(f"{len(chosen)} most important of {len(effects)} features")
    return remarks


def _score_scale(result: Result, chosen: Sequence[Effect]) -> Spec:
    """The same colours for the same score in every picture; losses have no fixed range."""
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


def _weights(result: Result, *, room: float = 1.0) -> Spec:
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


def _summary(result: Result, chosen: Sequence[Effect], labels: Sequence[str], scale: Spec) -> Spec:
    """Blocks of windows, with marks, and the boxes that choose."""
    y: Spec = {
        "field": "feature",
        "type": "nominal",
        "sort": list(labels),
        "axis": {"title": None, "domain": False, "ticks": False, "labelLimit": 220},
    }
    x = _weights(result, room=1.06)
    return {
        "width": round(_WIDTH * 1.06),
        "height": {"step": _STEP},
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
                        ("score", "mean", ".3~r"),
                    ),
                },
            },
            *_marks(result, chosen, labels, {"y": y}, _STEP),
            _boxes(result, labels, {"y": y}),
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


def _marks(
    result: Result, chosen: Sequence[Effect], labels: Sequence[str], y: Spec, size: float
) -> list[Spec]:
    """The weight that changes nothing, and the best one over it."""
    neutral = result.motion.perturbation.neutral
    rows = [
        {
            "feature": label,
            "neutral": neutral,
            "best": data_number(effect.search_result.best_weight),
            "score": data_number(effect.search_result.best_score)
            if np.isfinite(effect.search_result.best_score)
            else None,
            "importance": data_number(effect.importance),
            "outside": data_number(effect.reach.outside_share),
        }
        for effect, label in zip(chosen, labels, strict=True)
    ]
    told = tooltip(
        ("feature", "feature", ""),
        ("best", "best weight", ".4~r"),
        ("score", "score", ".3~r"),
        ("importance", "importance", ".3~r"),
        ("outside", "rows moved out of the observed range", ".0%"),
    )
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "tick", "color": colour, "thickness": 3, "size": size},
            "encoding": {"x": {"field": field, "type": "quantitative"}, "tooltip": told, **y},
        }
        for field, colour in (("neutral", _NEUTRAL), ("best", _BEST))
    ]


def _boxes(result: Result, labels: Sequence[str], y: Spec) -> Spec:
    """Boxes at the right end: filled where the feature is shown in detail; a click toggles."""
    first = [{"feature": label} for label in labels[:_SHOWN_FIRST]]
    place = data_number(result.motion.weight_limit * 1.035)
    rows = [{"feature": label, "box": place} for label in labels]
    return {
        "data": {"values": rows},
        "params": [
            {
                "name": "shown",
                "select": {"type": "point", "fields": ["feature"], "toggle": "true"},
                "value": first,
            }
        ],
        "mark": {
            "type": "point",
            "shape": "square",
            "size": 110,
            "stroke": _BOX,
            "opacity": 1,
            "cursor": "pointer",
        },
        "encoding": {
            "x": {"field": "box", "type": "quantitative"},
            "fill": {"condition": {"param": "shown", "empty": False, "value": _BOX},
                     "value": "white"},
            **y,
        },
    }  # fmt: skip


def _only_shown(rows: list[Spec], labels: Sequence[str], *, header: bool) -> Spec:
    """Give a row of panels to each feature that is shown."""
    label = {"labelOrient": "top", "labelAnchor": "start"} if header else {"labels": False}
    return {
        "data": {"values": rows},
        "transform": [{"filter": {"param": "shown", "empty": False}}],
        "facet": {
            "row": {"field": "feature", "sort": list(labels), "title": None, "header": label}
        },
    }


def _detail(result: Result, chosen: Sequence[Effect], labels: Sequence[str], scale: Spec) -> Spec:
    """Confusion as stacked bars, and below them the weights, coloured by their score."""
    parts = [
        row
        for effect, label in zip(chosen, labels, strict=True)
        for row in (
            *_shares(result, effect, label),
            *_dots(effect, label),
            *_lines(result, effect, label),
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
    x = _weights(result)
    spec: Spec = {
        "width": _WIDTH,
        "height": _HEIGHT if result.class_names else _HEIGHT // 2,
        "layer": _layers(result, x, y, scale),
    }
    return {**_only_shown(parts, labels, header=True), "spec": spec}


def _layers(result: Result, x: Spec, y: Spec, scale: Spec) -> list[Spec]:
    classes = _classes(result)
    colours = {"domain": classes, "range": [*SERIES_COLOURS[: len(classes) - 1], _NEUTRAL]
               if _OTHERS in classes else list(SERIES_COLOURS[: len(classes)])}  # fmt: skip
    bars: Spec = {
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
    told = tooltip(("x", "weight", ".4~r"), ("score", "score", ".3~r"))
    dots: Spec = {
        "transform": [{"filter": "datum.part == 'dot'"}],
        "mark": {"type": "circle", "size": 26, "opacity": 0.9},
        "encoding": {"x": {"field": "x", **x}, "y": y, "tooltip": told,
                     "color": {"field": "score", **scale, "legend": None}},
    }  # fmt: skip
    strip: Spec = {
        "transform": [{"filter": "datum.part == 'piece'"}],
        "mark": {"type": "rect"},
        "encoding": {"x": {"field": "x", **x}, "x2": {"field": "x2"}, "y": y,
                     "y2": {"field": "y2"}, "tooltip": told,
                     "color": {"field": "score", **scale, "legend": None}},
    }  # fmt: skip
    lines = [
        {
            "transform": [{"filter": f"datum.part == '{part}'"}],
            "mark": {"type": "rule", "color": colour, "strokeWidth": 2},
            "encoding": {"x": {"field": "x", **x}},
        }
        for part, colour in (("neutral", _NEUTRAL), ("best", _BEST))
    ]
    return [*([bars] if classes else []), dots, strip, *lines]


def _classes(result: Result) -> list[str]:
    names = list(distinguish(result.class_names))
    return names if len(names) <= MOST_SERIES else [*names[: MOST_SERIES - 1], _OTHERS]


def _shares(result: Result, effect: Effect, label: str) -> list[Spec]:
    """Pile the shares of classes on each other, window by window."""
    classes, rows = _classes(result), []
    for window, shares in enumerate(effect.window_shares):
        if not np.isfinite(shares).all():
            continue
        own = shares[: len(classes)].copy()
        if _OTHERS in classes:
            own[-1] = shares[len(classes) - 1 :].sum()
        tops = np.cumsum(own)
        for name, share, top in zip(classes, own, tops, strict=True):
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


def _dots(effect: Effect, label: str) -> list[Spec]:
    """Weights that were tried, scattered so that they can be told apart; or pieces as a strip."""
    curve = effect.search_result.curve
    if curve.is_pieces:
        joined = curve.joined(_MOST_DOTS)
        return [
            {"feature": label, "part": "piece", "x": data_number(low), "x2": data_number(high),
             "y": -0.45, "y2": -0.15, "score": data_number(score)}
            for low, high, score in zip(joined.lows, joined.highs, joined.scores, strict=True)
            if np.isfinite(score)
        ]  # fmt: skip
    places = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), _MOST_DOTS)).astype(int))
    # Heights mean nothing; these repeat after as many dots as fit side by side.
    return [
        {"feature": label, "part": "dot", "x": data_number(curve.lows[i]),
         "y": data_number(-0.12 - 0.36 * (0.618034 * k % 1)), "score": data_number(curve.scores[i])}
        for k, i in enumerate(places.tolist())
        if np.isfinite(curve.scores[i])
    ]  # fmt: skip


def _lines(result: Result, effect: Effect, label: str) -> list[Spec]:
    neutral, best = result.motion.perturbation.neutral, effect.search_result.best_weight
    return [
        {"feature": label, "part": "neutral", "x": neutral},
        {"feature": label, "part": "best", "x": data_number(best)},
    ]


def _histograms(chosen: Sequence[Effect], labels: Sequence[str]) -> Spec:
    """How the features' values are distributed in these rows."""
    rows = [
        {"feature": label, "low": data_number(low), "high": data_number(high),
         "rows": data_number(min(count, sys.float_info.max))}
        for effect, label in zip(chosen, labels, strict=True)
        for low, high, count in zip(
            effect.values.borders[:-1], effect.values.borders[1:], effect.values.counts, strict=True
        )
    ]  # fmt: skip
    spec: Spec = {
        "width": _SIDE_WIDTH,
        "height": _HEIGHT,
        "mark": {"type": "bar", "color": _NEUTRAL},
        "encoding": {
            "x": {
                "field": "low",
                "type": "quantitative",
                "bin": {"binned": True},
                "scale": {"zero": False, "nice": False},
                "axis": {"title": "Values", "tickCount": 3, "format": ".3~s", "grid": False},
            },
            "x2": {"field": "high"},
            "y": {"field": "rows", "type": "quantitative",
                  "axis": {"title": "rows", "tickCount": 2, "grid": False}},
            "tooltip": tooltip(("low", "from", ".4~r"), ("high", "to", ".4~r"),
                               ("rows", "rows", ".4~r")),
        },
    }  # fmt: skip
    resolve = {"scale": {"x": "independent", "y": "independent"}}
    return {**_only_shown(rows, labels, header=False), "spec": spec, "resolve": resolve}
