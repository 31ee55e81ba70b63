"""Open Inference Protocol over gRPC: messages, codes, ends, and TLS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from authority import Authority
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress
from onnxplain_server.wire.inference.inference_pb2 import (
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataRequest,
    ModelMetadataResponse,
)

from tools.waiting import PATIENCE_SECONDS

ROWS = np.array([[1.5, -2.0], [0.25, np.nan], [np.inf, 4.0]])
SHORT = RemotePolicy(retry_seconds=1.0, timeout_seconds=1.0)
Metadata = ModelMetadataResponse.TensorMetadata
Code = grpc.StatusCode


@dataclass
class Models:
    """What a server answers, and what it got."""

    infer: Callable[[ModelInferRequest, Any], ModelInferResponse]
    inputs: list[Any] = field(
        default_factory=lambda: [Metadata(name="x", datatype="FP64", shape=[-1, 2])]
    )
    outputs: list[Any] = field(default_factory=list)
    requests: list[ModelInferRequest] = field(default_factory=list)

    def metadata(self, request: ModelMetadataRequest, context: Any) -> ModelMetadataResponse:
        if request.name != "m":
            context.abort(Code.NOT_FOUND, "no such model")
        return ModelMetadataResponse(
            name="m", versions=["3"], platform="p", inputs=self.inputs, outputs=self.outputs
        )

    def answer(self, request: ModelInferRequest, context: Any) -> ModelInferResponse:
        self.requests.append(request)
        return self.infer(request, context)


def raw(values: Any, datatype: str = "FP64", shape: Any = None) -> ModelInferResponse:
    array = np.array(values)
    answer = ModelInferResponse(raw_output_contents=[array.tobytes()])
    answer.outputs.add(name="y", datatype=datatype, shape=shape or array.shape)
    return answer


@contextmanager
def serving(models: Models, credentials: Any = None) -> Iterator[int]:
    handlers = {
        "ModelMetadata": grpc.unary_unary_rpc_method_handler(
            models.metadata,
            ModelMetadataRequest.FromString,
            ModelMetadataResponse.SerializeToString,
        ),
        "ModelInfer": grpc.unary_unary_rpc_method_handler(
            models.answer, ModelInferRequest.FromString, ModelInferResponse.SerializeToString
        ),
    }
    service = grpc.method_handlers_generic_handler("inference.GRPCInferenceService", handlers)
    server = grpc.server(ThreadPoolExecutor(8), [service], options=[("grpc.so_reuseport", 0)])
    if credentials is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


@pytest.fixture
def models() -> Models:
    return Models(lambda *_: raw([[1.0], [2.0], [3.0]]))


@pytest.fixture
def open_model(models: Models, control: Any) -> Iterator[Any]:
    with serving(models) as port:

        def open_(policy: RemotePolicy | None = None, **address: Any) -> Any:
            stated = RemoteAddress(
                "OIP_GRPC", f"grpc://127.0.0.1:{port}", **{"name": "m", **address}
            )
            return open_remote(stated, policy or RemotePolicy(), control)

        yield open_


def refusal(call: Any) -> ExplainError:
    with pytest.raises(ExplainError) as raised:
        call()
    return raised.value


def test_rows_travel_as_bytes_with_their_infinities(models: Models, open_model: Any) -> None:
    assert open_model(version="7").predict({"x": ROWS}).tolist() == [[1.0], [2.0], [3.0]]

    (request,) = models.requests
    assert (request.model_name, request.model_version) == ("m", "7")
    assert (request.inputs[0].name, request.inputs[0].datatype) == ("x", "FP64")
    assert list(request.inputs[0].shape) == [3, 2]
    np.testing.assert_array_equal(
        np.frombuffer(request.raw_input_contents[0], "<f8").reshape(3, 2), ROWS
    )


def test_the_model_is_described_by_its_metadata(models: Models, open_model: Any) -> None:
    models.outputs = [Metadata(name="y", datatype="FP32", shape=[-1, 3])]

    description = open_model().describe()

    assert description.inputs == (Input("x", "double", 2),)
    assert description.output_names == ("0", "1", "2")
    assert (description.version, description.platform) == ("3", "p")


def test_columns_by_name_travel_by_their_types(models: Models, open_model: Any) -> None:
    models.inputs = [
        Metadata(name="age", datatype="INT64", shape=[-1, 1]),
        Metadata(name="city", datatype="BYTES", shape=[-1]),
    ]
    models.infer = lambda *_: raw([1, 2], "INT64")

    feeds = {"age": np.array([[4], [5]]), "city": np.array([["Ulm"], ["Köln"]], dtype=object)}

    assert open_model().predict(feeds).tolist() == [[1.0], [2.0]]
    age, city = models.requests[0].inputs
    assert (list(age.contents.int64_contents), list(age.shape)) == ([4, 5], [2, 1])
    assert (list(city.contents.bytes_contents), list(city.shape)) == (
        [b"Ulm", "Köln".encode()],
        [2],
    )
    assert models.requests[0].parameters["content_type"].string_param == "pd"


def test_contents_by_type_are_understood(models: Models, open_model: Any) -> None:
    answer = ModelInferResponse()
    answer.outputs.add(name="y", datatype="FP32", shape=[3]).contents.fp32_contents.extend(
        [0.5, 1.5, float("nan")]
    )
    models.infer = lambda *_: answer

    predictions = open_model().predict({"x": ROWS})

    assert predictions.dtype == np.float32
    np.testing.assert_array_equal(predictions, [[0.5], [1.5], [np.nan]])


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (raw([1.0, 2.0]), "2 rows when 3"),
        (raw([1.0, 2.0, 3.0], shape=[3, 2]), "its shape"),
        (raw([1.0, 2.0, 3.0], "BYTES"), "labels"),
        (raw([1.0, 2.0, 3.0], "BF16"), "BF16"),
        (raw([1.0, 2.0, 3.0], "FP16"), "its shape"),
        (ModelInferResponse(), "without outputs"),
    ],
)
def test_an_answer_that_is_no_prediction_is_refused(
    models: Models, open_model: Any, answer: ModelInferResponse, part: str
) -> None:
    models.infer = lambda *_: answer

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert part in error.message


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.ABORTED])
def test_a_code_that_passes_is_waited_for(models: Models, open_model: Any, code: Any) -> None:
    def infer(request: ModelInferRequest, context: Any) -> ModelInferResponse:
        if len(models.requests) < 3:
            context.abort(code, "later")
        return raw([1.0, 2.0, 3.0])

    models.infer = infer

    assert open_model().predict({"x": ROWS}).tolist() == [[1.0], [2.0], [3.0]]
    assert len(models.requests) == 3


def test_the_pause_that_a_server_wants_is_kept(models: Models, open_model: Any) -> None:
    def infer(request: ModelInferRequest, context: Any) -> Any:
        context.set_trailing_metadata([("grpc-retry-pushback-ms", "5000000")])
        context.abort(Code.UNAVAILABLE, "later")

    models.infer = infer

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert error.retry_seconds == 5_000
    assert len(models.requests) == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (Code.INVALID_ARGUMENT, Reason.PREDICTION_FAILED),
        (Code.INTERNAL, Reason.PREDICTION_FAILED),
        (Code.UNKNOWN, Reason.PREDICTION_FAILED),
        (Code.UNIMPLEMENTED, Reason.REMOTE_MODEL_ANSWER),
        (Code.PERMISSION_DENIED, Reason.REMOTE_MODEL_FORBIDDEN),
        (Code.UNAUTHENTICATED, Reason.REMOTE_MODEL_FORBIDDEN),
    ],
)
def test_other_codes_are_told_at_once(
    models: Models, open_model: Any, code: Any, reason: Reason
) -> None:
    models.infer = lambda _, context: context.abort(code, "row 2 is odd")

    error = refusal(lambda: open_model().predict({"x": ROWS}))

    assert error.reason is reason
    assert f'{code.name}: "row 2 is odd"' in error.message
    assert len(models.requests) == 1


def test_a_model_that_the_server_does_not_know_is_told(open_model: Any) -> None:
    error = refusal(open_model(name="other").describe)

    assert error.reason is Reason.REMOTE_MODEL_NOT_FOUND


def test_no_more_is_read_of_an_answer_than_the_limit(models: Models, open_model: Any) -> None:
    models.infer = lambda *_: raw(np.zeros((3, 100_000)))

    error = refusal(
        lambda: open_model(RemotePolicy(answer_byte_limit=1_000_000)).predict({"x": ROWS})
    )

    assert error.reason is Reason.REMOTE_MODEL_ANSWER
    assert "1,000,000 bytes" in error.message


def test_a_silent_server_is_told_after_the_time_of_a_call(models: Models, open_model: Any) -> None:
    is_held = threading.Event()

    def infer(request: ModelInferRequest, context: Any) -> ModelInferResponse:
        is_held.wait(60)
        return raw([1.0, 2.0, 3.0])

    models.infer = infer

    error = refusal(lambda: open_model(SHORT).predict({"x": ROWS}))
    is_held.set()

    assert error.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    assert "no answer in 1 s" in error.message


def test_a_cancelled_call_ends_while_the_server_is_silent(
    models: Models, open_model: Any, control: Any
) -> None:
    is_asked, is_held = threading.Event(), threading.Event()

    def infer(request: ModelInferRequest, context: Any) -> ModelInferResponse:
        is_asked.set()
        is_held.wait(PATIENCE_SECONDS)
        return raw([1.0, 2.0, 3.0])

    models.infer = infer
    model = open_model()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(model.predict, {"x": ROWS})
        assert is_asked.wait(PATIENCE_SECONDS)
        control.end()
        error = refusal(lambda: call.result(PATIENCE_SECONDS))
    is_held.set()

    assert error.reason is Reason.CANCELLED


def test_a_server_is_resolved_anew_when_its_connection_fails(models: Models, control: Any) -> None:
    asked: list[tuple[str, int]] = []

    def resolve(host: str, port: int) -> str:
        asked.append((host, port))
        return "127.0.0.2" if len(asked) == 1 else "127.0.0.1"

    with serving(models) as port:
        address = RemoteAddress("OIP_GRPC", f"grpc://models.example:{port}", "m")
        model = open_remote(address, RemotePolicy(resolve=resolve), control)
        predictions = model.predict({"x": ROWS})

    assert predictions.tolist() == [[1.0], [2.0], [3.0]]
    assert asked == [("models.example", port)] * 2


@pytest.mark.parametrize(
    ("host", "trusted", "is_right"),
    [("models.example", "a", True), ("other.example", "a", False), ("models.example", "b", False)],
)
def test_a_certificate_must_be_trusted_and_name_the_host(
    models: Models, control: Any, tmp_path: Path, host: str, trusted: str, is_right: bool
) -> None:
    authorities = {name: Authority(make(tmp_path / name)) for name in "ab"}
    certificate, key = authorities["a"].issue("models", "models.example")
    credentials = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    file = str(authorities[trusted].file)
    policy = RemotePolicy(ca_file=file, resolve=lambda *_: "127.0.0.1")

    with serving(models, credentials) as port:
        address = RemoteAddress("OIP_GRPC", f"grpcs://{host}:{port}", "m")
        model = open_remote(address, policy, control)
        if is_right:
            assert model.predict({"x": ROWS}).shape == (3, 1)
        else:
            assert refusal(model.describe).reason is Reason.REMOTE_MODEL_FORBIDDEN


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_credentials_of_the_operator_are_sent(models: Models, open_model: Any) -> None:
    seen: list[dict[str, str]] = []

    def infer(request: ModelInferRequest, context: Any) -> ModelInferResponse:
        seen.append(dict(context.invocation_metadata()))
        return raw([1.0, 2.0, 3.0])

    models.infer = infer

    open_model(RemotePolicy(headers={"Authorization": "Bearer abc"})).predict({"x": ROWS})

    assert seen[0]["authorization"] == "Bearer abc"
