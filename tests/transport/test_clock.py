"""Wall clock jumps and DNS failures, which requests do not notice."""

from __future__ import annotations

import socket
import threading
import time

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.upload_pb2 import UploadModelRequest
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.shared_storage import SharedStorage
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.quarantine import Quarantine
from onnxplain_server.core.errors import ExplainError, Reason

PATIENCE = 120.0
JUMPS = pytest.mark.parametrize("jump", [1e7, -1e7], ids=["forward", "backward"])


@pytest.fixture
def leap(monkeypatch: pytest.MonkeyPatch):
    """Make the clock of the wall jump by so many seconds."""
    now = time.time

    def change(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: now() + seconds)

    return change


@JUMPS
def test_deadlines_and_uploads_do_not_follow_the_clock_of_the_wall(
    start, make_runner, leap, jump: float
) -> None:
    release = threading.Event()
    runner = make_runner(lambda _host: release.wait(PATIENCE))
    client = start(runner)
    model = client.stub.UploadModel(
        iter([UploadModelRequest(content=b"\x3a\x04\x0a\x00\x62\x00")])
    ).id
    running = client.stub.Explain.future(ExplainRequest(seed=5), timeout=PATIENCE)
    assert runner.started.acquire(timeout=PATIENCE)

    leap(jump)
    release.set()

    assert running.result(timeout=PATIENCE).receipt.seed == 5
    assert client.stub.Explain(ExplainRequest(model=Model(id=model), seed=6)).receipt.seed == 6
    assert client.rest("GET", "/readyz").status == 200


@JUMPS
def test_deadlines_still_end_work_after_the_clock_of_the_wall_has_jumped(
    start, make_runner, endless, leap, jump: float
) -> None:
    client = start(make_runner(endless), max_seconds=0.5)
    leap(jump)

    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Explain(ExplainRequest())

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


@JUMPS
def test_a_quarantine_does_not_end_when_the_clock_of_the_wall_jumps(leap, jump: float) -> None:
    quarantine = Quarantine(PATIENCE)
    for _ in range(2):
        quarantine.record_crash("a model")

    leap(jump)

    with pytest.raises(ExplainError) as caught:
        quarantine.check("a model")
    assert caught.value.reason is Reason.MODEL_QUARANTINED


def test_numbers_are_found_though_the_name_of_redis_no_longer_resolves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*_given, **_named):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", lost)
    memory = MemoryCache(1_000, Signer(b"secret"))
    cache = SharedStorage("redis://cache.example:6379/0", b"a secret of 16 by").cache(memory, 60)

    cache.put_many({"grid": b"1"})
    assert cache.get_many(["grid", "other"]) == [b"1", None]
