"""Curves of the expected score given each feature, over a scatter of rows, under a histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.effects.quantiles import even_histogram
from onnxplain_server.methods.firm import Result
from onnxplain_server.methods.firm.result import ConditionalExpectation, FirmImportance
from onnxplain_server.plots.axes.layout import Axis, in_panel, lay_axis
from onnxplain_server.plots.axes.missing_values import is_missing
from onnxplain_server.plots.axes.number_line import NumberLine, fits_line
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, distinguish, shorten
from onnxplain_server.plots.elements.number_formats import data_number, scale_format
from onnxplain_server.plots.elements.style import (
    NARROWEST_WIDTH,
    PANEL_WIDTH,
    SERIES_COLOURS,
    Spec,
)
from onnxplain_server.plots.units.naming import spoken

_MAX_PANELS = 6
_MAX_COLUMNS = 3
_HEIGHT, _HISTOGRAM_HEIGHT = 170, 34
_MAX_OUTPUTS = 3
_MAX_LEVELS = 12
_BIN_COUNT = 24
_SCATTER_COLOUR = "#9aa0a6"


def plots(result: Result) -> Iterator[Plot]:
    """Draw the most important features; nothing if none has a curve."""
    shown = _strongest(result)
    if not shown:
        return
    outputs = _outputs(result)
    names = distinguish(result.output_names[k] for k in outputs)
    axes = [_axis(result, importance, outputs) for importance in shown]
    panels = [
        _panel(result, importance, axis, outputs, names)
        for importance, (axis, _) in zip(shown, axes, strict=True)
    ]
    remarks = [
        "Lines and dots: expected score given the feature; grey: rows; bars above: where rows are"
    ]
    if len(shown) < len(result.importances):
        remarks.append(f"{len(shown)} most important of {len(result.importances):,} features")
    if len(outputs) < len(result.output_names):
        remarks.append(f"{len(outputs)} of {len(result.output_names)} outputs")
    remarks += [remark for _, left_out in axes for remark in left_out]
    title = f"Expected score of {spoken(names, len(result.output_names))} along each feature"
    sentences = [f"{title}: {', '.join(clean(i.feature) for i in shown)}", *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = {"concat": panels, "columns": min(_MAX_COLUMNS, len(panels)), "spacing": 36}
    yield finish("firm-curves", title, remarks, description, body)


def _strongest(result: Result) -> list[FirmImportance]:
    sizes = [-np.nan_to_num(np.abs(i.values)).sum() for i in result.importances]
    order = np.argsort(sizes, kind="stable").tolist()
    ranked = [result.importances[i] for i in order if result.importances[i].curve.levels.size > 1]
    return [i for i in ranked if i.feature in result.scatter.values][:_MAX_PANELS]


def _outputs(result: Result) -> list[int]:
    """Return the outputs with the largest importances, in their order."""
    sums = np.nansum([np.abs(i.values) for i in result.importances], axis=0)
    outputs: list[int] = np.sort(np.argsort(-sums, kind="stable")[:_MAX_OUTPUTS]).tolist()
    return outputs


def _axis(
    result: Result, importance: FirmImportance, outputs: Sequence[int]
) -> tuple[Axis, list[str]]:
    """Return the axis of a panel, and remarks on the levels that it leaves out."""
    levels = importance.curve.levels
    sample = result.scatter.values[importance.feature]
    values = _axis_values(levels, sample)
    limit = _MAX_LEVELS if levels.dtype == object else len(values)
    effects = importance.curve.expected[:, outputs[-1]] if levels.dtype == object else None
    axis, left_out = lay_axis(importance.feature, values, sample, limit, effects=effects)
    return in_panel(axis), left_out


def _panel(
    result: Result,
    importance: FirmImportance,
    axis: Axis,
    outputs: Sequence[int],
    names: Sequence[str],
) -> Spec:
    sample = result.scatter.values[importance.feature]
    channel = (
        axis.channel(to_edges=False)
        if isinstance(axis, NumberLine)
        else axis.channel(width=NARROWEST_WIDTH)
    )
    x = {"field": "x", **channel}
    main = {
        "width": PANEL_WIDTH,
        "height": _HEIGHT,
        "layer": [
            _scatter(result, sample, axis, outputs, x),
            *_curve(importance, axis, outputs, names, x),
        ],
    }
    return {"vconcat": [_histogram(importance, sample, axis, x), main], "spacing": 4}


def _axis_values(levels: Array, sample: Array) -> Array:
    """Return the values that the axis must hold: levels of text, or numbers of curve and rows."""
    if levels.dtype == object:
        return levels
    values = np.unique(np.concatenate([levels, sample]))
    finite = values[np.isfinite(values)]
    return values if not finite.size or fits_line(finite) else levels


def _scatter(result: Result, sample: Array, axis: Axis, outputs: Sequence[int], x: Spec) -> Spec:
    scores = result.scatter.scores[:, outputs[0]]
    rows = [
        {"x": axis.position(value), "score": data_number(score)}
        for value, score in zip(sample.tolist(), scores.tolist(), strict=True)
        if axis.holds(value)
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "circle", "size": 9, "color": _SCATTER_COLOUR, "opacity": 0.45},
        "encoding": {"x": x, "y": _score_axis(result, outputs)},
    }


def _score_axis(result: Result, outputs: Sequence[int]) -> Spec:
    title = shorten(clean(result.output_names[outputs[0]]), 24) if len(outputs) == 1 else "score"
    return {
        "field": "score",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"title": title, "tickCount": 5},
    }


def _curve(
    importance: FirmImportance,
    axis: Axis,
    outputs: Sequence[int],
    names: Sequence[str],
    x: Spec,
) -> list[Spec]:
    """Draw a line with dots for each output; text and missing values have dots only."""
    rows = _curve_rows(importance.curve, axis, outputs, names)
    scores = np.array([row["score"] for row in rows])
    encoding: Spec = {
        "x": x,
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


def _curve_rows(
    curve: ConditionalExpectation, axis: Axis, outputs: Sequence[int], names: Sequence[str]
) -> list[Spec]:
    return [
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


def _colour(names: Sequence[str]) -> Spec:
    scale = {"domain": list(names), "range": list(SERIES_COLOURS[: len(names)])}
    legend = {"title": "output"} if len(names) > 1 else None
    return {"field": "output", "type": "nominal", "scale": scale, "legend": legend}


def _histogram(importance: FirmImportance, sample: Array, axis: Axis, x: Spec) -> Spec:
    """Draw the distribution of rows: by level, or by bins of equal width."""
    x = {**x, "axis": None}
    y = {"field": "share", "type": "quantitative", "axis": None, "scale": {"zero": True}}
    bar: Spec = {"type": "bar", "color": _SCATTER_COLOUR}
    if isinstance(axis, NumberLine) and not importance.curve.is_by_value:
        rows = _bins(sample[~np.isnan(sample)])
        encoding = {
            "x": {**x, "field": "start"},
            "x2": {"field": "end"},
            "y": y,
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
        encoding = {"x": x, "y": y}
    return {
        "width": PANEL_WIDTH,
        "height": _HISTOGRAM_HEIGHT,
        "data": {"values": rows},
        "mark": bar,
        "encoding": encoding,
    }


def _bins(values: Vector) -> list[Spec]:
    counts, edges = even_histogram(values, _BIN_COUNT)
    return [
        {"start": data_number(low), "end": data_number(high), "share": data_number(count)}
        for low, high, count in zip(edges[:-1], edges[1:], counts / len(values), strict=True)
    ]
