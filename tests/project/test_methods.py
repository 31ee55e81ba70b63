"""Each method of the contract has all that a method has: what CONTRIBUTING lists, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from onnxplain.results.by_method import READERS
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation, MethodOptions
from onnxplain_server.report.registry import Answered, of_explanation, of_method

ROOT = Path(__file__).parents[2]
FIELDS: list[Any] = list(MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields)
METHODS = [field.name for field in FIELDS]
CASES = [
    json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "tests/conformance/cases").glob("*.json"))
]
GO = ROOT / "clients/go/onnxplainv1"
JAVA = ROOT / "clients/java/src/main/java/io/github/onnxplain"


def explanations(method: str) -> list[Explanation]:
    """Explanations by a method that the conformance cases expect of all clients."""
    answers: list[dict[str, Any]] = [case["expected"].get("response", {}) for case in CASES]
    messages = [
        json_format.ParseDict(answer, ExplainResponse(), ignore_unknown_fields=True)
        for answer in answers
        if "explanations" in answer
    ]
    return [e for m in messages for e in m.explanations if e.WhichOneof("result") == method]


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_a_case_of_all_clients_with_tables_and_a_sentence(method: str) -> None:
    told = explanations(method)
    answered = Answered(most_important="", is_linear=False, loss_row_count=0)

    assert told, f"{method} has no conformance case"
    assert any(of_explanation(each) for each in told), f"{method} has no table"
    sentences = [text for each in told for text in of_method(method).sentences(each, answered)]
    assert sentences, f"{method} has no sentence"


@pytest.mark.parametrize("field", FIELDS, ids=METHODS)
def test_a_method_is_in_documents_and_clients(field: Any) -> None:
    page, message = field.name.replace("_", "-"), field.message_type.name
    places = {
        ROOT / f"docs/methods/{page}.md": "## When not",
        ROOT / f"docs/images/reports/{page}.png": None,
        ROOT / "docs/reports.md": f"images/reports/{page}.png",
        GO / "explanation_service.pb.go": message,
        JAVA / "MethodsBuilder.java": message,
    }
    lacking = [
        f"{path.relative_to(ROOT)} has no {text or 'such file'}"
        for path, text in places.items()
        if not path.exists() or (text and text not in path.read_text(encoding="utf-8"))
    ]

    assert lacking == []
    assert field.name in READERS
