"""Operations of the Python clients: in this process, and over a real server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnxplain.requests import to_request
from onnxplain.transport.rpcs import PLAN
from onnxplain_server.__main__ import _blobs, _cache, _runner
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.config.loading import load
from onnxplain_server.local import LocalMessages
from onnxplain_server.serve import Server
from onnxplain_server.wire import canonical

from tools.waiting import until

IRIS = Path(__file__).parents[2] / "examples/iris"
MODEL, ROWS = IRIS / "lightgbm.onnx", IRIS / "iris.csv"
ASKED: dict[str, Any] = {
    "feature_columns": ["sepal_length", "sepal_width", "petal_length", "petal_width"],
    "target_column": "species",
    "row_count": 20,
}
LOSS = onnxplain.AverageLoss(loss="MLOGLOSS")
PATIENCE = 120.0


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


@pytest.fixture(params=["local", "remote"])
def client(request: pytest.FixtureRequest) -> Iterator[onnxplain.Client]:
    if request.param == "local":
        opened = onnxplain.local()
    else:
        server: Server = request.getfixturevalue("server")
        opened = onnxplain.connect(f"127.0.0.1:{server.grpc_port}")
    with opened:
        yield opened


def test_an_operation_gives_what_a_call_gives(client: onnxplain.Client) -> None:
    told: list[tuple[float, float]] = []
    operation = client.start(MODEL, ROWS, LOSS, labels={"team": "a"}, **ASKED)
    is_done = operation.wait(timeout=PATIENCE, progress=lambda *step: told.append(step))
    explanation = operation.result()
    same = client.explain(MODEL, ROWS, LOSS, **ASKED)

    assert is_done
    assert explanation.average_loss.to_pandas().equals(same.average_loss.to_pandas())
    assert (operation.state, operation.labels) == ("SUCCEEDED", {"team": "a"})
    assert operation.methods == ("average_loss",)
    assert operation.progress.done == (told[-1][0] if told else 0)
    assert operation.expire_time - operation.create_time > timedelta(hours=20)
    assert operation.name in repr(operation)


def test_an_operation_has_the_plan_of_its_request(client: onnxplain.Client) -> None:
    asked: dict[str, Any] = ASKED | {"row_count": 21, "engine": "BLACK_BOX"}
    curves = onnxplain.PartialDependence(features=["petal_width"])
    plan = client.plan(MODEL, ROWS, curves, **asked)
    operation = client.start(MODEL, ROWS, curves, **asked)
    operation.wait(timeout=PATIENCE, progress=False)
    [listed] = [each for each in client.operations() if each.name == operation.name]
    answer = operation.result()

    assert operation.plan is not None
    assert operation.plan.remaining_quota is None
    assert listed.plan is None
    # Planning leaves nothing in the cache: the rows are predicted by the computation.
    rows = plan.predicted_row_count, operation.plan.predicted_row_count
    assert rows == (answer.receipt.predicted_row_count,) * 2
    assert rows[0] > 21


def test_an_operation_is_found_again_by_name_and_by_filter(client: onnxplain.Client) -> None:
    label = {"run": "found-again"}
    started = [client.start(MODEL, ROWS, LOSS, seed=s, labels=label, **ASKED) for s in range(3)]
    found = list(client.operations('labels.run = "found-again"'))

    assert [one.name for one in found] == [one.name for one in reversed(started)]
    assert client.operation(started[0].name).result(timeout=PATIENCE).average_loss
    for one in started:
        one.delete()
    assert not list(client.operations('labels.run = "found-again"'))
    with pytest.raises(onnxplain.ExplainError) as caught:
        started[0].refresh()
    assert caught.value.reason == "OPERATION_NOT_FOUND"


def test_a_request_id_names_one_operation(client: onnxplain.Client) -> None:
    first = client.start(MODEL, ROWS, LOSS, request_id="one", **ASKED)
    again = client.start(MODEL, ROWS, LOSS, request_id="one", **ASKED)

    assert first.name == again.name
    with pytest.raises(onnxplain.ExplainError) as caught:
        client.start(MODEL, ROWS, LOSS, request_id="one", seed=7, **ASKED)
    assert caught.value.reason == "REQUEST_ID_IN_USE"
    first.delete()


def test_the_error_of_a_request_is_raised_by_the_result(client: onnxplain.Client) -> None:
    operation = client.start(MODEL, ROWS, onnxplain.Interactions(features=["nope"]), **ASKED)

    with pytest.raises(onnxplain.ExplainError) as caught:
        operation.result(timeout=PATIENCE)
    assert (caught.value.reason, caught.value.code) == ("UNKNOWN_FEATURE", "INVALID_ARGUMENT")
    assert caught.value.field == "methods[0].interactions.features"
    assert operation.state == "FAILED"


def test_a_cancelled_operation_says_so(client: onnxplain.Client) -> None:
    long = onnxplain.Interactions(pairwise_feature_count=4, threeway_feature_count=4)
    asked = {**ASKED, "row_count": 150, "engine": "BLACK_BOX"}
    others = [client.start(MODEL, ROWS, long, seed=s, **asked) for s in range(3)]
    operation = client.start(MODEL, ROWS, long, seed=9, **asked)
    operation.cancel()
    for other in others:
        other.delete()

    assert operation.wait(timeout=PATIENCE, progress=False)
    assert operation.state in {"CANCELLED", "SUCCEEDED"}
    if operation.state == "CANCELLED":
        with pytest.raises(onnxplain.ExplainError, match="cancelled"):
            operation.result()


def long_rows() -> dict[str, list[float]]:
    """Return so many rows that interactions take a minute."""
    random = np.random.default_rng(1)
    return {name: random.uniform(0, 7, 1_500).tolist() for name in ASKED["feature_columns"]}


LONG: dict[str, Any] = {"row_count": 1_500, "engine": "BLACK_BOX", "partial": True}
CURVE = onnxplain.PartialDependence(features=["petal_width"])
PAIRS = onnxplain.Interactions(pairwise_feature_count=4, threeway_feature_count=4)


def test_an_operation_gives_what_it_has_so_far(client: onnxplain.Client) -> None:
    rows = long_rows()
    operation = client.start(MODEL, rows, CURVE, PAIRS, **LONG)
    until(lambda: any(part.is_final for part in operation.partials()))
    [curve, *samples] = operation.partials()
    assert not operation.refresh().is_done
    operation.cancel()
    operation.wait(timeout=PATIENCE, progress=False)
    kept = operation.partials()
    same = client.explain(MODEL, rows, CURVE, **LONG | {"partial": False})

    assert (curve.index, curve.is_final) == (0, True)
    assert [(part.index, part.is_final) for part in samples] in ([], [(1, False)])
    alone = curve.explanations.message.explanations[0]
    assert alone == same.message.explanations[0]
    assert operation.state == "CANCELLED"
    assert kept[0].explanations.message.explanations[0] == alone
    operation.delete()
    with pytest.raises(onnxplain.ExplainError, match="no operation"):
        operation.partials()


def test_the_answer_of_an_operation_with_parts_is_that_without(client: onnxplain.Client) -> None:
    asked = ASKED | {"row_count": 22}
    operation = client.start(MODEL, ROWS, CURVE, LOSS, partial=True, **asked)
    answer = operation.result()
    same = client.explain(MODEL, ROWS, CURVE, LOSS, **asked)
    operation.refresh()

    assert answer.message.explanations == same.message.explanations
    assert operation.partial_count >= 1
    assert operation.partials() == ()


def test_only_streams_and_operations_have_parts(client: onnxplain.Client) -> None:
    for call in (client.explain, client.plan):
        with pytest.raises(ValueError, match="explain_stream and start"):
            call(MODEL, ROWS, LOSS, partial=True, **ASKED)
    request = to_request(MODEL, ROWS, LOSS, partial=True, **ASKED)
    for message in (client.messages.explain, partial(client.messages.answer, PLAN)):
        if message == client.messages.explain and isinstance(client.messages, LocalMessages):
            continue  # it has its progress by a stream
        with pytest.raises(onnxplain.ExplainError) as caught:
            message(request)
        assert (caught.value.reason, caught.value.field) == ("INVALID_OPTION", "partial")


def test_coroutines_give_parts_too(server: Server) -> None:
    async def ask() -> list[int]:
        async with onnxplain.connect_async(f"127.0.0.1:{server.grpc_port}") as client:
            operation = await client.start(MODEL, long_rows(), CURVE, PAIRS, **LONG)
            parts = await operation.partials()
            while not any(part.is_final for part in parts):
                await asyncio.sleep(0.02)
                parts = await operation.partials()
            await operation.delete()
            return [part.index for part in parts if part.is_final]

    assert asyncio.run(ask()) == [0]


def test_parts_over_rest_are_those_of_grpc(server: Server) -> None:
    with onnxplain.connect(f"127.0.0.1:{server.grpc_port}") as client:
        operation = client.start(MODEL, long_rows(), CURVE, PAIRS, **LONG)
        until(lambda: operation.refresh().partial_count)
        operation.cancel()
        operation.wait(timeout=PATIENCE, progress=False)
        connection = HTTPConnection("127.0.0.1", server.rest_port)
        with closing(connection):
            connection.request("GET", f"/v1/{operation.name}/partials")
            answer = connection.getresponse()
            document = json.loads(answer.read())
        parts = client.messages.operations.partials(operation.name)

    assert answer.status == 200
    assert document == {"partials": [json.loads(canonical.encode(part)) for part in parts]}
    assert len(parts) >= 1


def test_a_wait_of_no_time_returns(client: onnxplain.Client) -> None:
    operation = client.start(MODEL, ROWS, LOSS, seed=11, **ASKED)

    assert operation.wait(timeout=0, progress=False) == operation.is_done
    operation.delete()


def test_a_filter_that_cannot_be_read_is_an_error(client: onnxplain.Client) -> None:
    with pytest.raises(onnxplain.ExplainError) as caught:
        list(client.operations("colour = red"))
    assert (caught.value.reason, caught.value.field) == ("INVALID_REQUEST", "filter")


def test_a_large_request_names_its_files(server: Server) -> None:
    with onnxplain.connect(f"127.0.0.1:{server.grpc_port}", message_limit=2**16) as client:
        operation = client.start(MODEL, ROWS, LOSS, seed=12, **ASKED)
        assert operation.wait(timeout=PATIENCE)
        # Longer than this client's limit of a message.
        assert operation.state == "SUCCEEDED"


def test_coroutines_do_the_same(server: Server) -> None:
    async def ask() -> tuple[Any, list[str], str]:
        async with onnxplain.connect_async(f"127.0.0.1:{server.grpc_port}") as client:
            operation = await client.start(
                MODEL, ROWS, LOSS, seed=13, labels={"run": "async"}, **ASKED
            )
            found = [one.name async for one in client.operations("labels.run = async")]
            again = await client.operation(operation.name)
            explanation = await again.result(timeout=PATIENCE)
            assert found == [operation.name]
            await operation.refresh()
            await operation.cancel()
            await operation.delete()
            return explanation.average_loss, found, operation.state

    result, found, state = asyncio.run(ask())

    assert result
    assert re.fullmatch(r"operations/[0-9a-f]{32}", found[0])
    assert state == "SUCCEEDED"


def test_a_server_without_operations_names_the_setting() -> None:
    settings = load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0})
    server = Server(*(settings, _runner(), _cache(), _blobs()), decoder=LocalDecoder())
    with (
        onnxplain.connect(f"127.0.0.1:{server.grpc_port}") as client,
        pytest.raises(onnxplain.ExplainError, match="redis_url") as caught,
    ):
        client.start(MODEL, ROWS, LOSS, **ASKED)
    server.drain(0)

    assert (caught.value.reason, caught.value.code) == (
        "OPERATIONS_DISABLED",
        "UNIMPLEMENTED",
    )
