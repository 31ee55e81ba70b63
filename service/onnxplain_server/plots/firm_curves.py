"""The expected score along each feature, with some rows behind it and where rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.firm import Result
from onnxplain_server.methods.firm.result import FirmImportance
from onnxplain_server.plots.elements.axes import Axis, NumberLine, is_missing, lay_axis
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import (
    clean,
    data_number,
    distinguish,
    scale_format,
    shorten,
)
from onnxplain_server.plots.elements.style import PANEL_WIDTH, SERIES_COLOURS, Spec

_PANELS = 6
_COLUMNS = 3
_HEIGHT, _STRIP = 170, 34
_MOST_OUTPUTS = 3
_MOST_LEVELS = 20
_STRIP_BINS = 24
_TITLE = "Expected score along each feature"
_CLOUD_COLOUR = "#9aa0a6"


def plots(result: Result) -> Iterator[Plot]:
    """Draw the most important features; nothing where there is no curve."""
    shown = _strongest(result)
    if not shown:
        return
    outputs = _outputs(result)
    names = distinguish(result.output_names[k] for k in outputs)
    panels = [_panel(result, importance, outputs, names) for importance in shown]
    remarks = [
        "Lines and dots: expected score given the feature; grey: rows; bars above: where rows are"
    ]
    if len(shown) < len(result.importances):
        remarks.append(f"{len(shown)} most important of {len(result.importances):,} features")
    if len(outputs) < len(result.output_names):
        remarks.append(f"{len(outputs)} of {len(result.output_names)} outputs")
    sentences = [f"{_TITLE}: {', '.join(clean(i.feature) for i in shown)}", *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = {"concat": panels, "columns": min(_COLUMNS, len(panels)), "spacing": 36}
    yield finish("firm-curves", _TITLE, remarks, description, body)


def _strongest(result: Result) -> list[FirmImportance]:
    sizes = [-np.nan_to_num(np.abs(i.values)).sum() for i in result.importances]
    order = np.argsort(sizes, kind="stable").tolist()
    kept = [result.importances[i] for i in order if result.importances[i].curve.levels.size > 1]
    return [i for i in kept if i.feature in result.scatter.values][:_PANELS]


def _outputs(result: Result) -> list[int]:
    """Choose outputs: those of model and target first that features move most."""
    sums = np.nansum([np.abs(i.values) for i in result.importances], axis=0)
    found: list[int] = np.sort(np.argsort(-sums, kind="stable")[:_MOST_OUTPUTS]).tolist()
    return found


def _panel(
    result: Result, importance: FirmImportance, outputs: Sequence[int], names: Sequence[str]
) -> Spec:
    levels = importance.curve.levels
    cloud = result.scatter.values[importance.feature]
    values = _axis_values(levels, cloud)
    most = _MOST_LEVELS if levels.dtype == object else len(values)
    axis, _ = lay_axis(importance.feature, values, cloud, most)
    placed = (
        axis.channel(to_edges=False) if isinstance(axis, NumberLine) else axis.channel(upright=True)
    )
    placed["axis"] = placed["axis"] | {"titleLimit": PANEL_WIDTH}
    across = {"field": "x", **placed}
    main = {
        "width": PANEL_WIDTH,
        "height": _HEIGHT,
        "layer": [
            _cloud(result, cloud, axis, outputs, across),
            *_curve(importance, axis, outputs, names, across),
        ],
    }
    return {"vconcat": [_strip(importance, cloud, axis, across), main], "spacing": 4}


def _axis_values(levels: Array, cloud: Array) -> Array:
    """Give the axis room for curve and rows: of numbers, their ends are enough."""
    if levels.dtype == object:
        return levels
    known = np.concatenate([levels, cloud])
    return np.unique(known)


def _cloud(result: Result, cloud: Array, axis: Axis, outputs: Sequence[int], across: Spec) -> Spec:
    scores = result.scatter.scores[:, outputs[0]]
    rows = [
        {"x": axis.position(value), "score": data_number(score)}
        for value, score in zip(cloud.tolist(), scores.tolist(), strict=True)
        if axis.holds(value)
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "circle", "size": 9, "color": _CLOUD_COLOUR, "opacity": 0.45},
        "encoding": {"x": across, "y": _score_axis(result, outputs)},
    }


def _score_axis(result: Result, outputs: Sequence[int]) -> Spec:
    named = shorten(clean(result.output_names[outputs[0]]), 24) if len(outputs) == 1 else "score"
    return {
        "field": "score",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"title": named, "tickCount": 5},
    }


def _curve(
    importance: FirmImportance,
    axis: Axis,
    outputs: Sequence[int],
    names: Sequence[str],
    across: Spec,
) -> list[Spec]:
    """Lines with dots, one for each output; text and missing values have dots only."""
    curve = importance.curve
    rows = [
        {
            "x": axis.position(level),
            "level": axis.text(level),
            "output": name,
            "score": data_number(curve.expected[i, k]),
            "share": data_number(curve.shares[i]),
            "is_missing": is_missing(level),
        }
        for i, level in enumerate(curve.levels.tolist())
        for k, name in zip(outputs, names, strict=True)
        if axis.holds(level) and np.isfinite(curve.expected[i, k])
    ]
    scores = np.array([row["score"] for row in rows])
    encoding: Spec = {
        "x": across,
        "y": {"field": "score", "type": "quantitative"},
        "color": _colour(names),
        "tooltip": tooltip(
            ("level", shorten(clean(importance.feature), 40), ""),
            ("output", "output", ""),
            ("score", "expected score", scale_format(scores)),
            ("share", "share of the rows", ".1%"),
        ),
    }
    dots: Spec = {"mark": {"type": "point", "filled": True, "size": 32, "opacity": 1}}
    layers: list[Spec] = [{**dots, "encoding": encoding, "data": {"values": rows}}]
    if isinstance(axis, NumberLine):
        line: Spec = {"mark": {"type": "line", "strokeWidth": 1.8}, "encoding": encoding}
        line |= {"transform": [{"filter": "!datum.is_missing"}], "data": {"values": rows}}
        layers.insert(0, line)
    return layers


def _colour(names: Sequence[str]) -> Spec:
    scale = {"domain": list(names), "range": list(SERIES_COLOURS[: len(names)])}
    legend = {"title": "output"} if len(names) > 1 else None
    return {"field": "output", "type": "nominal", "scale": scale, "legend": legend}


def _strip(importance: FirmImportance, cloud: Array, axis: Axis, across: Spec) -> Spec:
    """Bars of where rows are: by level, or by equal stretches of numbers."""
    bare = {**across, "axis": None}
    up = {"field": "share", "type": "quantitative", "axis": None, "scale": {"zero": True}}
    bar: Spec = {"type": "bar", "color": _CLOUD_COLOUR}
    if isinstance(axis, NumberLine) and not importance.curve.is_by_value:
        rows = _stretches(cloud[~np.isnan(cloud)])
        encoding = {
            "x": {**bare, "field": "start"},
            "x2": {"field": "end"},
            "y": up,
            "y2": {"datum": 0},
        }
    else:
        rows = [
            {"x": axis.position(level), "share": data_number(share)}
            for level, share in zip(
                importance.curve.levels.tolist(), importance.curve.shares.tolist(), strict=True
            )
            if axis.holds(level)
        ]
        bar["width"] = 8
        encoding = {"x": bare, "y": up}
    return {
        "width": PANEL_WIDTH,
        "height": _STRIP,
        "data": {"values": rows},
        "mark": bar,
        "encoding": encoding,
    }


def _stretches(values: Vector) -> list[Spec]:
    counts, edges = np.histogram(values, _STRIP_BINS)
    return [
        {"start": data_number(low), "end": data_number(high), "share": data_number(count)}
        for low, high, count in zip(edges[:-1], edges[1:], counts / len(values), strict=True)
    ]
