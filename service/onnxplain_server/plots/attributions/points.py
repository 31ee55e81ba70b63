"""Values of all rows explained as points, coloured by the feature's value: a beeswarm plot."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.scatter import (
    layers,
    offsets,
    ranks_of,
    spread_rows,
)
from onnxplain_server.plots.attributions.words import own_values, result_kind
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, identifiers, shorten
from onnxplain_server.plots.elements.number_formats import data_number, drawable, share_format
from onnxplain_server.plots.elements.style import AREA_SCHEME, PLOT_WIDTH, Spec
from onnxplain_server.plots.marks.bars import labels_of
from onnxplain_server.plots.marks.ranking import strongest_outputs
from onnxplain_server.plots.units.prediction_units import value_unit

_MOST_POINTS = 200
"""Rows of one plot, evenly spaced among those explained."""
_MOST_FEATURES = 10
_MOST_OUTPUTS = 3
_STEP = 30  # pixels of a feature


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw one plot for each of the first outputs: "attributions-points-price"."""
    outputs = strongest_outputs(np.abs(drawable(result.values)).mean(axis=0))[:_MOST_OUTPUTS]
    names = identifiers(f"attributions-points-{result.output_names[k]}" for k in outputs)
    drawn = (_draw(result, int(k), name) for k, name in zip(outputs, names, strict=True))
    return tuple(plot for plot in drawn if plot is not None)


def _draw(result: Result, output: int, name: str) -> Plot | None:
    values = drawable(result.values[:, :, output])
    rows = spread_rows(len(values), _MOST_POINTS)
    rows = rows[np.isfinite(values[rows]).all(axis=1)]
    sizes = np.abs(values[rows]).mean(axis=0) if len(rows) else np.zeros(values.shape[1])
    players = [int(p) for p in np.argsort(-sizes, kind="stable")[:_MOST_FEATURES]]
    if not len(rows):
        return None
    labels = labels_of([result.features[p] for p in players], " + ")
    points = [
        point
        for label, player in zip(labels, players, strict=True)
        for point in _points(result, player, label, rows, values[:, player])
    ]
    shown = shorten(clean(result.output_names[output]))
    title = f"{result_kind(result)} of {shown} by row"
    remarks = [f"A point is a row: {len(rows):,} of {len(values):,} rows explained"]
    if any(point["rank"] is not None for point in points):
        remarks.append("Colour: the feature's value, from its lowest to its highest rank")
    if any(point["rank"] is None for point in points):
        remarks.append("Grey: text, a missing value, or several features")
    if len(players) < len(sizes):
        remarks.append(f"{len(players)} features with the largest values of {len(sizes)}")
    found = f"{title}: of the points shown, {labels[0]} has the largest mean size"
    description = " ".join(f"{sentence}." for sentence in [found, *remarks])
    kind = "row" if len(result.row_indices) else "given row"
    body = _body(points, labels, kind, value_unit(result.output_names))
    return finish(name, title, remarks, description, body)


def _points(result: Result, player: int, label: str, rows: Array, values: Vector) -> list[Spec]:
    """Return the points of a player; one that is a group has no colour."""
    names = result.features[player]
    own = result.feature_values[result.names.index(names[0])][rows] if len(names) == 1 else None
    aside = offsets(values[rows], float(np.ptp(values[rows])))
    texts = [""] * len(rows) if own is None else own_values(own)
    unknown = np.full(len(rows), np.nan)
    ranks = unknown if own is None else ranks_of(own)
    return [
        {
            "label": label,
            "row": int(result.row_indices[row]) if len(result.row_indices) else int(row),
            "value": data_number(float(values[row])),
            "offset": data_number(float(offset)),
            "own": text,
            "rank": None if np.isnan(rank) else data_number(float(rank), -6),
        }
        for row, offset, text, rank in zip(rows, aside, texts, ranks, strict=True)
    ]


def _body(points: list[Spec], labels: tuple[str, ...], kind: str, unit: str) -> Spec:
    values = np.array([point["value"] for point in points])
    fields = (
        ("row", kind, ""),
        ("label", "feature", ""),
        ("own", "its value", ""),
        ("value", "part in the prediction", share_format(values)),
    )
    zero: Spec = {
        "data": {"values": [{"at": 0}]},
        "mark": {"type": "rule", "color": "#9aa0a6"},
        "encoding": {"x": {"field": "at", "type": "quantitative"}},
    }
    axis = {"title": f"Part in the prediction ({unit})"}
    encoding = {
        **_places(labels),
        "x": {"field": "value", "type": "quantitative", "axis": axis},
        "tooltip": tooltip(*fields),
    }
    return {
        "data": {"values": points},
        "width": PLOT_WIDTH,
        "height": {"step": _STEP},
        "layer": [zero, *layers(points, encoding, _colour())],
    }


def _places(labels: tuple[str, ...]) -> Spec:
    """Place points in the band of their feature."""
    axis = {"title": None, "domain": False, "ticks": False, "labelLimit": 0}
    scale = {"domain": [-1.6, 1.6]}
    return {
        "y": {"field": "label", "type": "nominal", "sort": list(labels), "axis": axis},
        "yOffset": {"field": "offset", "type": "quantitative", "scale": scale},
    }


def _colour() -> Spec:
    legend = {
        "title": "Feature's value",
        "values": [0, 1],
        "labelExpr": "datum.value == 0 ? 'low' : 'high'",
    }
    scale = {"scheme": AREA_SCHEME, "domain": [0, 1]}
    return {"field": "rank", "type": "quantitative", "scale": scale, "legend": legend}
