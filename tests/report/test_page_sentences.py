"""Sentences of a page, beside its warnings and the names of the request."""

import html
import json
from pathlib import Path

import numpy as np
import onnxplain
from google.protobuf import json_format
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.cli.output import overview, tables
from onnxplain_server.report import page

TESTS = Path(__file__).parents[1]
OUTSIDE = "combine values that the table lacks"


def test_a_doubt_about_curves_is_told_once_on_a_page() -> None:
    case = json.loads((TESTS / "conformance/cases/partial-dependence-support.json").read_text())
    answer = json_format.ParseDict(case["expected"]["response"], pb.ExplainResponse())
    assert sum(OUTSIDE in sentence for sentence in answer.summary) == 1

    assert html.unescape(page.of_response(answer)).count(OUTSIDE) == 1

    del answer.warnings[:]
    shown = page.of_response(answer).replace("<wbr>", "")
    assert f"moved along petal_length, 30% {OUTSIDE}" in shown


def test_the_target_of_the_request_names_the_output_where_no_loss_is_asked() -> None:
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=30) for name in (*"abcdefghij", "price")}
    model = TESTS / "models/sklearn_linear.onnx"
    curves = onnxplain.PartialDependence(features=["a"])
    with onnxplain.local() as client:
        answer = client.explain(model, table, curves, target_column="price").message

    texts = [
        " ".join(answer.summary),
        page.of_response(answer, target="price"),
        overview.of_response(answer, to_terminal=False, target="price"),
        tables.of_response(answer, to_terminal=False, target="price"),
    ]
    assert list(answer.model.output_names) == ["variable"]
    assert ["average prediction of price" in " ".join(t.split()) for t in texts] == [True] * 4
