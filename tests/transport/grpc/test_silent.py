"""Calls whose caller neither sends nor reads: they hold few threads, and no place of others."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.longrunning.operations_pb2 import ListOperationsRequest, ListOperationsResponse
from google.longrunning.operations_pb2_grpc import OperationsStub
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    MethodOptions,
    ReadExplanationRequest,
    StartExplanationRequest,
)
from onnxplain.v1.firm_pb2 import FirmOptions
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import Reply
from onnxplain_server.transport import unread_replies
from onnxplain_server.transport.admission.coming_uploads import ComingUploads
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.grpc import grpc_operations, reflection
from onnxplain_server.transport.operations.operation_calls import PART_BYTES

from tools.unread_call import UnreadCall
from tools.waiting import PATIENCE_SECONDS, until


class Silence:
    """Requests that do not come, until its end."""

    def __init__(self, *first: Any) -> None:
        self.is_over = threading.Event()
        self._first = first

    def __iter__(self) -> Iterator[Any]:
        yield from self._first
        self.is_over.wait(PATIENCE_SECONDS)


LIST = reflection_pb2.ServerReflectionRequest(list_services="")


def test_a_caller_holds_few_streams_of_reflection(start, make_runner) -> None:
    """Further ones are refused; those of others find threads."""
    client = start(make_runner())
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    silence = Silence(LIST)
    held = [stub.ServerReflectionInfo(iter(silence)) for _ in range(2)]
    assert all(next(stream).HasField("list_services_response") for stream in held)

    with pytest.raises(grpc.RpcError) as refused:
        next(stub.ServerReflectionInfo(iter([LIST])))
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

    silence.is_over.set()
    assert [list(stream) for stream in held] == [[], []]
    assert len(list(stub.ServerReflectionInfo(iter([LIST])))) == 1


def test_a_stream_of_reflection_ends_by_its_clock(
    start, make_runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflection, "_STREAM_SECONDS", 0.0)
    client = start(make_runner())
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)

    with pytest.raises(grpc.RpcError) as ended:
        list(stub.ServerReflectionInfo(iter(Silence())))
    assert ended.value.code() is grpc.StatusCode.CANCELLED


def test_calls_of_operations_that_send_no_message_hold_few_threads(
    start, make_runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no ticket, whose number is limited; further ones are refused at once."""
    monkeypatch.setattr(grpc_operations, "_CALLER_SILENT_COUNT", 2)
    client = start(make_runner(), operations=MemoryOperations())
    silent = client.channel.stream_unary(
        "/google.longrunning.Operations/ListOperations",
        request_serializer=ListOperationsRequest.SerializeToString,
        response_deserializer=ListOperationsResponse.FromString,
    )
    silence = Silence()
    calls = [silent.future(iter(silence)) for _ in range(5)]

    until(lambda: sum(call.done() for call in calls) == 3)
    codes = [call.code() for call in calls if call.done()]
    assert codes == [grpc.StatusCode.RESOURCE_EXHAUSTED] * 3
    assert client.stub.Explain(ExplainRequest(seed=5)).receipt.seed == 5

    silence.is_over.set()
    until(lambda: all(call.done() for call in calls))
    assert not OperationsStub(client.channel).ListOperations(ListOperationsRequest()).operations


def test_who_reads_an_answer_of_an_operation_slowly_keeps_no_place_to_be_received(
    start, make_runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader holds its call alone, and no more parts wait than there is room for."""
    runner = make_runner()
    reply = Reply((ExplainResponse(summary=["a" * 2**21]).SerializeToString(),))
    runner.answer = lambda *_given: reply
    client = start(runner, operations=MemoryOperations())
    asked = ExplainRequest(methods=[MethodOptions(firm=FirmOptions())])
    name = client.stub.StartExplanation(StartExplanationRequest(request=asked)).name
    operations = OperationsStub(client.channel)
    until(lambda: operations.ListOperations(ListOperationsRequest()).operations[0].done)

    message = ReadExplanationRequest(name=name).SerializeToString()
    method = "/onnxplain.v1.ExplanationService/ReadExplanation"
    with closing(UnreadCall(client.server.grpc_port, method, message, "127.0.0.2")):
        # More than the list of operations before, whose reply may be counted still.
        until(lambda: client.server._unread.byte_count >= 2 * PART_BYTES)
        assert client.server._scheduler.counts().in_flight_count == 0

        client.server._unread.byte_limit = 3 * 2**20
        monkeypatch.setattr(unread_replies, "_ROOM_SECONDS", 0.0)
        with pytest.raises(grpc.RpcError, match="no room for this one"):
            list(client.stub.ReadExplanation(ReadExplanationRequest(name=name)))


def test_pings_are_no_strikes(start, make_runner) -> None:
    """Where they are, C-core closes the connection once for each that has come already."""
    ping = struct.pack(">I", 8)[1:] + bytes((6, 0)) + bytes(4) + b"12345678"
    answer = ping[:4] + b"\x01" + ping[5:]
    address = "127.0.0.1", start(make_runner()).server.grpc_port
    with socket.create_connection(address, PATIENCE_SECONDS) as caller:
        caller.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4)) + bytes(5))
        for _ in range(10):
            caller.sendall(ping)
            received = b""
            while answer not in received:
                part = caller.recv(2**16)
                assert part
                received += part


def ticket(name: str) -> Ticket:
    caller: Any = SimpleNamespace(
        key=name, seconds=PATIENCE_SECONDS, is_disconnected=lambda: False, start=None
    )
    return Ticket(caller, threading.RLock())


def test_uploads_that_are_coming_have_a_bound_in_memory() -> None:
    """The newest of the caller with most makes room; where nobody has more, none comes in."""
    account = ComingUploads(100)
    first, second, third, other = map(ticket, ("eve", "eve", "eve", "ada"))
    with (
        account.counted(first) as of_first,
        account.counted(second) as of_second,
        account.counted(third) as of_third,
        account.counted(other) as of_other,
    ):
        of_first(40)
        of_second(40)
        with pytest.raises(ExplainError) as refused:
            of_third(21)
        assert refused.value.reason is Reason.OVERLOADED
    with (
        account.counted(first) as of_first,
        account.counted(second) as of_second,
        account.counted(other) as of_other,
    ):
        of_first(40)
        of_second(40)
        of_other(21)
        first.check()
        with pytest.raises(ExplainError) as ended:
            second.check()
        assert ended.value.reason is Reason.OVERLOADED
        of_second(50)  # its bytes count no longer
        of_other(39)

    with account.counted(first) as of_first:
        of_first(1_000)
