"""Models behind addresses, in place of a model."""

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnxplain.requests.models import to_model, to_model_name
from onnxplain.v1.model_pb2 import RemoteModel

from tools.stores.model_server import NAME, ServedModel, of_function, serving

NAMES = ("a", "b", "c")
ROWS = dict(zip(NAMES, np.random.default_rng(3).normal(size=(3, 30)).round(3), strict=True))
CHURN = onnxplain.RemoteModel(
    "http://models:8080",
    "churn",
    version="3",
    inputs=[onnxplain.RemoteInput("x", "float", columns=["age", "plan"])],
    output="scores",
    output_names=["stays", "leaves"],
    identity="of May",
)


@pytest.fixture
def served() -> ServedModel:
    return of_function(lambda a, b, c: a * b + c, NAMES)


@pytest.fixture
def model(served: ServedModel) -> Iterator[onnxplain.RemoteModel]:
    with serving(served) as server:
        yield onnxplain.RemoteModel(server.url, NAME)


def test_a_remote_model_is_a_message_of_the_contract() -> None:
    assert to_model(CHURN).remote == RemoteModel(
        uri="http://models:8080",
        protocol="OIP_REST",
        name="churn",
        version="3",
        inputs=[{"name": "x", "type": "float", "columns": ["age", "plan"]}],
        output="scores",
        output_names=["stays", "leaves"],
        identity="of May",
    )
    assert to_model_name("", CHURN) == "churn"


def test_inputs_may_be_told_by_a_mapping_of_columns_to_types() -> None:
    inputs = {"age": "int64", "plan": "string"}
    message = to_model(onnxplain.RemoteModel("http://h", protocol="MLFLOW", inputs=inputs)).remote

    assert [(each.name, each.type) for each in message.inputs] == list(inputs.items())


def test_another_protocol_is_refused_with_those_that_are_known() -> None:
    wrong: Any = "REST"

    with pytest.raises(ValueError, match="OIP_REST, OIP_GRPC, KSERVE_V1, MLFLOW"):
        to_model(onnxplain.RemoteModel("http://h", "m", protocol=wrong))


def test_a_remote_model_is_explained_in_this_process(
    model: onnxplain.RemoteModel, served: ServedModel
) -> None:
    with onnxplain.local() as client:
        found = client.explain(model, ROWS, onnxplain.Interactions())
        described = client.describe(model)
        planned = client.plan(model, ROWS, onnxplain.Interactions())

    assert found.receipt.remote_model is not None
    assert found.receipt.remote_model.uri == model.uri
    assert found.receipt.remote_model.protocol == "OIP_REST"
    assert 0 < found.receipt.predicted_row_count <= served.row_count
    assert [each.name for each in described.inputs] == list(NAMES)
    assert planned.predicted_row_count > 0


def test_an_operation_in_this_process_asks_a_remote_model(model: onnxplain.RemoteModel) -> None:
    with onnxplain.local() as client:
        operation = client.start(model, ROWS, onnxplain.Interactions())
        found = operation.result()
        at_once = client.explain(model, ROWS, onnxplain.Interactions())

    strengths, others = (
        [each.numerators.tolist() for each in answer.interactions.overall]
        for answer in (found, at_once)
    )
    assert strengths == others
    assert max(strengths)[0] > 0


def test_both_clients_send_a_remote_model(server: Any, client: onnxplain.Client) -> None:
    async def explained() -> None:
        async with onnxplain.connect_async(server.endpoint, timeout=120) as asynchronous:
            await asynchronous.explain(CHURN, ROWS, "interactions")

    client.explain(CHURN, ROWS, "interactions")
    asyncio.run(explained())

    sent, sent_async = server.service.requests
    assert sent == sent_async
    assert sent.model.remote.name == sent.model_name == "churn"
