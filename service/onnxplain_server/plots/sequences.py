"""Plots of FIRM on sequences: motifs along positions, and heat maps of strings by position."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.methods.sequences import Result
from onnxplain_server.methods.sequences.kmers import text_of
from onnxplain_server.methods.sequences.result import Kmers, MismatchClass, Motif
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot, finish, tooltip
from onnxplain_server.plots.elements.labels import clean, identifiers, shorten
from onnxplain_server.plots.elements.number_formats import data_number, share_format
from onnxplain_server.plots.elements.style import PLOT_WIDTH, SERIES_COLOURS, Spec
from onnxplain_server.plots.firm.squares import DIVERGING
from onnxplain_server.plots.units.naming import spoken

_MAX_STRINGS = 20
_MAX_MISMATCHES = 2
_HEIGHT = 260
_COLOURS = (SERIES_COLOURS[5], SERIES_COLOURS[3], SERIES_COLOURS[0])
_BAND_COLOUR = "#9aa0a6"


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw each motif, and the strings of one letter and of the most letters."""
    return tuple(_plots(result))


def _plots(result: Result) -> Iterator[Plot]:
    output = int(np.argmax(result.deviations))
    names = identifiers(f"firm-motif-{motif.motif}" for motif in result.motifs)
    for name, motif in zip(names, result.motifs, strict=True):
        yield _motif(result, motif, name, output)
    for kmers in {k.length: k for k in (result.kmers[0], result.kmers[-1])}.values():
        yield _map(result, kmers, output)


def _motif(result: Result, motif: Motif, name: str, output: int) -> Plot:
    """Draw a motif and its mismatches over the band of strings that agree nowhere."""
    irrelevant = motif.mismatch_classes[-1]
    near = [m for m in motif.mismatch_classes[:-1] if m.mismatch_count <= _MAX_MISMATCHES]
    panels = [_lines(near, irrelevant, output, "importance", "Importance (Q)")]
    if irrelevant.weights is not None:
        panels.insert(0, _lines(near, irrelevant, output, "weight", "Raw weight (w)"))
    title = f"{shorten(clean(motif.motif), 30)} along the sequence for {_output(result, output)}"
    peak = int(np.nanargmax(np.abs(near[0].importances[:, output])))
    value = near[0].importances[peak, output]
    remarks = [
        f"{clean(motif.motif)} matters most at position {peak}, with {value:.3g}",
        f"Grey: mean ± 1 SD of {irrelevant.kmer_count:,} strings that agree nowhere",
        *_output_remarks(result, output),
    ]
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    body = {"hconcat": panels, "spacing": 40} if len(panels) > 1 else panels[0]
    return finish(name, title, remarks, description, body)


def _means_and_deviations(mismatches: MismatchClass, kind: str) -> tuple[Matrix, Matrix]:
    weights, deviations = mismatches.weights, mismatches.weight_deviations
    if kind == "importance" or weights is None or deviations is None:
        return mismatches.importances, mismatches.importance_deviations
    return weights, deviations


def _lines(
    near: list[MismatchClass], irrelevant: MismatchClass, output: int, kind: str, title: str
) -> Spec:
    names = [_mismatch_label(m.mismatch_count) for m in near]
    rows = [
        {"position": position, "value": data_number(value), "strings": name}
        for m, name in zip(near, names, strict=True)
        for position, value in enumerate(_means_and_deviations(m, kind)[0][:, output].tolist())
        if np.isfinite(value)
    ]
    x = {
        "field": "position",
        "type": "quantitative",
        "scale": {"nice": False, "zero": False},
        "axis": {"title": "position, from 0", "format": "d", "tickMinStep": 1},
    }
    number_format = share_format(np.array([row["value"] for row in rows] or [0.0]))
    return {
        "width": 400 if kind == "importance" else 300,
        "height": _HEIGHT,
        "layer": [
            _band_layer(_band_rows(irrelevant, output, kind), x, title),
            {
                "data": {"values": rows},
                "mark": {"type": "line", "strokeWidth": 1.8, "point": {"size": 14}},
                "encoding": {
                    "x": x,
                    "y": {"field": "value", "type": "quantitative"},
                    "color": _colour(names),
                    "tooltip": tooltip(
                        ("strings", "strings", ""),
                        ("position", "position", ",.0f"),
                        ("value", title, number_format),
                    ),
                },
            },
        ],
    }


def _colour(names: list[str]) -> Spec:
    return {
        "field": "strings",
        "type": "nominal",
        "scale": {"domain": names, "range": list(_COLOURS[: len(names)])},
        "legend": {"title": None, "orient": "bottom"},
    }


def _band_rows(irrelevant: MismatchClass, output: int, kind: str) -> list[Spec]:
    means, spreads = (values[:, output] for values in _means_and_deviations(irrelevant, kind))
    return [
        {"position": i, "low": data_number(mean - sd), "high": data_number(mean + sd)}
        for i, (mean, sd) in enumerate(zip(means.tolist(), spreads.tolist(), strict=True))
        if np.isfinite(mean)
    ]


def _band_layer(rows: list[Spec], x: Spec, title: str) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "area", "color": _BAND_COLOUR, "opacity": 0.35},
        "encoding": {
            "x": x,
            "y": {"field": "low", "type": "quantitative", "axis": {"title": title}},
            "y2": {"field": "high"},
        },
    }


def _mismatch_label(count: int) -> str:
    return {0: "the motif", 1: "1 mismatch"}.get(count, f"{count} mismatches")


def _map(result: Result, kmers: Kmers, output: int) -> Plot:
    """Draw strings by position: all of one letter, the most important of several letters."""
    importances = kmers.importances[:, :, output]
    sizes = np.nan_to_num(np.abs(importances)).max(axis=1)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_STRINGS])
    texts = [text_of(int(code), kmers.length, result.alphabet) for code in kept]
    rows = [
        {"kmer": text, "position": position, "value": data_number(value)}
        for text, code in zip(texts, kept, strict=True)
        for position, value in enumerate(importances[code].tolist())
        if np.isfinite(value)
    ]
    letters = "1 letter" if kmers.length == 1 else f"{kmers.length} letters"
    title = f"Importance of strings of {letters} by position for {_output(result, output)}"
    code, position = np.unravel_index(int(np.nanargmax(np.abs(importances))), importances.shape)
    strongest = text_of(int(code), kmers.length, result.alphabet)
    remarks = [f"{strongest} at position {position} is strongest"]
    if len(kept) < len(importances):
        remarks.append(f"{len(kept)} strongest of {len(importances):,} strings")
    remarks += _output_remarks(result, output)
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    body = _cells(rows, texts, importances.shape[1])
    return finish(f"firm-kmers-{kmers.length}", title, remarks, description, body)


def _cells(rows: list[Spec], texts: list[str], positions: int) -> Spec:
    values = np.array([row["value"] for row in rows])
    reach = data_number(float(np.abs(values).max(initial=0.0)) or 1.0)
    width = max(2.0, min(80.0, 1.5 * PLOT_WIDTH / positions))
    step = max(1, -(-positions // 15))
    return {
        "data": {"values": rows},
        "width": {"step": width},
        "height": {"step": 18},
        "mark": "rect",
        "encoding": {
            "x": {
                "field": "position",
                "type": "ordinal",
                "axis": {
                    "title": "position, from 0",
                    "values": list(range(0, positions, step)),
                    "labelAngle": 0,
                    "ticks": False,
                },
            },
            "y": {
                "field": "kmer",
                "type": "nominal",
                "sort": texts,
                "axis": {"title": None, "domain": False, "ticks": False},
            },
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": {"domain": [-reach, 0, reach], "range": list(DIVERGING)},
                "legend": {"title": "importance"},
            },
            "tooltip": tooltip(
                ("kmer", "string", ""),
                ("position", "position", ""),
                ("value", "importance", share_format(values)),
            ),
        },
    }


def _output(result: Result, output: int) -> str:
    return spoken([result.output_names[output]], len(result.output_names))


def _output_remarks(result: Result, output: int) -> list[str]:
    """Return remarks on the output that is drawn, and on sampling."""
    remarks = [] if result.is_exact else ["From sampled sequences"]
    if len(result.output_names) == 1:
        return remarks
    name = shorten(clean(result.output_names[output]), 40)
    return [f"Output {name}, the one of {len(result.output_names)} that varies most", *remarks]


DRAWING = Drawing(plots=plots)
