"""Fake server with scripted responses, which records the requests."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import nbformat
import onnxplain
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from nbclient import NotebookClient
from onnxplain.v1 import (
    average_loss_pb2,
    individual_conditional_expectation_pb2,
    interactions_pb2,
    model_pb2,
    partial_dependence_pb2,
    permutation_importance_pb2,
    plot_pb2,
    table_pb2,
    upload_pb2,
)
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1 import explanation_service_pb2_grpc as service


def refusal(code: grpc.StatusCode, message: str, *details: Message):
    """Make a status with details, as servers abort with."""
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return rpc_status.to_status(status)


def overloaded(seconds: float):
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(round(1000 * seconds))
    return refusal(
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "the server takes 2 requests at a time",
        error_details_pb2.ErrorInfo(reason="OVERLOADED", domain="onnxplain"),
        retry,
    )


def blob_not_found(kind: str):
    return refusal(
        grpc.StatusCode.NOT_FOUND,
        f"no uploaded {kind} is here",
        error_details_pb2.ErrorInfo(reason="BLOB_NOT_FOUND", domain="onnxplain"),
        error_details_pb2.BadRequest(field_violations=[{"field": f"{kind}.id"}]),
    )


def unavailable():
    return refusal(grpc.StatusCode.UNAVAILABLE, "the server is stopping")


def unknown_feature():
    return refusal(
        grpc.StatusCode.INVALID_ARGUMENT,
        "no feature is named 'agee'",
        error_details_pb2.ErrorInfo(reason="UNKNOWN_FEATURE", domain="onnxplain"),
        error_details_pb2.BadRequest(
            field_violations=[{"field": "methods[0].interactions.features"}]
        ),
    )


class Service(service.ExplanationServiceServicer):
    """Answers `answer`, unless `refuse` makes a status to abort with, or None to answer.

    Keeps what is uploaded in `files`, and misses what is named but not there.
    """

    def __init__(self, answer: pb.ExplainResponse) -> None:
        self.answer = answer
        self.refuse: Callable[[], Any] | None = None
        self.requests: list[Any] = []
        self.files: dict[str, bytes] = {}
        self.formats: list[int] = []
        self.parts: list[int] = []
        self.seconds = 0.0

    def _take(self, request, context) -> None:
        self.requests.append(request)
        self.seconds = context.time_remaining()
        if self.refuse and (status := self.refuse()):
            context.abort_with_status(status)
        for kind in ("model", "table"):
            named = getattr(getattr(request, kind, None), "id", "")
            if named and named not in self.files:
                context.abort_with_status(blob_not_found(kind))

    def Explain(self, request, context):  # noqa: N802 - the contract's name
        self._take(request, context)
        return self.answer

    def ExplainStream(self, request, context):  # noqa: N802 - the contract's name
        self._take(request.request, context)
        return self.events(request, context)

    def events(self, request, context) -> Iterator[pb.ExplainStreamResponse]:
        for done in (0, 50, 100):
            yield pb.ExplainStreamResponse(progress=pb.Progress(done=done, planned=100))
        yield pb.ExplainStreamResponse(response=self.answer)

    def DescribeModel(self, request, context):  # noqa: N802 - the contract's name
        self._take(request, context)
        return pb.DescribeModelResponse(model=self.answer.model)

    def Predict(self, request, context):  # noqa: N802 - the contract's name
        self._take(request, context)
        return pb.PredictResponse(
            output_names=["y"],
            row_indices=request.row_indices,
            values=[0.5] * len(request.row_indices),
        )

    def DescribeTable(self, request, context):  # noqa: N802 - the contract's name
        self._take(request, context)
        return pb.DescribeTableResponse(table={"row_count": 7})

    def UploadModel(self, requests, context):  # noqa: N802 - the contract's name
        first = next(requests)
        if self.refuse and (status := self.refuse()):
            context.abort_with_status(status)
        return upload_pb2.UploadModelResponse(id=self._keep(chain([first], requests)))

    def UploadTable(self, requests, context):  # noqa: N802 - the contract's name
        first = next(requests)
        self.formats.append(first.format)
        return upload_pb2.UploadTableResponse(id=self._keep(chain([first], requests)))

    def _keep(self, requests) -> str:
        parts = [request.content for request in requests]
        self.parts.append(len(parts))
        content = b"".join(parts)
        name = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.files[name] = content
        return name


def statistic(
    features: list[str],
    numerators: list[float],
    denominators: list[float],
    spread: float | None = None,
) -> interactions_pb2.InteractionStatistic:
    """Write a statistic; with an interval of value ± spread, and a p-value, where there is one."""
    values = [n / d for n, d in zip(numerators, denominators, strict=True)]
    message = interactions_pb2.InteractionStatistic(
        features=features, numerators=numerators, denominators=denominators, values=values
    )
    if spread:
        message.standard_errors[:] = message.biases[:] = [spread] * len(values)
        message.lower[:] = [value - spread for value in values]
        message.upper[:] = [value + spread for value in values]
        message.p_values[:] = [spread] * len(values)
        message.numerator_errors[:] = [2 * spread] * len(values)
    return message


def interactions() -> pb.Explanation:
    return pb.Explanation(
        interactions=interactions_pb2.InteractionsResult(
            output_names=["low", "high"],
            mean_squares=[4.0, 8.0],
            total=statistic([], [1.0, 2.0], [4.0, 8.0]),
            overall=[
                statistic(["age"], [1.0, 0.5], [4.0, 8.0]),
                statistic(["bmi"], [0.25, 0.5], [4.0, 8.0]),
            ],
            pairwise=[statistic(["age", "bmi"], [0.25, 0.5], [1.0, 2.0], spread=0.125)],
            confidence_level=0.95,
            importance=[
                statistic(["age"], [2.0, 4.0], [4.0, 8.0]),
                statistic(["bmi"], [1.0, 1.0], [4.0, 8.0]),
            ],
        ),
        plots=[
            plot_pb2.Plot(
                name="overall",
                title="Overall",
                description="Two bars.",
                vega_lite='{"mark": "bar"}',
            )
        ],
        options=pb.MethodOptions(interactions={"pairwise_feature_count": 5}),
    )


def partial_dependence() -> pb.Explanation:
    column = table_pb2.Column
    curve = partial_dependence_pb2.PartialDependenceCurve
    return pb.Explanation(
        partial_dependence=partial_dependence_pb2.PartialDependenceResult(
            output_names=["low", "high"],
            curves=[
                curve(
                    features=["age"],
                    grid=[column(name="age", numbers=[20, 30, 40])],
                    values=[1, 10, 2, 20, 3, 30],
                    weight=7,
                ),
                curve(
                    features=["age", "output"],
                    group="north",
                    grid=[
                        column(name="age", numbers=[20, 30]),
                        column(name="output", strings=["a", ""]),
                    ],
                    values=[4, 40, 5, 50],
                    weight=3,
                ),
            ],
        )
    )


def individual() -> pb.Explanation:
    """Two rows over three ages, then over two regions; two outputs."""
    curves = individual_conditional_expectation_pb2.IndividualConditionalExpectationCurves
    column = table_pb2.Column
    return pb.Explanation(
        individual_conditional_expectation={
            "output_names": ["low", "high"],
            "curves": [
                curves(
                    feature="age",
                    grid=[column(name="age", numbers=[20, 30, 40])],
                    row_indices=[4, 1],
                    groups=["f / old", "m / old"],
                    group_labels=["f", "old", "m", "old"],
                    values=range(12),
                ),
                curves(
                    feature="group",
                    grid=[column(name="group", strings=["a", "b"])],
                    row_indices=[4, 1],
                    groups=["f / old", "m / old"],
                    values=range(8),
                ),
            ],
        }
    )


def importance() -> pb.Explanation:
    entry = permutation_importance_pb2.PermutationImportance
    return pb.Explanation(
        permutation_importance={
            "output_names": ["low", "high"],
            "baseline_losses": [2.0, 4.0],
            "importances": [
                entry(features=["age"], values=[1, 2], standard_errors=[0.5, 0.25]),
                entry(features=["age", "bmi"], values=[3, -4], standard_errors=[0, float("nan")]),
            ],
        }
    )


def loss() -> pb.Explanation:
    entry = average_loss_pb2.AverageLoss
    return pb.Explanation(
        rows={"drawn_row_count": 1600, "used_row_count": 1500, "weight": 1234.5, "seed": 3},
        average_loss={
            "output_names": ["low", "high"],
            "losses": [
                entry(group="f", values=[1, 2], weight=3),
                entry(group="m", values=[3, float("inf")], weight=4),
            ],
        },
    )


@pytest.fixture
def every_answer(answer: pb.ExplainResponse) -> pb.ExplainResponse:
    """The answer, with the other methods too."""
    answer.explanations.extend([individual(), importance(), loss()])
    return answer


@pytest.fixture(scope="session")
def executed() -> Any:
    """Run the example notebook in a kernel of its own, once for all tests that look at it."""
    folder = Path(__file__).parents[2] / "clients/python/examples"
    notebook = nbformat.read(folder / "first_steps.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell('print("No more cells")'))
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, startup_timeout=600, resources=resources).execute()
    return notebook


@pytest.fixture
def answer() -> pb.ExplainResponse:
    return pb.ExplainResponse(
        explanations=[interactions(), partial_dependence()],
        model=model_pb2.ModelDescription(
            digest="sha256:00",
            inputs=[model_pb2.ModelInput(name="X", type="float", width=2)],
            output_names=["low", "high"],
            scales=["RESPONSE"],
            margin_refusal="an averaged forest has none",
            operators=["TreeEnsembleClassifier"],
            producer="skl2onnx",
        ),
        receipt=pb.Receipt(
            seed=3, row_count=7, predicted_row_count=56, engine="BLACK_BOX", elapsed={"seconds": 2}
        ),
        warnings=[{"code": "LABELS_ONLY", "message": "only labels"}],
    )


@pytest.fixture
def server(answer: pb.ExplainResponse) -> Iterator[SimpleNamespace]:
    grpc_server = grpc.server(ThreadPoolExecutor(4))
    fake = Service(answer)
    verdict = health.HealthServicer()
    verdict.set("", health_pb2.HealthCheckResponse.SERVING)
    service.add_ExplanationServiceServicer_to_server(fake, grpc_server)
    health_pb2_grpc.add_HealthServicer_to_server(verdict, grpc_server)
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    grpc_server.start()
    yield SimpleNamespace(endpoint=f"127.0.0.1:{port}", service=fake, health=verdict)
    grpc_server.stop(None).wait()


@pytest.fixture
def client(server: SimpleNamespace) -> Iterator[onnxplain.Client]:
    with onnxplain.connect(server.endpoint, timeout=120) as client:
        yield client


@pytest.fixture
def refusals() -> SimpleNamespace:
    return SimpleNamespace(
        refusal=refusal,
        unknown_feature=unknown_feature,
        overloaded=overloaded,
        unavailable=unavailable,
    )
