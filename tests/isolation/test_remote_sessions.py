"""Remote models of isolated runners: a worker has the socket of its request, or none."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from hostile.base import model, node
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.model_pb2 import Model, RemoteModel
from onnxplain_server.adapters.workers.ipc.channel import (
    FROM_PARENT,
    FROM_WORKER,
    ClosedError,
    Frame,
    FrameChannel,
    FrameKind,
    MalformedError,
)
from onnxplain_server.adapters.workers.isolated import Isolated
from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import RequestFile, ServiceMethod

REMOTE = RemoteModel(uri="http://127.0.0.1:1", protocol=RemoteModel.OIP_REST, name="m")
BLOBS = {"remote:1": RequestFile("remote", REMOTE.SerializeToString(), "model.remote")}
DESCRIBE = DescribeModelRequest(model=Model(id="remote:1")).SerializeToString()


class Silent:
    """Sessions whose other end is held by the test, which answers as it likes."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.kept: list[socket.socket] = []

    def counts(self) -> Mapping[str, CallCounts]:
        return {}

    def check(self, model: bytes) -> None:
        """Allow everything."""

    @contextmanager
    def session(self, blobs: Any, _host: Any) -> Iterator[socket.socket | None]:
        if not blobs:
            yield None
            return
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(self.answer)
            ours.shutdown(socket.SHUT_WR)
            yield theirs


def test_neither_a_refused_session_nor_one_of_garbage_costs_a_worker(own: Any) -> None:
    runner = own()
    with pytest.raises(ExplainError) as refused:
        runner.answer(Call(ServiceMethod.DESCRIBE, DESCRIBE, BLOBS), own.call())

    assert refused.value.reason is Reason.REMOTE_MODEL_NOT_LISTED
    assert not any(runner.counts().ends.values())
    for answer in (b"", b"garbage", bytes(64)):
        runner._remote_sessions = Silent(answer)
        with pytest.raises(ExplainError) as failed:
            runner.answer(Call(ServiceMethod.DESCRIBE, DESCRIBE, BLOBS), own.call())
        assert failed.value.reason is Reason.REMOTE_MODEL_UNAVAILABLE
    again = own.request(model([node("Neg", "X")]).SerializeToString())

    assert own.answer(
        runner.answer(Call(ServiceMethod.EXPLAIN, again), own.call()).content
    ).explanations
    assert not any(runner.counts().ends.values())
    assert isinstance(runner, Isolated)


def channels() -> tuple[FrameChannel, FrameChannel]:
    parent, worker = socket.socketpair()
    return FrameChannel(parent, FROM_WORKER), FrameChannel(worker, FROM_PARENT)


def test_a_socket_stands_between_frames() -> None:
    parent, worker = channels()
    ours, theirs = socket.socketpair()
    with theirs:
        parent.send(Frame(FrameKind.CALL, 1, b"request"))
        parent.send_socket(theirs)
        parent.send(Frame(FrameKind.CANCEL, 1))

    assert worker.receive().payload == b"request"
    with worker.receive_socket() as received, ours:
        assert worker.receive().kind is FrameKind.CANCEL
        received.sendall(b"hello")
        assert ours.recv(5) == b"hello"
    parent.close()
    worker.close()


def test_no_socket_is_no_socket() -> None:
    parent, worker = channels()
    parent.send(Frame(FrameKind.CANCEL, 1))
    with pytest.raises(MalformedError):
        worker.receive_socket()
    parent.close()
    other, closed = channels()
    other.close()
    with pytest.raises(ClosedError):
        closed.receive_socket()
    worker.close()
    closed.close()
