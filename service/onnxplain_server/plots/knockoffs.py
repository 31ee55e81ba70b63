"""Plots of knockoffs: features with their knockoffs in the plane, and the test of their angles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.methods.feature_vectors.knockoff_test import KnockoffCheck
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import distinguish, shorten_apart
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.plane import PlaneExtent, circles, extent_of, labels
from onnxplain_server.plots.elements.style import (
    PLAIN_COLOUR,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    SERIES_COLOURS,
    Spec,
)

_KINDS = ("feature", "knockoff")
_MAX_FEATURES = 100
_MAX_LABELS = 12


def plots(check: KnockoffCheck, features: Sequence[str]) -> tuple[Plot, Plot]:
    """Draw pairs in the plane, and their mean angle among those of random pairings."""
    return _pairs(check, features), _permutations(check)


def _pairs(check: KnockoffCheck, features: Sequence[str]) -> Plot:
    longest = np.argsort(-check.norms, kind="stable")[:_MAX_FEATURES]
    scale = max(check.norms.max(), check.knockoff_norms.max())
    own = check.vectors[longest, :2] / scale
    knockoffs = check.knockoff_vectors[longest, :2] / scale
    points = np.vstack([own, knockoffs])
    names = distinguish(features[j] for j in longest)
    plane = extent_of(points)
    rows = [
        {
            "feature": names[place % len(names)],
            "kind": _KINDS[place // len(names)],
            "x": data_number(point[0]),
            "y": data_number(point[1]),
            "length": data_number(float(np.hypot(*point))),
        }
        for place, point in enumerate(points)
    ]
    short = shorten_apart(names, 42)
    layers = [
        circles(plane, (0.25, 0.5, 0.75, 1.0)),
        _links(rows, plane),
        _dots(rows, plane),
        *labels(points, short, plane, np.arange(min(_MAX_LABELS, len(names))))[0],
    ]
    longer = int((check.norms > check.knockoff_norms).sum())
    remarks = [
        f"{check.mean_angle_degrees:.1f}° apart on average, p = {check.p_value:.2g}",
        "Knockoffs have the direction of their features, and are shorter where these matter",
        f"{longer} of {len(features)} features are longer than their knockoffs",
    ]
    title = "Features and their knockoffs"
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    body = {**plane.size, "layer": layers}
    return finish("feature-vector-knockoffs", title, remarks, description, body, keepsSize=True)


def _links(rows: list[Spec], plane: PlaneExtent) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "color": "#9aa0a6", "strokeWidth": 1, "clip": True},
        "encoding": {**plane.positions, "detail": {"field": "feature"}},
    }


def _dots(rows: list[Spec], plane: PlaneExtent) -> Spec:
    kinds = list(_KINDS)
    kind: Spec = {"field": "kind", "type": "nominal", "sort": kinds, "title": None}
    return {
        "data": {"values": rows},
        "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "clip": True},
        "encoding": {
            **plane.positions,
            "shape": {**kind, "scale": {"domain": kinds, "range": ["circle", "square"]}},
            "color": {**kind, "scale": {"domain": kinds, "range": list(SERIES_COLOURS[:2])}},
            "tooltip": tooltip(
                ("feature", "feature", ""), ("kind", "kind", ""), ("length", "length", ".3f")
            ),
        },
    }


def _permutations(check: KnockoffCheck) -> Plot:
    counts, borders = check.histogram()
    rows = [
        {"low": data_number(low), "high": data_number(high), "pairings": int(count)}
        for low, high, count in zip(borders[:-1], borders[1:], counts, strict=True)
    ]
    x: Spec = {
        "field": "low",
        "type": "quantitative",
        "scale": {"zero": False},
        "axis": {"title": "Mean angle between paired features (°)"},
    }
    y: Spec = {"field": "pairings", "type": "quantitative", "axis": {"title": "Random pairings"}}
    bars: Spec = {
        "data": {"values": rows},
        "mark": {"type": "bar", "color": PLAIN_COLOUR},
        "encoding": {
            "x": {**x, "bin": {"binned": True}},
            "x2": {"field": "high"},
            "y": y,
            "tooltip": tooltip(
                ("low", "from (°)", ".2f"), ("high", "to (°)", ".2f"), ("pairings", "pairings", ",")
            ),
        },
    }
    line: Spec = {
        "data": {"values": [{"low": data_number(check.mean_angle_degrees)}]},
        "mark": {"type": "rule", "color": SERIES_COLOURS[5], "strokeWidth": 2},
        "encoding": {"x": x},
    }
    title = "Are knockoffs nearer than chance?"
    chance = check.permuted_mean_angles_degrees.mean()
    remarks = [
        f"Knockoffs: {check.mean_angle_degrees:.1f}° apart (line); chance: {chance:.1f}° (bars)",
        f"p = {check.p_value:.2g}: share of random pairings with as small a mean",
    ]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    body = {"width": PLOT_WIDTH, "height": PLOT_HEIGHT, "layer": [bars, line]}
    return finish("feature-vector-permutations", title, remarks, description, body)
