"""Authentication of gRPC callers, in an interceptor: before anything of a request is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.admission.authentication import Authenticator, Credentials
from onnxplain_server.transport.grpc_errors import answering, name_caller
from onnxplain_server.transport.grpc_methods import INFERENCE_SERVICE
from onnxplain_server.transport.metrics.request_metrics import Metrics

_EXEMPT = "/grpc.health.v1.Health/"
_EXEMPT_METHODS = frozenset(
    f"/{INFERENCE_SERVICE}/{name}"
    for name in ("ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata")
)

_HANDLERS = {
    False: grpc.stream_unary_rpc_method_handler,
    True: grpc.stream_stream_rpc_method_handler,
}


class AuthenticationInterceptor(grpc.ServerInterceptor):  # type: ignore[misc] # grpc ships no types
    """Authenticates the callers of all methods except health checks.

    Serves every method as one with a stream of requests, because grpc reads a
    unary request before it calls the handler. On the wire there is no difference.
    Methods of these services take such streams, see `ByteStreamInterceptor`.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        prefixes: tuple[str, ...],
        metrics: Metrics,
        tracer: Tracer,
    ) -> None:
        self._authenticator = authenticator
        self._prefixes = prefixes
        self._metrics = metrics
        self._tracer = tracer

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the method's handler, behind authentication."""
        handler = continuation(details)
        if (
            handler is None
            or details.method.startswith(_EXEMPT)
            or details.method in _EXEMPT_METHODS
        ):
            return handler
        is_own = details.method.startswith(self._prefixes)
        method = details.method.rpartition("/")[2] if is_own else details.method
        return _HANDLERS[handler.response_streaming](
            partial(self._answer, handler=handler, method=method, is_own=is_own),
            handler.request_deserializer,
            handler.response_serializer,
        )

    def _answer(
        self,
        requests: Iterator[Any],
        context: grpc.ServicerContext,
        *,
        handler: Any,
        method: str,
        is_own: bool,
    ) -> Any:
        """Authenticate on the method's thread: grpc calls `intercept_service` on its only one."""
        try:
            name_caller(context, self._authenticator.authenticate(_credentials(context)))
            argument = requests if handler.request_streaming or is_own else next(requests)
        except grpc.RpcError:
            raise  # the caller has disconnected
        except StopIteration:
            self._refuse(
                context, method, ExplainError(Reason.INVALID_REQUEST, "the call has no message")
            )
        except Exception as error:  # noqa: BLE001 - the border: `answering` replies
            self._refuse(context, method, error)
        return _behaviour(handler)(argument, context)

    def _refuse(self, context: grpc.ServicerContext, method: str, error: Exception) -> None:
        with answering(context, method, self._metrics, self._tracer):
            raise error


def _credentials(context: grpc.ServicerContext) -> Credentials:
    authorization = tuple(
        value for key, value in context.invocation_metadata() if key == "authorization"
    )
    certificate = context.auth_context().get("x509_pem_cert")
    return Credentials(authorization, certificate[0] if certificate else None)


def _behaviour(handler: Any) -> Any:
    return (
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    )
