"""An explainer that is not ready yet, and interactions that are not computed yet."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import Reply, ServiceMethod
from onnxplain_server.transport.explainer.default_methods import default_methods
from onnxplain_server.wire.inference import inference_pb2

from tools.waiting import until

MODEL = Path(__file__).parents[1] / "models" / "sklearn_linear.onnx"
SERVICE = "inference.GRPCInferenceService"
NAMES = [f"x{j}" for j in range(10)]
ROW = {"instances": [[0.5] * 10]}


class Held:
    """The runner itself, which a test holds up where a method is asked for."""

    def __init__(self, runner: InProcess, method: str) -> None:
        self._runner = runner
        self._method = method
        self.released = threading.Event()
        self.reached = threading.Event()
        self.failures: list[ExplainError] = []

    def answer(self, call: Call, host: Any) -> Reply:
        """Explain once the test has released the method; describe the model at once."""
        explains = call.method is ServiceMethod.EXPLAIN
        methods = ExplainRequest.FromString(call.request).methods if explains else ()
        if any(method.WhichOneof("method") == self._method for method in methods):
            self.reached.set()
            while not self.released.wait(0.01):
                host.advance(0, 1)
            if self.failures:
                raise self.failures.pop()
        return self._runner.answer(call, host)


@pytest.fixture
def background(tmp_path: Path) -> Path:
    path = tmp_path / "background.csv"
    rows = [",".join(str((i * j) % 7) for j in range(1, 11)) for i in range(20)]
    path.write_text("\n".join([",".join(NAMES), *rows]), encoding="utf-8")
    return path


@pytest.fixture
def begin(start: Callable[..., Any], background: Path) -> Iterator[Callable[..., tuple[Any, Held]]]:
    """Start an explainer that is held up where a method is asked for."""
    made: list[tuple[InProcess, Held]] = []

    def started(method: str, **settings: object) -> tuple[Any, Held]:
        runner = InProcess(1)
        held = Held(runner, method)
        made.append((runner, held))
        paths = {"explainer_model": str(MODEL), "explainer_background": str(background)}
        return start(held, explainer_name="m", **{**paths, **settings}), held

    yield started
    for runner, held in made:
        held.released.set()
        runner.close()


def explain(client: Any) -> Any:
    body = json.dumps(ROW)
    return client.rest("POST", "/v1/models/m:explain", body, {"Content-Type": "application/json"})


def wait_ready(client: Any) -> None:
    until(lambda: client.rest("GET", "/v1/models/m").status == 200)


def test_until_it_has_explained_a_row_it_is_not_ready_and_says_so(begin) -> None:
    client, held = begin("individual_conditional_expectation")
    assert held.reached.wait(600)

    answer = explain(client)
    assert answer.status == 503
    assert "not ready" in answer.json["error"]
    assert answer.headers["Content-Type"] == "application/json"
    for path in ("/v1/models/m", "/v2/models/m/ready", "/readyz", "/v2/health/ready", "/health"):
        assert client.rest("GET", path).status == 503
    assert client.rest("GET", "/v2/health/live").status == 200

    held.released.set()
    wait_ready(client)
    assert explain(client).status == 200


def test_interactions_that_are_not_computed_yet_are_told_and_come_later(begin) -> None:
    client, held = begin("interactions")
    wait_ready(client)

    early = explain(client).json
    (warning,) = [w for w in early["warnings"] if w["code"] == "INTERACTIONS_NOT_COMPUTED"]
    assert "not yet computed" in warning["message"]
    assert ["interactions" in e for e in early["explanations"]] == [False]

    held.released.set()
    until(lambda: "INTERACTIONS_NOT_COMPUTED" not in explain(client).body.decode())
    assert ["interactions" in e for e in explain(client).json["explanations"]] == [False, True]


def test_interactions_that_fail_leave_the_rows_explained(begin) -> None:
    client, held = begin("interactions")
    held.failures.append(ExplainError(Reason.TOO_MANY_ROWS, "too many rows"))
    held.released.set()
    wait_ready(client)

    until(lambda: "not yet computed" not in explain(client).body.decode())
    told = explain(client).json
    assert [e for e in told["explanations"] if "interactions" in e] == []
    assert any("too many rows" in warning["message"] for warning in told["warnings"])


def test_what_may_pass_is_tried_again(begin) -> None:
    client, held = begin("individual_conditional_expectation")
    held.failures.append(ExplainError(Reason.OVERLOADED, "later"))
    held.released.set()

    wait_ready(client)
    assert explain(client).status == 200


def test_interactions_can_be_turned_off(begin) -> None:
    client, _held = begin("interactions", explainer_interaction_rows=0)
    wait_ready(client)

    until(lambda: "turned them off" in explain(client).body.decode())


def test_a_background_that_does_not_fit_the_model_is_told(begin, tmp_path: Path) -> None:
    path = tmp_path / "narrow.csv"
    path.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    client, held = begin("interactions", explainer_background=str(path))

    until(lambda: "background yet" not in explain(client).json["error"])
    assert "10" in explain(client).json["error"]
    assert not held.reached.is_set()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"explainer_model": "/nowhere.onnx"}, "explainer-model"),
        ({"explainer_background": "/nowhere.csv"}, "explainer-background"),
    ],
)
def test_files_that_are_not_there_stop_the_start(begin, settings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        begin("interactions", **settings)


def test_rows_are_explained_for_callers_that_are_known(begin, tmp_path: Path) -> None:
    """Health is told to all, as platforms ask without credentials."""
    digest = hashlib.sha256(b"a-token").hexdigest()
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ann {digest}\n", encoding="utf-8")
    client, _held = begin("swarm", tokens_file=str(tokens))
    wait_ready(client)

    refused = explain(client)
    assert (refused.status, "error" in refused.json) == (401, True)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer a-token"}
    assert client.rest("POST", "/v1/models/m:explain", json.dumps(ROW), headers).status == 200
    assert client.rest("GET", "/v1/models").status == 401


class Inference:
    """Client of the Open Inference Protocol over gRPC."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel

    def __call__(self, method: str, **fields: Any) -> Any:
        request, answer = (
            getattr(inference_pb2, f"{method}{end}") for end in ("Request", "Response")
        )
        call = self.channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        return call(request(**fields))


@pytest.fixture
def infer(begin) -> Iterator[tuple[Inference, Any]]:
    client, held = begin("individual_conditional_expectation")
    with grpc.insecure_channel(f"127.0.0.1:{client.server.grpc_port}") as channel:
        asked = Inference(channel)
        assert held.reached.wait(600)
        assert asked("ServerLive").live
        assert not asked("ServerReady").ready
        assert not asked("ModelReady", name="m").ready
        with pytest.raises(grpc.RpcError, match="not ready"):
            asked("ModelMetadata", name="m")
        assert client.rest("GET", "/v2/models/m").status == 503
        held.released.set()
        wait_ready(client)
        yield asked, client


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_the_open_inference_protocol_is_listed_described_and_healthy(infer, version: str) -> None:
    """As `grpcurl list`, `grpcurl describe` and probes of gRPC ask."""
    asked, _client = infer
    ask = reflection_pb2.ServerReflectionRequest
    reflect = asked.channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=ask.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    message = "inference.ModelInferRequest.InferInputTensor"
    questions = [ask(list_services="")]
    questions += [ask(file_containing_symbol=symbol) for symbol in (SERVICE, message)]
    questions.append(ask(all_extension_numbers_of_type=message))

    listed, *described, extensions = reflect(iter(questions))

    names = [service.name for service in listed.list_services_response.service]
    assert names.count(SERVICE) == 1
    pool = DescriptorPool()
    for file in {one.file_descriptor_response.file_descriptor_proto[0] for one in described}:
        pool.AddSerializedFile(file)
    methods = {method.name: method for method in pool.FindServiceByName(SERVICE).methods}
    assert methods["ModelInfer"].input_type.full_name == "inference.ModelInferRequest"
    assert pool.FindMessageTypeByName(message).fields_by_name["shape"]
    assert extensions.all_extension_numbers_response.base_type_name == message
    health = health_pb2_grpc.HealthStub(asked.channel)
    served = health_pb2.HealthCheckResponse.SERVING  # soon after the explainer is ready
    until(lambda: health.Check(health_pb2.HealthCheckRequest(service=SERVICE)).status == served)


def test_the_open_inference_protocol_over_grpc_tells_what_a_model_takes(infer) -> None:
    asked, client = infer

    assert asked("ServerReady").ready
    assert asked("ModelReady", name="m").ready
    assert asked("ServerMetadata").name == "onnxplain"
    told = asked("ModelMetadata", name="m")
    assert [(one.name, one.datatype, list(one.shape)) for one in told.inputs] == [
        (name, "FP64", [-1]) for name in NAMES
    ]
    over_rest = client.rest("GET", "/v2/models/m").json
    assert over_rest["inputs"] == [
        {"name": one.name, "datatype": one.datatype, "shape": list(one.shape)}
        for one in told.inputs
    ]
    for method in ("ModelReady", "ModelMetadata"):
        with pytest.raises(grpc.RpcError, match='no model "other"'):
            asked(method, name="other")


def test_the_open_inference_protocol_over_grpc_explains_rows_as_over_rest(infer) -> None:
    asked, client = infer
    tensor = {"name": "rows", "datatype": "FP64", "shape": [1, 10]}
    parameters = {
        "methods": {"string_param": '[{"individualConditionalExpectation": {"features": ["x1"]}}]'}
    }

    def explained(**given: Any) -> Any:
        answer = asked("ModelInfer", model_name="m", id="7", parameters=parameters, **given)
        assert (answer.model_name, answer.id) == ("m", "7")
        (content,) = answer.raw_output_contents
        assert struct.unpack("<I", content[:4]) == (len(content) - 4,)
        return json.loads(content[4:])["explanations"]

    body = {
        "inputs": [{**tensor, "data": [0.5] * 10}],
        "parameters": {"methods": [{"individualConditionalExpectation": {"features": ["x1"]}}]},
    }
    headers = {"Content-Type": "application/json"}
    over_rest = client.rest("POST", "/v2/models/m/explain", json.dumps(body), headers).json
    expected = json.loads(over_rest["outputs"][0]["data"][0])["explanations"]

    assert explained(inputs=[{**tensor, "contents": {"fp64_contents": [0.5] * 10}}]) == expected
    raw = struct.pack("<10d", *[0.5] * 10)
    assert explained(inputs=[tensor], raw_input_contents=[raw]) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model_name": "other"}, 'no model "other"'),
        ({"model_name": "m" * 2_000}, "at most 1,024 bytes"),
        ({"raw_input_contents": [b"", b""]}, "2 raw_input_contents for 1 inputs"),
        ({"raw_input_contents": [b"123"]}, "3 bytes are no whole number of FP64"),
        ({"inputs": [{"contents": {"fp64_contents": [1], "int_contents": [1]}}]}, "several types"),
        ({"inputs": [{"contents": {"bytes_contents": [b"\xff"]}}]}, "not UTF-8"),
        ({"inputs": [{"contents": {"fp32_contents": [math.inf]}}]}, "infinite"),
        ({"inputs": []}, "no row to explain"),
    ],
)
def test_a_message_of_the_open_inference_protocol_that_is_wrong(
    infer, given: dict[str, Any], words: str
) -> None:
    asked, _ = infer
    tensor = {"name": "rows", "datatype": "FP64", "shape": [1, 10]}

    with pytest.raises(grpc.RpcError, match=words):
        asked("ModelInfer", **{"model_name": "m", "inputs": [tensor], **given})


@pytest.mark.parametrize("is_exact_beside_curves", [True, False])
def test_values_are_a_default_where_they_are_exact_beside_curves(
    is_exact_beside_curves: bool,
) -> None:
    """Alone, those of a boosted classifier are exact on its margin; curves are of probabilities."""

    def ask(methods: Sequence[MethodOptions]) -> None:
        names = [method.WhichOneof("method") for method in methods]
        if "attributions" in names and len(names) > 1 and not is_exact_beside_curves:
            raise ExplainError(Reason.INVALID_OPTION, "no sum of leaves")

    names = [method.WhichOneof("method") for method in default_methods(ask, "m")]

    assert ("attributions" in names) == is_exact_beside_curves
    assert "individual_conditional_expectation" in names
