"""Plots of feature vectors: the plane, lengths as bars, similarities, and knockoffs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix
from onnxplain_server.methods.feature_vectors import PathSource, Result
from onnxplain_server.plots import feature_vector_similarity as similarity
from onnxplain_server.plots import knockoffs
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import (
    distinguish,
    enumerate_words,
    short_names,
    shorten_apart,
)
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.plane import (
    PlaneExtent,
    circles,
    extent_of,
    labels,
    outline,
    spokes,
)
from onnxplain_server.plots.elements.style import (
    MISSING_COLOUR,
    MOST_SERIES,
    SERIES_COLOURS,
    Spec,
)
from onnxplain_server.plots.marks.bars import BarTitles, ErrorBars, draw
from onnxplain_server.plots.marks.ranking import counts, strongest

_ZOOM: Spec = {"select": "interval", "bind": "scales"}
_MAX_DOTS = 300
_LABEL_LENGTH = 42  # characters
_CROWDED_SHARE = 0.6
"""Share of the vectors without a name that the enlarged part holds, those closest together."""
_FEWEST_IN_KNOT = 3
"""Vectors without a name, from which their part of the plane is enlarged."""
_MAX_LABELS = 20
_FORESTS = {
    PathSource.MODEL: "the model's own trees",
    PathSource.SURROGATE: "a forest grown on the model's predictions",
    PathSource.LABELS: "a forest grown on the target",
}


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the plane, the bars and the heat map, and knockoffs if there are any."""
    return tuple(_plots(result))


def _plots(result: Result) -> Iterator[Plot]:
    yield _plane(result)
    yield _bars(result)
    if len(result.important) > 1:
        yield similarity.heat_map(result)
    if result.knockoff_check is not None:
        yield from knockoffs.plots(result.knockoff_check, result.features)


def _longest(result: Result, limit: int) -> Indices:
    return np.argsort(-result.norms, kind="stable")[:limit]


def _plane(result: Result) -> Plot:
    norms, chosen = result.norms, _longest(result, _MAX_DOTS)
    points = result.embedding.vectors[chosen, :2] / norms.max()
    names = distinguish(result.features[j] for j in chosen)
    plane = extent_of(points)
    rows = _dots(result, chosen, points, names)
    colour = _colour(result, chosen)
    short = shorten_apart(names, _LABEL_LENGTH)
    order = np.arange(min(_MAX_LABELS, len(names)))
    named, unnamed = labels(points, short, plane, order)
    layers = [*_drawn(result, rows, plane, colour, "zoom"), *named]
    title = "Feature vectors"
    remarks = [_finding(result), *_plane_remarks(result, len(chosen))]
    if len(unnamed) >= _FEWEST_IN_KNOT:
        knot, bounds = _knot(result, rows, points, short, unnamed, colour)
        layers.append(outline(plane, bounds))
        remarks.append("Frame: vectors whose names do not fit, enlarged below")
        body: Spec = {"vconcat": [{**plane.size, "layer": layers}, knot], "spacing": 24}
    else:
        body = {**plane.size, "layer": layers}
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish("feature-vectors", title, remarks, description, body, keepsSize=True)


def _drawn(
    result: Result,
    rows: list[Spec],
    plane: PlaneExtent,
    colour: Spec,
    name: str | None = None,
) -> list[Spec]:
    """Draw circles, and the vectors with their dots; with the name of a zoom, if it has one."""
    dots = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "clip": True},
        "encoding": {**plane.positions, **colour, "tooltip": _tooltip(result)},
    }
    zoom = {} if name is None else {"params": [{**_ZOOM, "name": name}]}
    return [circles(plane, (0.25, 0.5, 0.75, 1.0)), spokes(rows, plane, colour), {**zoom, **dots}]


def _knot(  # noqa: PLR0917 - an enlarged part shows all that the whole does
    result: Result,
    rows: list[Spec],
    points: Matrix,
    names: Sequence[str],
    unnamed: Indices,
    colour: Spec,
) -> tuple[Spec, PlaneExtent]:
    """Enlarge the part of the plane with vectors whose names have no room; with its extent."""
    far = np.linalg.norm(points[unnamed] - np.median(points[unnamed], axis=0), axis=1)
    crowded = points[unnamed][far <= np.quantile(far, _CROWDED_SHARE)]
    plane = extent_of(crowded, with_origin=False)
    is_inside = [plane.holds(point) for point in points]
    inside = [row for row, is_in in zip(rows, is_inside, strict=True) if is_in]
    order = np.flatnonzero(is_inside)
    named, _ = labels(points, names, plane, order)
    return {**plane.size, "layer": [*_drawn(result, inside, plane, colour), *named]}, plane


def _dots(result: Result, chosen: Indices, points: Matrix, names: tuple[str, ...]) -> list[Spec]:
    norms, angles = result.norms, result.angles
    counted = Counter(group for group in result.groups[chosen].tolist() if group)
    largest = {group for group, _ in counted.most_common(MOST_SERIES - 1)}
    rows = []
    for place, j in enumerate(chosen):
        row = {
            "feature": names[place],
            "x": data_number(points[place, 0]),
            "y": data_number(points[place, 1]),
            "length": data_number(norms[j] / norms.max()),
            "count": data_number(norms[j]),
            "angle": data_number(angles[j]) if np.isfinite(angles[j]) else None,
            "group": str(result.groups[j]) if result.groups[j] else "none",
        }
        row["shown"] = row["group"] if result.groups[j] in largest else "none"
        if result.stability is not None:
            error = result.stability.angle_standard_errors_degrees[j]
            row["error"] = data_number(error) if np.isfinite(error) else None
        rows.append(row)
    return rows


def _tooltip(result: Result) -> list[Spec]:
    error = [("error", "standard error of the angle", ".1f")] if result.stability else []
    return tooltip(
        ("feature", "feature", ""),
        ("length", "length, share of the longest", ".3f"),
        ("count", "length, in counts", ",.0f"),
        ("angle", "angle in degrees", ".1f"),
        *error,
        ("group", "group", ""),
    )


def _colour(result: Result, chosen: Indices) -> Spec:
    """Colour by group, the largest first; nothing where there is none to tell apart."""
    groups = [group for group in result.groups[chosen].tolist() if group]
    counts = Counter(groups).most_common(MOST_SERIES - 1)
    if len(counts) < 2:
        return {}
    names = [str(group) for group, _ in counts]
    scale = {
        "domain": [*names, "none"],
        "range": [*SERIES_COLOURS[: len(names)], MISSING_COLOUR],
    }
    legend = {"title": "direction", "symbolOpacity": 1}
    return {"color": {"field": "shown", "type": "nominal", "scale": scale, "legend": legend}}


def _finding(result: Result) -> str:
    if doubts := similarity.withheld(result):
        return f"No vector is told to be longest, {doubts}"
    longest = [result.features[j] for j in _longest(result, 3)]
    first, *others = short_names(longest, 24).values()
    return f"{first} is longest, then {enumerate_words(others)}"


def _plane_remarks(result: Result, drawn: int) -> list[str]:
    """Return remarks on how to read the plane, and how far to trust it."""
    remarks = [
        "Length: importance; direction: with which other features it is combined",
        "Independent features may share a direction: it does not show what could stand in for what",
        f"From {result.sentence_count:,} paths of {_FORESTS[result.source]}",
        similarity.trust(result),
    ]
    if drawn < len(result.features):
        remarks.append(f"{drawn} longest of {len(result.features):,} features")
    return remarks


def _bars(result: Result) -> Plot:
    norms = result.norms
    lengths = norms[:, None] / norms.max()
    errors = None
    if result.stability is not None:
        errors = result.stability.norm_standard_errors[:, None] / norms.max()
    bars = strongest(
        [(name,) for name in result.features],
        lengths,
        ("length",),
        errors=None if errors is None else ErrorBars(lengths - errors, lengths + errors),
    )
    title = "Lengths of feature vectors"
    error_remarks = [] if errors is None else ["Lines: ± 1 standard error, over other trees"]
    remarks = [_finding(result), *error_remarks, *counts("feature", bars, 1)]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    body = draw(bars, BarTitles("feature", "length"), "Length, as a share of the longest vector's")
    return finish("feature-vector-lengths", title, remarks, description, body)


# Its outputs have no names in plots.
DRAWING = Drawing(plots=plots, named=lambda result, _naming: result)
