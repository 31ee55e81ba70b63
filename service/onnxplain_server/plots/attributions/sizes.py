"""Mean absolute values of features as bars."""

from __future__ import annotations

import numpy as np

from onnxplain_server.methods.attributions import Result
from onnxplain_server.plots.attributions.words import result_kind
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.marks.bars import BarTitles, ErrorBars, draw
from onnxplain_server.plots.marks.ranking import counts, finding, strongest
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import value_unit


def plots(result: Result) -> tuple[Plot, ...]:
    """Draw one plot, "attributions-size"; none where all rows explained have weight 0."""
    if not np.isfinite(result.mean_absolute_values).any():
        return ()
    values, errors = result.mean_absolute_values, result.mean_absolute_standard_errors
    has_lines = result.are_drawn and bool(np.isfinite(errors).any())
    lines = ErrorBars(values - errors, values + errors) if has_lines else None
    features = result.features
    bars = strongest(features, values, result.output_names, joint=" + ", errors=lines)
    estimated = int(result.are_estimated)
    title = f"{result_kind(result)} of {spoken(bars.outputs, len(result.output_names))}"
    remarks = [
        _counted(result),
        *(["Lines: ± 1 standard error, as of rows that are drawn from many"] * has_lines),
        *(["Values are estimated, which raises the mean sizes of small ones"] * estimated),
        *counts("feature", bars, len(result.output_names)),
    ]
    unit = f"Mean absolute value ({value_unit(result.output_names)})"
    sentences = [f"{title}: {finding(bars)}", *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    body = draw(bars, BarTitles("feature", "mean absolute value"), unit)
    return (finish("attributions-size", title, remarks, description, body),)


def _counted(result: Result) -> str:
    """Tell which rows the mean sizes are over."""
    count = result.weighted_row_count
    left_out = result.explained_row_count - count
    text = f"Mean absolute values of {count:,} row{'s' * (count > 1)}"
    return f"{text}, without {left_out:,} of weight 0" if left_out else text
