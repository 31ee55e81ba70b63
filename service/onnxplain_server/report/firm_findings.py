"""Findings of FIRM: tables of importances, contrasts, and strings of sequences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.firm_pb2 import FirmImportance, FirmOptions, FirmResult, FirmSequencesResult

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.plots.elements.labels import clean, distinguish
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.plots.units.prediction_units import Units
from onnxplain_server.report.finding import Finding, Heading, if_several, truncate


def of_firm(result: FirmResult, units: Units) -> Iterator[Finding]:
    """Write importances, the largest first, other measures, and strings of sequences."""
    if result.HasField("sequences"):
        yield _strings(result, result.sequences)
        return
    yield _importances(result, units)
    yield _contrasts(result)


def _interval(importance: FirmImportance, k: int, values: Matrix) -> tuple[str, str]:
    low, high = (spell_beside(end[k], values) for end in (importance.lower, importance.upper))
    return spell_beside(importance.standard_errors[k], values), f"{low} … {high}"


def _importances(result: FirmResult, units: Units) -> Finding:
    outputs = distinguish(result.output_names)
    ranked = sorted(result.importances, key=lambda i: -np.nansum(np.abs(i.values)))
    shown, left_out = truncate(ranked, len(outputs), "less important ones")
    values = np.array([one.values for one in shown])
    has_interval = result.confidence_level > 0
    rows = [
        (
            clean(one.feature),
            *if_several(outputs, output),
            spell_beside(one.values[k], values),
            *(_interval(one, k, values) if has_interval else ()),
            FirmOptions.Estimator.Name(one.estimator),
        )
        for one in shown
        for k, output in enumerate(outputs)
    ]
    percent = f"{100 * result.confidence_level:.3g} % interval"
    intervals = [Heading("± s.e.", is_number=True), Heading(percent, is_number=True)]
    columns = (
        Heading("feature"),
        *if_several(outputs, Heading("output")),
        Heading(f"importance ({units.of_values(result.output_names)})", is_number=True),
        *(intervals if has_interval else []),
        Heading("estimator"),
    )
    return Finding(
        "Feature importance ranking measure",
        "standard deviation of the expected score given the feature; with a sign where the score "
        "only rises or falls with it",
        "a feature that goes along with others is credited with what they do",
        columns,
        tuple(rows),
        left_out,
    )


def _contrasts(result: FirmResult) -> Finding:
    outputs = distinguish(result.output_names)
    shown, left_out = truncate(result.contrasts, len(outputs), "others")
    rows = [
        (
            FirmOptions.Contrast.Name(one.contrast).replace("_", " ").lower(),
            clean(one.feature),
            *if_several(outputs, outputs[k]),
            spell_beside(value, np.array(one.values)),
        )
        for one in shown
        for k, value in enumerate(one.values)
    ]
    columns = (
        Heading("measure"),
        Heading("feature"),
        *if_several(outputs, Heading("output")),
        Heading("value", is_number=True),
    )
    return Finding(
        "Other measures, for contrast",
        "none of them takes into account that features go along with each other",
        "they compare among themselves only",
        columns,
        tuple(rows),
        left_out,
    )


def _strings(result: FirmResult, sequences: FirmSequencesResult) -> Finding:
    outputs = distinguish(result.output_names)
    shown, left_out = truncate(sequences.top, 1, "less important ones")
    importances = np.array([top.importance for top in shown])
    differences = np.array([top.difference for top in shown])
    rows = [
        (
            clean(top.kmer),
            str(top.position),
            *if_several(outputs, outputs[top.output_index]),
            spell_beside(top.difference, differences),
            spell_beside(top.importance, importances),
        )
        for top in shown
    ]
    columns = (
        Heading("string"),
        Heading("position, from 0", is_number=True),
        *if_several(outputs, Heading("output")),
        Heading("expected score, minus the mean", is_number=True),
        Heading("importance", is_number=True),
    )
    source = "exact" if sequences.is_exact else "from sampled sequences"
    return Finding(
        "Strings that matter most",
        f"{source}; the first number tells what the string does where it is, the second also how "
        "often it is there",
        "numbers are about sequences as the background has them",
        columns,
        tuple(rows),
        left_out,
    )
