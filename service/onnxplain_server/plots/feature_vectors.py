"""Feature vectors: the plane, lengths as bars, similarities, and knockoffs beside features."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxplain_server.arrays import Indices, Matrix
from onnxplain_server.methods.feature_vectors import Result, Source
from onnxplain_server.methods.feature_vectors.reading import arranged, similarity
from onnxplain_server.plots import knockoffs
from onnxplain_server.plots.bars import Lines, Words, draw
from onnxplain_server.plots.chart import Plot, finish, tooltip
from onnxplain_server.plots.plane import circles, labels, lay, spokes
from onnxplain_server.plots.ranking import counts, strongest
from onnxplain_server.plots.style import AREA_SCHEME, PLOT_WIDTH, Spec
from onnxplain_server.plots.words import (
    clean,
    data_number,
    distinguish,
    enumerate_words,
    shorten,
    shorten_inside,
)

_MOST_DOTS = 300
_MOST_LABELS = 20
_MOST_CELLS = 30
"""Features on each side of the heat map."""
_WHOSE = {
    Source.MODEL: "the model's own trees",
    Source.SURROGATE: "a forest grown on the model's predictions",
    Source.LABELS: "a forest grown on the target",
}


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw the plane, the bars and the heat map; the knockoffs where there are any."""
    return tuple(_plots(result))


def _plots(result: Result) -> Iterator[Plot]:
    yield _plane(result)
    yield _bars(result)
    if len(result.important) > 1:
        yield _heat_map(result)
    if result.knockoff_check is not None:
        yield from knockoffs.plots(result.knockoff_check, result.features)


def _longest(result: Result, most: int) -> Indices:
    return np.argsort(-result.norms, kind="stable")[:most]


def _plane(result: Result) -> Plot:
    norms, chosen = result.norms, _longest(result, _MOST_DOTS)
    points = result.embedding.vectors[chosen, :2] / norms.max()
    names = distinguish(result.features[j] for j in chosen)
    plane = lay(points)
    rows = _dots(result, chosen, points, names)
    colour = _colour(result.angles[chosen])
    short = [shorten_inside(name, 24) for name in names]
    dots = {
        "data": {"values": rows},
        "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "clip": True},
        "encoding": {**plane.places, "color": colour, "tooltip": _tooltip(result)},
    }
    order = np.arange(min(_MOST_LABELS, len(names)))
    radii = (0.25, 0.5, 0.75, 1.0)
    layers = [
        circles(plane, radii),
        spokes(rows, plane, colour),
        dots,
        *labels(points, short, plane, order),
    ]
    title = "Feature vectors"
    remarks = _plane_remarks(result, len(chosen))
    description = " ".join(f"{sentence}." for sentence in [title, _finding(result), *remarks])
    return finish(
        "feature-vectors", title, [_finding(result), *remarks], description,
        {**plane.size, "layer": layers},
    )  # fmt: skip


def _dots(result: Result, chosen: Indices, points: Matrix, names: tuple[str, ...]) -> list[Spec]:
    norms, angles = result.norms, result.angles
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


def _colour(angles: Matrix) -> Spec:
    """Colour by angle, on a circle of colours that half a turn goes around where that is enough."""
    reach = 90 if np.nanmax(np.abs(angles), initial=0) <= 90 else 180
    return {
        "field": "angle",
        "type": "quantitative",
        "scale": {"scheme": "sinebow", "domain": [-reach, reach]},
        "legend": {"title": "angle (°)", "values": [-reach, -reach / 2, 0, reach / 2, reach]},
    }


def _finding(result: Result) -> str:
    first, *others = (shorten(clean(result.features[j]), 24) for j in _longest(result, 3))
    return f"{first} is longest, then {enumerate_words(others)}"


def _plane_remarks(result: Result, drawn: int) -> list[str]:
    """Say how to read the picture, and how far to trust it."""
    paths = f"{result.sentence_count:,} paths of {_WHOSE[result.source]}"
    remarks = [
        "Length: importance; direction: features of one direction could stand in for each other",
        f"From {paths}; explained variance: {result.embedding.variance_ratio:.0%}",
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
        lines=None if errors is None else Lines(lengths - errors, lengths + errors),
    )
    title = "Lengths of feature vectors"
    lines = [] if errors is None else ["Lines: ± 1 standard error, over other trees"]
    remarks = [_finding(result), *lines, *counts("feature", bars, 1)]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    body = draw(bars, Words("feature", "length"), "Length, as a share of the longest vector's")
    return finish("feature-vector-lengths", title, remarks, description, body)


def _heat_map(result: Result) -> Plot:
    """Cosines between the longest vectors, those of one direction side by side."""
    important, vectors = result.important, result.embedding.vectors
    kept = important[np.argsort(-result.norms[important], kind="stable")[:_MOST_CELLS]]
    order = arranged(vectors, np.sort(kept))
    names = distinguish(shorten_inside(clean(result.features[j]), 28) for j in order)
    cosines = similarity(vectors[order])
    rows = [
        {"first": names[i], "second": names[j], "cosine": data_number(cosines[i, j])}
        for i in range(len(order))
        for j in range(len(order))
    ]
    title = "Similarity of features"
    remarks = ["Cosine between vectors: 1 where two features could stand in for each other"]
    if len(kept) < len(result.features):
        remarks.append(f"{len(kept)} longest of {len(result.features):,} features")
    description = " ".join(f"{sentence}." for sentence in [title, *remarks, _nearest(result)])
    return finish(
        "feature-vector-similarity", title, [_nearest(result), *remarks], description,
        _cells(rows, list(names), float(cosines.min())),
    )  # fmt: skip


def _cells(rows: list[Spec], names: list[str], lowest: float) -> Spec:
    side = max(12, min(32, PLOT_WIDTH // len(names)))

    def axis(field: str, angle: int) -> Spec:
        look = {"title": None, "labelAngle": angle, "domain": False, "ticks": False}
        return {"field": field, "type": "nominal", "sort": names, "axis": look}

    scale = {"scheme": AREA_SCHEME, "domain": [data_number(min(lowest, 0.9)), 1]}
    return {
        "data": {"values": rows},
        "width": {"step": side},
        "height": {"step": side},
        "mark": "rect",
        "encoding": {
            "x": axis("first", -45),
            "y": axis("second", 0),
            "color": {
                "field": "cosine",
                "type": "quantitative",
                "scale": scale,
                "legend": {"title": "cosine", "format": ".2~f"},
            },
            "tooltip": tooltip(
                ("first", "feature", ""),
                ("second", "other feature", ""),
                ("cosine", "cosine", ".3f"),
            ),
        },
    }


def _nearest(result: Result) -> str:
    """Name the two features that are nearest in direction."""
    pairs = [
        (degrees[0], j, positions[0])
        for j, (positions, degrees) in enumerate(result.nearest)
        if len(positions)
    ]
    if not pairs:
        return "Angles between vectors"
    apart, first, second = min(pairs)
    names = [shorten(clean(result.features[j]), 24) for j in (first, second)]
    return f"{names[0]} and {names[1]} are nearest: {apart:.1f}° apart"
