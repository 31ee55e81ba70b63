"""Findings on accumulated local effects: lowest and highest point of each curve, and its range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.accumulated_local_effects_pb2 import (
    AccumulatedLocalEffect,
    AccumulatedLocalEffectsResult,
)

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.number_formats import spell_whole
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.effect_findings import curve_extremes, grid_point
from onnxplain_server.report.finding import (
    Finding,
    Heading,
    if_several,
    joined,
    number,
    truncate,
)


def accumulated_ranges(
    curves: Sequence[AccumulatedLocalEffect], output_count: int
) -> tuple[Array, Matrix]:
    """Return the lowest and highest point of each curve, and how far apart they are.

    Returns
    -------
    (n_curves, n_outputs, 2), (n_curves, n_outputs)
        Positions of the points; output unit.
    """
    ends = np.zeros((len(curves), output_count, 2), np.intp)
    ranges = np.zeros((len(curves), output_count))
    for row, curve in enumerate(curves):
        values = np.array(curve.values).reshape(-1, output_count)
        for column, own in enumerate(values.T):
            low, high = curve_extremes(curve, own)
            ends[row, column] = low, high
            ranges[row, column] = own[high] - own[low]
    return ends, ranges


def of_accumulated(result: AccumulatedLocalEffectsResult, units: Units) -> Iterator[Finding]:
    """Write the lowest and highest point of each curve, and the weight of the rows behind it."""
    outputs = distinguish(result.output_names)
    has_groups = any(curve.group for curve in result.curves)
    shown, left_out = truncate(result.curves, len(outputs), "further curves")
    columns = (
        Heading("features"),
        *([Heading("group")] if has_groups else []),
        *if_several(outputs, Heading("output")),
        Heading(f"lowest ({units.of_values(outputs)})", is_number=True),
        Heading("at"),
        Heading("highest", is_number=True),
        Heading("at"),
        Heading("range", is_number=True),
        Heading("rows", is_number=True),
    )
    yield Finding(
        "Accumulated local effects",
        "small moves of a feature, of rows that have about this value, added up along it; 0 is "
        "the mean over the rows; rows by their weight, without those that miss the feature",
        "moves along a curve are those of different rows: no row goes all the way",
        columns,
        tuple(_rows(shown, result.curves, outputs, has_groups=has_groups)),
        left_out,
    )


def _rows(
    shown: Sequence[AccumulatedLocalEffect],
    curves: Sequence[AccumulatedLocalEffect],
    outputs: Sequence[str],
    *,
    has_groups: bool,
) -> Iterator[tuple[str, ...]]:
    """Write a row for each curve and output; ranges as among curves of as many features."""
    ends, ranges = accumulated_ranges(curves, len(outputs))
    orders = np.array([len(curve.features) for curve in curves])
    for row, curve in enumerate(shown):
        values = np.array(curve.values).reshape(-1, len(outputs))
        alike = ranges[orders == len(curve.features)]
        for column, output in enumerate(outputs):
            own, (low, high) = values[:, column], ends[row, column]
            yield (
                joined(curve.features),
                *([clean(curve.group)] if has_groups else []),
                *if_several(outputs, output),
                number(own[low], own),
                grid_point(curve, low),
                number(own[high], own),
                grid_point(curve, high),
                number(ranges[row, column], alike[:, column]),
                spell_whole(curve.weight),
            )
