"""Server on free ports over a fake runner, shared by the tests of transports."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import (
    CheckModelRequest,
    CheckModelResponse,
    DescribeModelRequest,
    DescribeModelResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    ExplainRequest,
    ExplainResponse,
    PredictRequest,
    PredictResponse,
    Progress,
    Receipt,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub
from onnxplain.v1.model_pb2 import ModelDescription
from onnxplain.v1.plan_pb2 import ExplanationPlan, MethodPlan
from onnxplain.v1.prediction_comparison_pb2 import PredictionComparison
from onnxplain.v1.table_description_pb2 import ColumnDescription, TableDescription
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.config.loading import load
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.interfaces import Blobs, Call, ComputationHost, Runner
from onnxplain_server.core.operation_store import OperationStore
from onnxplain_server.core.request import Reply as Encoded
from onnxplain_server.core.request import ReplyFormat, RequestFile, Work
from onnxplain_server.serve import Server
from onnxplain_server.transport import events
from onnxplain_server.transport.events import LatestProgress
from onnxplain_server.wire.reply import encode

PATIENCE = 120.0
"""Seconds that only something endless takes, even on a busy machine."""


class FakeRunner:
    """Keeps what it was asked, and does `work` with it."""

    def __init__(self, work: Callable[[ComputationHost], None] = lambda _host: None) -> None:
        self.work = work
        self.plan_of_operation: Callable[[ComputationHost], ExplanationPlan] = lambda _host: (
            ExplanationPlan()
        )
        self.requests: list[ExplainRequest] = []
        self.blobs: list[Blobs] = []
        self.started = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

    def answer(self, call: Call, host: ComputationHost) -> Encoded:
        """Answer by the method of the same name."""
        reply: Encoded = getattr(self, call.method.value)(call, host)
        return reply

    def explain(self, call: Call, host: ComputationHost) -> Encoded:
        """Answer by a receipt that repeats the seed."""
        self.requests.append(as_sent(ExplainRequest.FromString(call.request), call.blobs))
        self.blobs.append({name: blob for name, blob in call.blobs.items() if is_upload(blob)})
        self._do(host)
        response = ExplainResponse(receipt=Receipt(seed=self.requests[-1].seed))
        return encode(response, call.reply_format, math.inf)

    def plan(self, call: Call, host: ComputationHost) -> Encoded:
        """Plan one method for each row that is asked for; an operation, as a test says."""
        if call.reply_format is ReplyFormat.KEPT:
            return encode(self.plan_of_operation(host), call.reply_format, math.inf)
        self.requests.append(as_sent(ExplainRequest.FromString(call.request), call.blobs))
        self._do(host)
        methods = [MethodPlan(row_count=self.requests[-1].row_count)]
        return encode(ExplanationPlan(methods=methods), call.reply_format, math.inf)

    def describe(self, call: Call, host: ComputationHost) -> Encoded:
        """Answer by the model's size."""
        self._do(host)
        model = as_sent(DescribeModelRequest.FromString(call.request), call.blobs).model
        description = ModelDescription(digest=f"{len(model.content)} bytes")
        return encode(DescribeModelResponse(model=description), call.reply_format, math.inf)

    def describe_table(self, call: Call, host: ComputationHost) -> Encoded:
        """Answer by the columns of the request."""
        self._do(host)
        asked = as_sent(DescribeTableRequest.FromString(call.request), call.blobs)
        columns = [ColumnDescription(name=each.name) for each in asked.table.columns.columns]
        description = TableDescription(columns=columns)
        return encode(DescribeTableResponse(table=description), call.reply_format, math.inf)

    def predict(self, call: Call, host: ComputationHost) -> Encoded:
        """Predict the rows that are asked for, after their plan."""
        asked = as_sent(PredictRequest.FromString(call.request), call.blobs)
        count = len(asked.row_indices)
        host.advance(0, count)
        self._do(host)
        response = PredictResponse(row_indices=asked.row_indices)
        return encode(response, call.reply_format, math.inf, Work((), count, count))

    def check(self, call: Call, host: ComputationHost) -> Encoded:
        """Tell as many rows as there are columns to compare."""
        asked = as_sent(CheckModelRequest.FromString(call.request), call.blobs)
        self._do(host)
        count = len(asked.expected_prediction_columns)
        response = CheckModelResponse(comparison=PredictionComparison(row_count=count))
        return encode(response, call.reply_format, math.inf, Work((), count, count))

    def _do(self, host: ComputationHost) -> None:
        self.started.release()
        try:
            self.work(host)
        finally:
            self.ended.release()


def is_upload(blob: RequestFile) -> bool:
    return blob.field.endswith(".id")


def as_sent(request, blobs: Blobs):
    """Put the files that came with a request back into it."""
    for name in ("model", "table"):
        part = getattr(request, name, None)
        if part is None or part.id not in blobs or is_upload(blobs[part.id]):
            continue
        blob = blobs[part.id]
        if name == "model":
            part.content = bytes(blob.content)
        elif blob.form == "columns":
            part.columns.ParseFromString(bytes(blob.content))
        else:
            setattr(part, blob.field.rpartition(".")[2], bytes(blob.content))
    return request


@dataclass
class Reply:
    """What came over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Both ways to a running server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{server.grpc_port}",
            options=[
                ("grpc.max_receive_message_length", -1),
                ("grpc.use_local_subchannel_pool", 1),
            ],
        )
        self.stub = ExplanationServiceStub(self.channel)

    def rest(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask once, over a connection of its own."""
        return _ask(self.server.rest_port, method, path, body, headers)

    def metrics(self, path: str = "/metrics", method: str = "GET", **headers: str) -> Reply:
        """Ask for the page of metrics."""
        return _ask(self.server.metrics_port, method, path, None, headers)

    def post(self, document: object, **headers: str) -> Reply:
        """Ask for an explanation in JSON."""
        text = document if isinstance(document, str | bytes) else json.dumps(document)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.rest(
            "POST", "/v1/explanations", text, {"Content-Type": "application/json", **given}
        )

    def connect(self) -> socket.socket:
        """Open a bare connection to REST."""
        return socket.create_connection(("127.0.0.1", self.server.rest_port), timeout=PATIENCE)


def _ask(
    port: int, method: str, path: str, body: bytes | str | None, headers: Mapping[str, str] | None
) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return Reply(answer.status, dict(answer.headers), answer.read())
    finally:
        connection.close()


@pytest.fixture
def make_runner() -> type[FakeRunner]:
    """The class of runners that do what a test says."""
    return FakeRunner


@cache
def loaded(*settings: tuple[str, object]) -> Settings:
    """Load settings, once for all tests that give the same: it takes as long as a small test."""
    return load(dict(settings))


@pytest.fixture
def start() -> Iterator[Callable[..., Client]]:
    """Start a server over a runner; settings by name."""
    clients: list[Client] = []

    def begin(
        runner: Runner,
        ready: Callable[[], bool] = lambda: True,
        operations: OperationStore | None = None,
        **settings: object,
    ) -> Client:
        ports = {"rest_port": 0, "grpc_port": 0, "metrics_port": 0}
        chosen = loaded(*sorted((ports | settings).items()))
        effects = MemoryCache(1_000_000, Signer(b"secret"))
        store = MemoryBlobs(chosen.upload_bytes, chosen.upload_seconds)
        server = Server(
            *(chosen, runner, effects, store),
            decoder=LocalDecoder(),
            ready=ready,
            operations=operations,
        )
        clients.append(Client(server))
        return clients[-1]

    yield begin
    for client in clients:
        client.channel.close()
        client.server.drain(0)


@pytest.fixture
def endless() -> Iterator[Callable[[ComputationHost], None]]:
    """Work that ends only when it is stopped, or with its test."""
    over = threading.Event()

    def work(host: ComputationHost) -> None:
        for step in itertools.count():
            host.advance(min(step, 9_999), 10_000)
            if over.wait(0.01):
                return

    yield work
    over.set()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Wait until the server has looked for progress since, and has told what there was."""
    looked = threading.Semaphore(0)

    class Looked(LatestProgress):
        def take(self) -> Progress | None:
            found = super().take()
            looked.release()
            return found

    monkeypatch.setattr(events, "LatestProgress", Looked)

    def wait() -> None:
        while looked.acquire(blocking=False):
            pass
        # The first may have begun before.
        for _ in range(2):
            assert looked.acquire(timeout=PATIENCE)

    return wait
