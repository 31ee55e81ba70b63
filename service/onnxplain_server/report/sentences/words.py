"""Words that the sentences share: names of outputs and features."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.plots.elements.labels import clean, quoted
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import TOTAL
from onnxplain_server.report.finding import joined


def outputs_in_words(answer: ExplainResponse) -> str:
    """Name the outputs that are explained."""
    names = output_names(answer)
    return spoken(names, len(names))


def output_names(answer: ExplainResponse) -> list[str]:
    """Return the outputs that are explained; those of the model where no method names any."""
    for explanation in answer.explanations:
        result = getattr(explanation, explanation.WhichOneof("result") or "", None)
        names = [*getattr(result, "output_names", ()), *getattr(result, "class_names", ())]
        if names and names != [TOTAL]:
            return names
    return list(answer.model.output_names)


def of_output(outputs: Sequence[str], column: int) -> str:
    """Return " of price", for predictions; nothing for a loss that all outputs share."""
    return "" if list(outputs) == [TOTAL] else f" of {clean(outputs[column])}"


def for_output(outputs: Sequence[str], column: int) -> str:
    """Return " for versicolor" where there are several outputs."""
    return f" for {clean(outputs[column])}" if len(outputs) > 1 else ""


def feature_names(features: Sequence[str]) -> str:
    """Join features that act together."""
    return joined(features)


def few_of(names: Sequence[str], conjunction: str = "and") -> str:
    """Enumerate the first names, and count the others: "a, b, c and 2 more"."""
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    told = [quoted(name, ", ", f" {conjunction} ") for name in names[:_MAX_NAMED]]
    *others, last = [*(told if len(names) > 1 else names), *more]
    return f"{', '.join(others)} {conjunction} {last}" if others else last


_MAX_NAMED = 3
