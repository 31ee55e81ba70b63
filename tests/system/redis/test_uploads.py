"""Uploads to two servers on one Redis, of the sizes that people have."""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import grpc
import numpy as np
import onnx
import pyarrow as pa
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain.v1.upload_pb2 import UploadModelRequest, UploadTableRequest

SECRET = "0123456789abcdef"  # noqa: S105 - of the tests' own Redis


def large_model() -> bytes:
    """Ten inputs and 20 MB of weights."""
    weights = np.random.default_rng(0).normal(size=(10, 500_000)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["rows", "weights"], ["wide"]),
            helper.make_node("ReduceMean", ["wide"], ["score"], axes=[1], keepdims=1),
        ],
        "large",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, 10])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(weights, "weights")],
    )
    opset = [helper.make_opsetid("", 17)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opset, ir_version=9)
    return bytes(model.SerializeToString())


def large_table() -> bytes:
    """1.25 million rows of ten columns in Arrow's format: 100 MB."""
    columns = np.random.default_rng(1).normal(size=(10, 1_250_000))
    table = pa.table({f"x{j}": column for j, column in enumerate(columns)})
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def parts(content: bytes) -> Iterator[bytes]:
    return (content[start : start + 2**20] for start in range(0, len(content), 2**20))


def id_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def upload_model(stub, content: bytes) -> str:
    return str(stub.UploadModel(UploadModelRequest(content=part) for part in parts(content)).id)


def upload_table(stub, content: bytes) -> str:
    return str(
        stub.UploadTable(
            UploadTableRequest(format="ARROW", content=part) for part in parts(content)
        ).id
    )


@pytest.fixture
def connect() -> Iterator[Callable[[Any], Any]]:
    """Makes stubs of servers."""
    channels: list[Any] = []

    def make(server):
        channels.append(grpc.insecure_channel(server.endpoint))
        return ExplanationServiceStub(channels[-1])

    yield make
    for channel in channels:
        channel.close()


def uploaded_anew(stub) -> None:
    """Have a server put something small into its Redis."""
    upload_table(stub, secrets.token_bytes(100))


def explain(stub, model: str, table: str):
    request = ExplainRequest(model=Model(id=model), table=Table(id=table), row_count=20)
    request.methods.add().partial_dependence.grid_size = 5
    return stub.Explain(request)


@pytest.fixture(scope="module")
def files() -> tuple[bytes, bytes]:
    return large_model(), large_table()


@pytest.mark.slow
def test_a_hundred_megabytes_of_table_and_twenty_of_model_go_through_two_servers(
    serve,
    redis_server,
    connect: Callable[[Any], Any],
    files: tuple[bytes, bytes],
    undisturbed: Callable[..., None],
) -> None:
    """Uploaded to one, explained by the other; the first never takes more than it keeps twice."""
    model, table = files
    settings = {
        "redis_url": redis_server.url,
        "cache_secret": SECRET,
        # Two calls of 128 rows, 2 MB each, do not fit beside the rest: these are made with fewer.
        "worker_bytes": "820MiB",
        "max_table_bytes": "128MiB",
        "upload_bytes": "160MiB",
    }
    one, other = serve(**settings), serve(**settings)
    before = one.memory("VmRSS")

    model_id, table_id = id_of(model), id_of(table)

    def attempt(_number: int) -> None:
        found_ids = upload_model(connect(one), model), upload_table(connect(one), table)
        assert found_ids == (model_id, table_id)
        explained.append(explain(connect(other), *found_ids))

    explained: list[Any] = []
    undisturbed([one, other], attempt, lambda server: uploaded_anew(connect(server)))

    (found,) = explained
    assert one.memory("VmHWM") - before < 2 * len(table) + len(model) + 40e6
    assert (found.receipt.model_digest, found.receipt.table_digest) == (model_id, table_id)
    assert found.receipt.row_count == 20
    assert len(found.explanations[0].partial_dependence.curves) == 10


@pytest.mark.slow
def test_uploads_work_while_redis_is_gone(
    serve, redis_server, connect: Callable[[Any], Any], network: bytes
) -> None:
    server = serve(redis_url=redis_server.url, cache_secret=SECRET)
    redis_server.kill()
    stub = connect(server)
    rows = pa.table({f"x{j}": np.arange(30.0) * (j + 1) for j in range(20)})
    file = io.BytesIO()
    with pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows)

    found = explain(stub, upload_model(stub, network), upload_table(stub, file.getvalue()))

    assert found.receipt.row_count == 20


@pytest.mark.slow
def test_an_upload_over_rest_is_found_by_the_other_server(
    serve,
    redis_server,
    connect: Callable[[Any], Any],
    network: bytes,
    undisturbed: Callable[..., None],
) -> None:
    shared = {"redis_url": redis_server.url, "cache_secret": SECRET}
    one, other = serve(**shared), serve(**shared)

    def attempt(_number: int) -> None:
        put = ask(one, "PUT", "/v1/models", network)
        described = ask(other, "GET", f"/v1/models/{id_of(network)}")
        unknown = ask(other, "GET", "/v1/models/sha256:" + "0" * 64)

        assert (put.status, described.status, unknown.status) == (200, 200, 404)

    undisturbed([one, other], attempt, lambda server: uploaded_anew(connect(server)))


def ask(server, method: str, path: str, body: bytes | None = None):
    connection = HTTPConnection("127.0.0.1", server.rest_port)
    connection.request(method, path, body, {"Content-Type": "application/octet-stream"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer
