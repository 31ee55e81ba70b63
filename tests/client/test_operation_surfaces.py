"""Operations and plans on every surface: each answers a request as a call for an explanation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import onnxplain
import pytest
from onnxplain.requests import to_request
from onnxplain.transport.rpcs import PLAN
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.__main__ import _blobs, _cache, _runner
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.config.loading import load
from onnxplain_server.serve import Server
from onnxplain_server.wire import canonical

IRIS = Path(__file__).parents[2] / "examples/iris"
MODEL, ROWS = IRIS / "lightgbm.onnx", IRIS / "iris.csv"
ASKED: dict[str, Any] = {
    "feature_columns": ["sepal_length", "sepal_width", "petal_length", "petal_width"],
    "target_column": "species",
    "row_count": 20,
    "plots": False,
}
QUESTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "interactions": ((onnxplain.Interactions(pairwise_feature_count=2),), {}),
    "curves": ((onnxplain.PartialDependence(features=["petal_width"]),), {}),
    "individual curves": ((onnxplain.IndividualConditionalExpectation(curve_count=3),), {}),
    "losses": (
        (onnxplain.PermutationImportance(loss="MLOGLOSS"), onnxplain.AverageLoss(loss="MLOGLOSS")),
        {},
    ),
    "FIRM": ((onnxplain.Firm(),), {}),
    "black box": ((onnxplain.Interactions(),), {"engine": "BLACK_BOX"}),
    "overview": ((), {}),
    "an invalid option": ((onnxplain.Interactions(features=["x"]),), {}),
    "a missing column": ((onnxplain.AverageLoss(),), {"target_column": "y"}),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    settings = load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0})
    running = Server(
        *(settings, _runner(), _cache(), _blobs()),
        decoder=LocalDecoder(),
        operations=MemoryOperations(),
    )
    yield running
    running.drain(0)


def rest(server: Server, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", server.rest_port)
    with closing(connection):
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.fixture(params=QUESTIONS)
def request_(request: pytest.FixtureRequest) -> ExplainRequest:
    methods, others = QUESTIONS[request.param]
    return to_request(MODEL, ROWS, *methods, **ASKED | others)


@pytest.fixture
def client(server: Server) -> Iterator[onnxplain.Client]:
    with onnxplain.connect(f"127.0.0.1:{server.grpc_port}") as opened:
        yield opened


def explained(document: Any) -> Any:
    """What two computations of a request have in common; the receipt has times."""
    return {name: value for name, value in document.items() if name != "receipt"}


def flat(document: Any, path: str = "") -> dict[str, Any]:
    """Values of a document by their paths."""
    if isinstance(document, dict):
        parts = {f"{path}.{name}": value for name, value in document.items()}
    elif isinstance(document, list):
        parts = {f"{path}[{index}]": value for index, value in enumerate(document)}
    else:
        return {path: document}
    return {at: value for name, part in parts.items() for at, value in flat(part, name).items()}


def differences(found: Any, expected: Any) -> list[str]:
    """Paths of values that differ by more than the last digits.

    Trees may be counted in another way when they are explained again.
    """
    ours, others = flat(found), flat(expected)
    differing = [path for path in ours.keys() & others.keys() if ours[path] != others[path]]
    numbers = {
        path
        for path in differing
        if isinstance(ours[path], float | int)
        and not isinstance(others[path], str)
        and ours[path] == pytest.approx(others[path], rel=1e-9, abs=1e-12)
    }
    return sorted({*differing, *(ours.keys() ^ others.keys())} - numbers)


def outcome(call: Any) -> Any:
    """Explanations as JSON, or the reason and the field of an error."""
    try:
        return explained(json.loads(canonical.encode(call())))
    except onnxplain.ExplainError as error:
        return error.reason, error.field


def test_operations_answer_as_calls_do(
    server: Server, client: onnxplain.Client, request_: ExplainRequest
) -> None:
    expected = outcome(lambda: client.messages.explain(request_))

    started = client.messages.start(request_, request_id="", labels={})
    operation = client.operation(started.name)
    operation.wait(progress=False)
    answered = outcome(lambda: operation.result().message)

    _, document = rest(server, "POST", "/v1/explanations:start", canonical.encode(request_))
    path = f"/v1/{document['name']}"
    while not document["done"]:
        _, document = rest(server, "GET", f"{path}?wait=30s")
    status, found = rest(server, "GET", f"{path}/result")
    if isinstance(expected, dict):
        assert differences(answered, expected) == []
        assert status == 200
        assert differences(explained(found), expected) == []
        assert [each["name"] for each in document["metadata"]["plan"]["methods"]]
    else:
        assert answered == expected
        fields = [each["field"] for each in found["errors"]]
        assert (status, found["reason"], fields) == (400, expected[0], [expected[1]])
        assert "plan" not in document["metadata"]


def test_plans_name_what_is_explained_or_refuse_alike(
    server: Server, client: onnxplain.Client, request_: ExplainRequest
) -> None:
    expected = outcome(lambda: client.messages.explain(request_))
    status, document = rest(server, "POST", "/v1/explanations:plan", canonical.encode(request_))
    if isinstance(expected, dict):
        plan = client.messages.answer(PLAN, request_)
        names = [method.name for method in plan.methods]
        assert [method["name"] for method in document["methods"]] == names
        options = [next(iter(each["options"])) for each in expected["explanations"]]
        words = {name.replace("_", "").lower() for name in names}
        assert words == {option.lower() for option in options}
        assert document["predictedRowCount"] == plan.predicted_row_count
    else:
        assert outcome(lambda: client.messages.answer(PLAN, request_)) == expected
        assert (status, document["reason"]) == (400, expected[0])
