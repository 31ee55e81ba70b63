"""Equal answers from workers and from the same code in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.programs import warm_up
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

TEXTS = Path(__file__).parents[1] / "models/text"


def title(request: bytes) -> str:
    return str(ExplainRequest.FromString(request).methods[0].WhichOneof("method"))


def asked() -> list[bytes]:
    """Each method, and each model by some method: to a process they are all bytes."""
    known = tuple(warm_up.requests())
    by_method = {title(request): request for request in known}
    return [*dict.fromkeys([*by_method.values(), *known[::3]])]


def of_texts() -> Iterator[bytes]:
    """Models that cut texts to words: their locale lies in files that no worker can open."""
    reviews = json.loads((TEXTS / "reviews.json").read_text())["columns"]
    columns = [
        Column(name="review", strings=reviews["review"]),
        Column(name="stars", numbers=reviews["stars"]),
    ]
    for path in sorted(TEXTS.glob("*.onnx")):
        yield ExplainRequest(
            model=Model(content=path.read_bytes()),
            table=Table(columns=Columns(columns=columns)),
            methods=[MethodOptions(attributions={"row_indices": [3]})],
        ).SerializeToString()


REQUESTS = [*asked(), *of_texts()]


@pytest.mark.parametrize("request_", REQUESTS, ids=title)
def test_every_method_is_answered_as_without_isolation(
    isolated, reference, request_: bytes
) -> None:
    actual, expected = (
        ExplainResponse.FromString(
            runner.answer(Call(ServiceMethod.EXPLAIN, request_), warm_up.NullHost()).content
        )
        for runner in (isolated, reference.runner)
    )
    for answer in (actual, expected):
        answer.receipt.ClearField("elapsed")
    assert reference.same(actual, expected)
