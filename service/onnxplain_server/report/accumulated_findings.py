"""Findings on accumulated local effects: a table of the lowest and highest point of each curve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.accumulated_local_effects_pb2 import AccumulatedLocalEffectsResult

from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.number_formats import spell_whole
from onnxplain_server.report.effect_findings import curve_extremes, grid_point
from onnxplain_server.report.finding import (
    Finding,
    Heading,
    if_several,
    joined,
    number,
    truncate,
    unit,
)


def of_accumulated(result: AccumulatedLocalEffectsResult) -> Iterator[Finding]:
    """Write the lowest and highest point of each curve, and the weight of the rows behind it."""
    outputs = distinguish(result.output_names)
    grouped = any(curve.group for curve in result.curves)
    shown, left_out = truncate(result.curves, len(outputs), "further curves")
    rows = []
    for curve in shown:
        values = np.array(curve.values).reshape(-1, len(outputs))
        for column, output in enumerate(outputs):
            own = values[:, column]
            low, high = curve_extremes(curve, own)
            rows.append(
                (
                    joined(curve.features),
                    *([clean(curve.group)] if grouped else []),
                    *if_several(outputs, output),
                    number(own[low], own),
                    grid_point(curve, low),
                    number(own[high], own),
                    grid_point(curve, high),
                    spell_whole(curve.weight),
                )
            )
    columns = (
        Heading("features"),
        *([Heading("group")] if grouped else []),
        *if_several(outputs, Heading("output")),
        Heading(f"lowest ({unit(outputs)})", is_number=True),
        Heading("at"),
        Heading("highest", is_number=True),
        Heading("at"),
        Heading("rows", is_number=True),
    )
    yield Finding(
        "Accumulated local effects",
        "small moves of a feature, of rows that have about this value, added up along it; 0 is "
        "the mean over the rows; rows by their weight, without those that miss the feature",
        "moves along a curve are those of different rows: no row goes all the way",
        columns,
        tuple(rows),
        left_out,
    )
