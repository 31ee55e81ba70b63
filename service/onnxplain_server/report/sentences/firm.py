"""Sentences on FIRM: the feature along which the expected score moves most."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Conclusion, Explanation

from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.plots.elements.number_formats import spell_beside
from onnxplain_server.report.sentences.effects import largest
from onnxplain_server.report.sentences.stable import told_apart
from onnxplain_server.report.sentences.words import few_of, of_output


def of_firm(explanation: Explanation) -> Iterator[str]:
    """Name the feature along which the expected score moves most."""
    result = explanation.firm
    outputs = list(result.output_names)
    if not result.importances:
        return
    values = np.abs(np.array([importance.values for importance in result.importances]))
    place = largest(values)
    if place is None:
        return
    column = place[1]
    errors = np.array([
        one.standard_errors[column] if one.standard_errors else 0.0 for one in result.importances
    ])  # fmt: skip
    rows = leaders(values[:, column], errors)
    start = f"The expected score{of_output(outputs, column)} moves"
    if not rows:
        yield f"{start} along no feature by more than its error."
        return
    of_each = [(importance.feature,) for importance in result.importances]
    own = outputs[column], of_each, values[:, column]
    rows = told_apart(explanation, Conclusion.RANK, *own, rows)
    names = [clean(result.importances[row].feature) for row in rows]
    texts = [spell_beside(values[row, column], values) for row in rows]
    deviation = texts[0] if texts[0] == texts[-1] else f"{texts[-1]} to {texts[0]}"
    apart = ", which cannot be told apart" if len(rows) > 1 else ""
    yield f"{start} most along {few_of(names)}{apart}: its standard deviation is {deviation}."
