"""gRPC methods of ExplanationService: bytes in and out; only uploads are parsed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial

import grpc
from onnxplain.v1.explanation_service_pb2 import (
    ExplainStreamResponse,
    ReadExplanationRequest,
    ReadExplanationResponse,
    ReadPartialExplanationsRequest,
)
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceServicer
from onnxplain.v1.upload_pb2 import UploadModelRequest, UploadTableRequest

from onnxplain_server.core.request import Reply, ReplyFormat, ServiceMethod
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.coming_uploads import ComingUploads
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.grpc import grpc_uploads
from onnxplain_server.transport.grpc.grpc_messages import caller_of, parser
from onnxplain_server.transport.grpc.interceptors import count, reserved
from onnxplain_server.transport.grpc.receiving import MessageReceiver
from onnxplain_server.transport.grpc_errors import answering
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.operations.operation_calls import PART_BYTES, OperationCalls
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.unread_replies import UnreadReplies
from onnxplain_server.wire.calls import ANSWERED, CALLS
from onnxplain_server.wire.protobuf_split import request_of_stream, request_to_start, split


class ExplanationServicer(ExplanationServiceServicer):
    """onnxplain.v1.ExplanationService, fed by `ByteStreamInterceptor`: requests are iterators.

    Messages are bytes, serialised, in both directions.

    Parameters
    ----------
    service : Service
    metrics : Metrics
    tracer : Tracer
    receiver : MessageReceiver
        Waits for messages.
    operations : OperationCalls
    unread : UnreadReplies
    coming : ComingUploads
    message_bytes : int
        Limit of a message.
    """

    def __init__(
        self,
        service: Service,
        metrics: Metrics,
        tracer: Tracer,
        receiver: MessageReceiver,
        operations: OperationCalls,
        *,
        unread: UnreadReplies,
        coming: ComingUploads,
        message_bytes: int,
    ) -> None:
        self._service = service
        self._metrics = metrics
        self._tracer = tracer
        self._receiver = receiver
        self._operations = operations
        self._unread = unread
        self._coming = coming
        self._message_bytes = message_bytes

    @property
    def is_ready(self) -> bool:
        """True while requests are admitted and can be computed."""
        return self._service.ready

    def Explain(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self.admitted(context, "Explain") as ticket:
            parts = split(self.receive(requests, ticket), ServiceMethod.EXPLAIN)
            return self._service.explain(parts, ticket, ReplyFormat.PROTOBUF).content

    def ExplainStream(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Serve this method of the contract."""
        with self.admitted(context, "ExplainStream") as ticket:
            request = request_of_stream(self.receive(requests, ticket))
            parts = split(request, ServiceMethod.EXPLAIN)
            with closing(self._service.events(parts, ticket, ReplyFormat.EVENT)) as events:
                for event in events:
                    if isinstance(event, Reply):
                        yield event.content
                    elif isinstance(event, bytes):
                        yield event
                    else:
                        yield ExplainStreamResponse(progress=event).SerializeToString()

    def StartExplanation(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self.admitted(context, "StartExplanation") as ticket:
            self._operations.check_enabled()
            content, start = request_to_start(self.receive(requests, ticket))
            parts = split(content, ServiceMethod.EXPLAIN)
            operation = self._operations.start(parts, ticket, start.request_id, start.labels)
            return bytes(operation.SerializeToString())

    def ReadExplanation(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Serve this method of the contract."""
        with self._called(context, "ReadExplanation") as caller:
            with self._service.admit(caller) as ticket:
                request = parser(ReadExplanationRequest)(self.receive(requests, ticket))
            # Without a place among those that are received: who reads slowly keeps none out.
            name, offset = request.name, request.offset
            parts = map(_read, self._operations.response_parts(ticket.caller.name, name, offset))
            while True:
                ticket.control.check("while the answer was read")
                # Before the part is there, so that not many of them come at once.
                with reserved(context, self._unread, PART_BYTES, ticket.control.deadline):
                    if (part := next(parts, None)) is None:
                        return
                    yield part

    def ReadPartialExplanations(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Serve this method of the contract."""
        with self._called(context, "ReadPartialExplanations") as caller, ExitStack() as waiting:
            with self._service.admit(caller) as ticket:
                request = parser(ReadPartialExplanationsRequest)(self.receive(requests, ticket))
                parts = self._operations.parts(ticket.caller.name, request.name)
                size, deadline = sum(map(len, parts)), ticket.control.deadline
                # All of them wait, until the last one is read.
                waiting.enter_context(reserved(context, self._unread, size, deadline))
            for part in parts:
                ticket.control.check("while the answer was read")
                yield part

    def UploadModel(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self.admitted(context, "UploadModel") as ticket:
            messages = map(parser(UploadModelRequest), self._parts(requests, ticket))
            reply = self._service.upload_model(grpc_uploads.model(messages), ticket)
            return reply.SerializeToString()

    def UploadTable(  # noqa: N802 - the contract's name
        self, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        """Serve this method of the contract."""
        with self.admitted(context, "UploadTable") as ticket:
            messages = map(parser(UploadTableRequest), self._parts(requests, ticket))
            form, parts = grpc_uploads.table(messages)
            return self._service.upload_table(form, parts, ticket).SerializeToString()

    def answer(self, method: ServiceMethod, requests: Iterator[bytes], ticket: Ticket) -> bytes:
        """Answer the request of a call by a method that is no explanation."""
        parts = split(self.receive(requests, ticket), method)
        return self._service.answer(method, parts, ticket, ReplyFormat.PROTOBUF).content

    def receive(self, requests: Iterator[bytes], ticket: Ticket) -> bytes:
        """Return the only message of a call, and count its bytes."""
        with ticket.caller.spans.measure("receive"):
            message = self._receiver.only(requests, ticket, self._message_bytes)
        ticket.caller.usage.received_byte_count = len(message)
        return message

    def _parts(self, requests: Iterator[bytes], ticket: Ticket) -> Iterator[bytes]:
        """Yield the messages of an upload, and count their bytes until the last one."""
        with self._coming.counted(ticket) as count_part:
            for message in self._receiver.messages(requests, ticket, grpc_uploads.PART_BYTES):
                count_part(len(message))
                yield message

    @contextmanager
    def admitted(self, context: grpc.ServicerContext, method: str) -> Iterator[Ticket]:
        """Hold a ticket during a call, and turn errors into its status."""
        with self._called(context, method) as caller, self._service.admit(caller) as ticket:
            yield ticket

    @contextmanager
    def _called(self, context: grpc.ServicerContext, method: str) -> Iterator[Caller]:
        """Turn errors of a call into its status; OVERLOADED for who reads no replies."""
        with answering(context, method, self._metrics, self._tracer) as record:
            caller = replace(caller_of(context, record.spans), usage=record.usage)
            check = partial(self._unread.check, caller.key)
            check()
            # Once more behind the queue: replies of others may have come before.
            deliver = partial(count, context, self._unread)
            yield replace(caller, begin=check, deliver=deliver)


def _read(part: bytes) -> bytes:
    """Serialise a part of an answer; who calls it keeps none of its copies."""
    return bytes(ReadExplanationResponse(content=part).SerializeToString())


def _answering(method: ServiceMethod) -> Callable[..., bytes]:
    """Return the method of the contract that a runner answers by this one."""

    def serve(
        self: ExplanationServicer, requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        with self.admitted(context, CALLS[method].rpc) as ticket:
            return self.answer(method, requests, ticket)

    return serve


for _method in ANSWERED:
    setattr(ExplanationServicer, CALLS[_method].rpc, _answering(_method))
