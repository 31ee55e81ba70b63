"""gRPC server: the service, health checks and reflection, with keep-alive and connection limits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.longrunning.operations_pb2_grpc import add_OperationsServicer_to_server
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from onnxplain.v1.explanation_service_pb2_grpc import add_ExplanationServiceServicer_to_server

from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport.admission.authentication import Authenticator
from onnxplain_server.transport.admission.coming_uploads import ComingUploads
from onnxplain_server.transport.explainer.explainer import Explainer
from onnxplain_server.transport.grpc.grpc_access import AuthenticationInterceptor
from onnxplain_server.transport.grpc.grpc_inference import inference_handlers
from onnxplain_server.transport.grpc.grpc_operations import SILENT_COUNT, GrpcOperations
from onnxplain_server.transport.grpc.grpc_service import ExplanationServicer
from onnxplain_server.transport.grpc.grpc_tls import ServerCertificates, server_credentials
from onnxplain_server.transport.grpc.health import HealthServicer
from onnxplain_server.transport.grpc.interceptors import (
    ByteStreamInterceptor,
    DedicatedThreadPools,
)
from onnxplain_server.transport.grpc.receiving import MessageReceiver
from onnxplain_server.transport.grpc.reflection import (
    SERVICE_NAMES,
    STREAM_COUNT,
    add_reflection,
)
from onnxplain_server.transport.grpc_methods import (
    EXPLANATION_SERVICE,
    INFERENCE_SERVICE,
    MODEL_INFER,
    OPERATIONS_SERVICE,
)
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.operations.operation_calls import WAIT_LIMIT, OperationCalls
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.unread_replies import UnreadReplies

_PREFIXES = (
    *(f"/{name}/" for name in (EXPLANATION_SERVICE, OPERATIONS_SERVICE)),
    f"/{INFERENCE_SERVICE}/{MODEL_INFER}",
)
_PROBES = tuple(f"/{INFERENCE_SERVICE}/{name}" for name in ("Server", "ModelReady"))
_POOLS = {
    **dict.fromkeys(("/grpc.health.", *_PROBES), 2),
    "/grpc.reflection.": STREAM_COUNT,
}
"""Threads of services that have their own."""
_LISTED = (EXPLANATION_SERVICE, OPERATIONS_SERVICE, health.SERVICE_NAME)

_OTHER_THREADS = WAIT_LIMIT + SILENT_COUNT + 4
"""Of calls of operations, and of refusals."""

_HELD_STREAMS = 64
"""Most streams of a connection for requests that `service` holds."""
_SPARE_STREAMS = 200
"""Streams of a connection beyond those that `service` holds: they are refused with a status.

C-core refuses streams beyond the limit without one. It counts a stream until its call is freed,
which is after its caller can have begun another: up to twice as many as it has callers.
"""

_EVENT_BYTES = 1024
"""Room for what an event adds to a response."""


class GrpcServer:
    """A running gRPC server.

    Parameters
    ----------
    service : Service
        Serves the calls.
    metrics : Metrics
        Counts the calls.
    address : str
        "host:port"; port 0 chooses a free port.
    authenticator : Authenticator
        Authenticates the callers.
    tracer : Tracer
        Traces the calls.
    thread_count : int
        Threads that requests of `service` can occupy; a few more serve refusals
        without delay.
    message_bytes, response_bytes : int
        Size limits of requests and of responses.
    waiting_bytes : int
        Memory of uploads that are coming.
    unread : UnreadReplies
        Counts responses that wait for their readers.
    explainer : Explainer, optional
        Answers the Open Inference Protocol.
    longest_seconds : float
        Time limit of a call, for which old connections stay open.
    certificates : callable () -> ServerCertificates, optional
        Returns the current ones; without it, connections are not encrypted.

    Raises
    ------
    OSError
        If the address cannot be bound.
    """

    # Long: it is given the parts of a server, and connects them in their order.
    def __init__(
        self,
        service: Service,
        metrics: Metrics,
        address: str,
        authenticator: Authenticator,
        *,
        tracer: Tracer = UNTRACED,
        thread_count: int,
        message_bytes: int,
        response_bytes: int,
        waiting_bytes: int,
        unread: UnreadReplies,
        explainer: Explainer | None = None,
        longest_seconds: float,
        certificates: Callable[[], ServerCertificates] | None = None,
    ) -> None:
        self._health = HealthServicer()
        self._calls = ByteStreamInterceptor(_PREFIXES, unread)
        self._server = grpc.server(
            ThreadPoolExecutor(thread_count + _OTHER_THREADS, "onnxplain-grpc"),
            interceptors=[
                DedicatedThreadPools(_POOLS),
                self._calls,
                AuthenticationInterceptor(authenticator, _PREFIXES, metrics, tracer),
            ],
            options=_options(message_bytes, response_bytes, longest_seconds, thread_count),
        )
        calls = OperationCalls(service)
        explanations = ExplanationServicer(
            service,
            metrics,
            tracer,
            MessageReceiver(thread_count),
            calls,
            unread=unread,
            coming=ComingUploads(waiting_bytes),
            message_bytes=message_bytes,
        )
        add_ExplanationServiceServicer_to_server(explanations, self._server)
        # They have readers of their own, as they take no tickets.
        parts = metrics, tracer, MessageReceiver(SILENT_COUNT), calls
        add_OperationsServicer_to_server(GrpcOperations(*parts, unread=unread), self._server)
        self._names = _LISTED if explainer is None else (*_LISTED, INFERENCE_SERVICE)
        if explainer is not None:
            self._server.add_generic_rpc_handlers((inference_handlers(explainer, explanations),))
        self._add_names(is_ready=service.ready)
        self.port = _bind(self._server, address, certificates)
        self._server.start()

    def _add_names(self, *, is_ready: bool) -> None:
        """Serve what names the services: health checks and reflection."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self.set_ready(is_ready)
        add_reflection(self._server, self._names)

    def set_ready(self, ready: bool) -> None:
        """Set the health status to SERVING or NOT_SERVING; calls are served in any case."""
        statuses = health_pb2.HealthCheckResponse
        for name in (health.OVERALL_HEALTH, *self._names, *SERVICE_NAMES):
            self._health.set(name, statuses.SERVING if ready else statuses.NOT_SERVING)

    def announce_stop(self) -> None:
        """Set the health status to NOT_SERVING for good; calls are still served."""
        self._health.enter_graceful_shutdown()

    def stop(self, seconds: float, reply_seconds: float) -> None:
        """Drain gracefully: send GOAWAY, give calls `seconds`, then replies `reply_seconds`."""
        self._server.stop(seconds + reply_seconds)
        self._calls.wait_idle(seconds)
        self._server.stop(reply_seconds).wait()
        self._health.close()


def _bind(
    server: grpc.Server, address: str, certificates: Callable[[], ServerCertificates] | None
) -> int:
    try:
        if certificates is None:
            return int(server.add_insecure_port(address))
        return int(server.add_secure_port(address, server_credentials(certificates)))
    except RuntimeError as error:
        raise OSError(f"cannot listen on {address} for gRPC") from error


def _options(
    message_bytes: int, response_bytes: int, longest_seconds: float, thread_count: int
) -> list[tuple[str, int]]:
    options = {
        "grpc.max_concurrent_streams": min(thread_count, _HELD_STREAMS) + _SPARE_STREAMS,
        "grpc.max_receive_message_length": message_bytes,
        "grpc.max_send_message_length": response_bytes + _EVENT_BYTES,
        "grpc.max_metadata_size": 16 * 1024,
        # Without this, callers that are not yet received, or were refused, grow their windows: a
        # MiB of each is then in memory. A message that is read takes up to a MiB at a time.
        "grpc.http2.bdp_probe": 0,
        # Otherwise a second process could silently share the port.
        "grpc.so_reuseport": 0,
        "grpc.keepalive_time_ms": 60_000,
        "grpc.keepalive_timeout_ms": 20_000,
        "grpc.keepalive_permit_without_calls": 1,
        # Any number of pings: C-core answers one in a microsecond, and stops reading where 10,000
        # answers wait. Counting them as strikes closes the connection once for each further ping
        # that has come already, each time at the cost of all before: 170 kB took a second.
        "grpc.http2.max_ping_strikes": 0,
        # Close connections that never become HTTP/2, and idle ones.
        "grpc.server_handshake_timeout_ms": 15_000,
        "grpc.max_connection_idle_ms": 120_000,
        # Load balancers of connections rebalance only when clients reconnect.
        "grpc.max_connection_age_ms": 300_000,
        "grpc.max_connection_age_grace_ms": round(1000 * longest_seconds) + 5_000,
    }
    return list(options.items())
