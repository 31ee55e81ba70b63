"""Findings on curves of single rows: how much they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationCurves,
    IndividualConditionalExpectationResult,
)

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.elements.selection import ascending
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.finding import (
    Finding,
    Heading,
    if_several,
    joined,
    truncate,
)


def of_individual(
    result: IndividualConditionalExpectationResult, units: Units
) -> Iterator[Finding]:
    """Write how much the curves of single rows change."""
    outputs = distinguish(result.output_names)
    grouped = any(any(curves.groups) for curves in result.curves)
    columns = (
        Heading("feature"),
        *([Heading("group")] if grouped else []),
        *if_several(outputs, Heading("output")),
        Heading("rows", is_number=True),
        Heading(f"typical change ({units.of_values(outputs)})", is_number=True),
        Heading("largest change", is_number=True),
        Heading("in row", is_number=True),
    )
    with np.errstate(over="ignore"):
        sizes = [-float(row_changes(c, outputs).sum(axis=1).mean()) for c in result.curves]
    ranked = [result.curves[place] for place in np.argsort(sizes, kind="stable")]
    rows = [row for curves in ranked for row in _individual(curves, outputs)]
    shown, left_out = truncate(rows, 1, "further rows")
    yield Finding(
        "Change along the curves of single rows",
        "change = highest less lowest prediction as the feature moves, or those named together "
        "move, and the row stays as it is; "
        "typical = median over rows",
        "values that a row cannot have are tried too; rows are counted from 0",
        columns,
        tuple(shown),
        left_out,
    )


def _individual(
    curves: IndividualConditionalExpectationCurves, outputs: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    changes = row_changes(curves, outputs)
    groups = list(dict.fromkeys(curves.groups))
    for group in (groups[i] for i in ascending(groups)):
        rows = np.flatnonzero([label == group for label in curves.groups])
        for column, output in enumerate(outputs):
            group_changes = changes[rows, column]
            largest = int(np.argmax(group_changes))
            yield (
                joined(curves.features or [curves.feature], " and "),
                *([clean(group)] if group else []),
                *if_several(outputs, output),
                f"{len(rows):,}",
                spell_beside(_median(group_changes), changes),
                spell_beside(float(group_changes[largest]), changes),
                f"{curves.row_indices[rows[largest]]:,}",
            )


def _median(values: Vector) -> float:
    with np.errstate(over="ignore"):
        return float(np.median(values))


def row_changes(curves: IndividualConditionalExpectationCurves, outputs: Sequence[str]) -> Matrix:
    """Return highest minus lowest value of each curve: (n_rows, n_outputs)."""
    shape = (len(curves.row_indices), -1, len(outputs))
    with np.errstate(over="ignore"):
        changes: Matrix = np.ptp(np.array(curves.values).reshape(shape), axis=1)
    return changes
