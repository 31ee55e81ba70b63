"""Findings on classes: a table of the output that each class was compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxplain.v1.explanation_service_pb2 import ClassPairing

from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.finding import Finding, Heading, truncate


def of_pairings(pairings: Sequence[ClassPairing]) -> Iterator[Finding]:
    """Write the output that was compared with 1 in the rows of each class."""
    shown, left_out = truncate(pairings, 1, "other classes")
    yield Finding(
        "Classes of the target",
        "each output was compared with 1 in the rows of its class, and with 0 in all others",
        "where a class is paired with the output of another one, a good model looks bad; "
        "class_labels pairs them anew",
        (Heading("class"), Heading("output")),
        tuple((clean(pairing.label), _output(pairing)) for pairing in shown),
        left_out,
    )


def _output(pairing: ClassPairing) -> str:
    return clean(pairing.output_name) if pairing.output_name else "none: 0 of the only output"
