"""Forms of an answer."""

from __future__ import annotations

from enum import Enum

from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.cli.tables import explanation_tables
from onnxplain_server.report import page
from onnxplain_server.wire import canonical


class Output(Enum):
    """Forms that an answer can have."""

    JSON = "json"
    TABLE = "table"
    HTML = "html"


def formatted(answer: ExplainResponse, output: Output, model_name: str) -> bytes:
    """Write an answer in the wanted form; `model_name` is for people."""
    match output:
        case Output.JSON:
            text = canonical.encode(answer, indent=2) + "\n"
        case Output.TABLE:
            text = explanation_tables(answer)
        case Output.HTML:
            text = page.of_response(answer, model_name)
    return text.encode()
