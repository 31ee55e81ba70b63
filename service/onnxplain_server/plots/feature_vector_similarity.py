"""Heat map of the similarities of feature vectors, and how far the vectors are to be trusted."""

from __future__ import annotations

import numpy as np

from onnxplain_server.core.number_texts import between_zero_and_one, share_text
from onnxplain_server.methods.feature_vectors import Result
from onnxplain_server.methods.feature_vectors.interchange import similarity_order
from onnxplain_server.methods.feature_vectors.result import (
    FAITHFUL,
    is_coarse,
    is_ill_determined,
)
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import enumerate_words, short_names
from onnxplain_server.plots.elements.number_formats import data_number
from onnxplain_server.plots.elements.style import PLOT_WIDTH, Spec

_METHOD = "feature_vectors"
_MAX_CELLS = 30
"""Largest number of features on each side of the heat map."""
_MAX_PAIRS = 3
_MAX_SIDE = 64  # pixels of a cell
_LARGE_ANGLE_ERROR = 5.0
"""Standard error of angles in degrees, above which they are marked as of low trust."""
_DIVERGING = ("#0072B2", "#f1f3f4", "#D55E00")
_SIMILARITY: Spec = {
    "field": "similarity",
    "type": "quantitative",
    "scale": {"domain": [-1, 0, 1], "range": list(_DIVERGING), "interpolate": "rgb"},
    "legend": {
        "title": "adjusted similarity",
        "format": ".2~f",
        "values": [-1, -0.5, 0, 0.5, 1],
    },
}


def heat_map(result: Result) -> Plot:
    """Draw adjusted similarities of the longest vectors, similar features side by side."""
    interchange = result.interchange
    longest = np.argsort(-result.norms[interchange.features], kind="stable")[:_MAX_CELLS]
    places = np.sort(longest)
    places = places[similarity_order(interchange.similarity[np.ix_(places, places)])]
    order = interchange.features[places]
    names = tuple(short_names((result.features[j] for j in order), 42).values())
    cells = interchange.similarity[np.ix_(places, places)]
    interchangeable = {(pair.first, pair.second) for pair in result.interchangeable}
    rows = [
        {
            "first": names[i],
            "second": names[j],
            "similarity": data_number(cells[i, j]),
            "told": (min(order[i], order[j]), max(order[i], order[j])) in interchangeable,
        }
        for i in range(len(order))
        for j in range(len(order))
        if np.isfinite(cells[i, j])
    ]
    title = "Adjusted similarity of features"
    remarks = [
        _interchangeable(result),
        "Cosine between counts after what independence gives is taken off, on all dimensions",
        "1 for the same neighbours on paths, about 0 for nothing in common",
        trust(result),
    ]
    if len(order) < len(result.features):
        remarks.append(f"{len(order)} longest of {len(result.features):,} features")
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    return finish(
        "feature-vector-similarity", title, remarks, description, _cells(rows, list(names))
    )


def _cells(rows: list[Spec], names: list[str]) -> Spec:
    side = max(12, min(_MAX_SIDE, PLOT_WIDTH // len(names)))

    def axis(field: str, angle: int) -> Spec:
        style = {
            "title": None,
            "labelAngle": angle,
            "labelLimit": 0,
            "domain": False,
            "ticks": False,
        }
        scale = {"domain": names}
        return {"field": field, "type": "nominal", "sort": names, "axis": style, "scale": scale}

    positions = {"x": axis("first", -45), "y": axis("second", 0)}
    description = tooltip(
        ("first", "feature", ""),
        ("second", "other feature", ""),
        ("similarity", "adjusted similarity", ".3f"),
    )
    marks = {"type": "point", "filled": True, "shape": "circle", "size": 40, "color": "black"}
    return {
        "data": {"values": rows},
        "width": {"step": side},
        "height": {"step": side},
        "layer": [
            {
                "mark": "rect",
                "encoding": {**positions, "color": _SIMILARITY, "tooltip": description},
            },
            {
                "transform": [{"filter": "datum.told"}],
                "mark": marks,
                "encoding": {**positions, "tooltip": description},
            },
        ],
    }


def _interchangeable(result: Result) -> str:
    """Return a remark on interchangeable pairs, or on their absence."""
    if result.no_pairs_reason:
        return f"No features are told to stand in for each other: {result.no_pairs_reason}"
    if doubts := withheld(result):
        return f"Dots: similar features; none is told to stand in for another, {doubts}"
    pairs = result.interchangeable
    if not pairs:
        return "No two features are shown to stand in for each other"
    names = [(result.features[pair.first], result.features[pair.second]) for pair in pairs]
    texts = [" and ".join(short_names(both, 24).values()) for both in names[:_MAX_PAIRS]]
    more = f"; and {len(pairs) - _MAX_PAIRS} more" if len(pairs) > _MAX_PAIRS else ""
    return f"Could stand in for each other (dots): {'; '.join(texts)}{more}"


def withheld(result: Result) -> str:
    """Say why nothing is named, as in the summary of a report; empty where all is."""
    silent = [n.code for n in result.notes if _METHOD in n.warning.value.silences]
    noun = "warnings" if len(silent) > 1 else "warning"
    return f"because of the {noun} {enumerate_words(silent)}" if silent else ""


def trust(result: Result) -> str:
    """Return the diagnostics of the vectors; poor ones are marked as of low trust."""
    embedding, spread = result.embedding, result.stability
    parts = [
        ("explained variance", share_text(embedding.variance_ratio), is_coarse(embedding)),
    ]
    if np.isfinite(embedding.gap):
        parts.append(("singular gap", f"{embedding.gap:.2f}", is_ill_determined(embedding)))
    if result.fit is not None:
        fidelity = result.fit.fidelity
        told = between_zero_and_one(fidelity, f"{fidelity:.2f}")
        parts.append(("fidelity of the forest", told, fidelity < FAITHFUL))
    if spread is not None:
        errors = spread.angle_standard_errors_degrees[result.important]
        median = float(np.median(errors[np.isfinite(errors)])) if len(errors) else 0.0
        parts.append(("standard error of angles", f"{median:.1f}°", median > _LARGE_ANGLE_ERROR))
    texts = [f"{name} {value}{' (low trust)' * is_poor}" for name, value, is_poor in parts]
    joined = ", ".join(texts)
    return joined[0].upper() + joined[1:]
