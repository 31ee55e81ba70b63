"""Who calls over gRPC, found out before anything of a request is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import grpc

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.tracing import Tracer
from onnxplain_server.transport.admission.authentication import Authenticator, Credentials
from onnxplain_server.transport.grpc.grpc_errors import answering, name_caller
from onnxplain_server.transport.metrics.request_metrics import Metrics

_EXEMPT = "/grpc.health.v1.Health/"

_HANDLERS = {
    False: grpc.stream_unary_rpc_method_handler,
    True: grpc.stream_stream_rpc_method_handler,
}


class AuthenticationInterceptor(grpc.ServerInterceptor):  # type: ignore[misc] # grpc ships no types
    """Lets only known authenticator to all methods but those of health.

    Every method is served as one of a stream of requests: grpc would read the
    only request of another before anybody is asked who sent it. On the wire
    there is no difference. Our own methods take such streams, see `MessageStreamInterceptor`.
    """

    def __init__(
        self, authenticator: Authenticator, prefix: str, metrics: Metrics, tracer: Tracer
    ) -> None:
        self._authenticator = authenticator
        self._prefix = prefix
        self._metrics = metrics
        self._tracer = tracer

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the method's handler, behind the guard."""
        handler = continuation(details)
        if handler is None or details.method.startswith(_EXEMPT):
            return handler
        method = details.method.removeprefix(self._prefix)
        return _HANDLERS[handler.response_streaming](
            partial(self._answer, handler=handler, method=method, ours=method != details.method),
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
        ours: bool,
    ) -> Any:
        """Identify on the method's own thread: grpc calls `intercept_service` on its only one."""
        try:
            name_caller(context, self._authenticator.authenticate(_credentials(context)))
            given = requests if handler.request_streaming or ours else next(requests)
        except grpc.RpcError:
            raise  # the caller has gone
        except StopIteration:
            self._refuse(
                context, method, ExplainError(Reason.INVALID_REQUEST, "there is no message")
            )
        except Exception as error:  # noqa: BLE001 - the border: authenticator are told by `answering`
            self._refuse(context, method, error)
        return _behaviour(handler)(given, context)

    def _refuse(self, context: grpc.ServicerContext, method: str, error: Exception) -> None:
        with answering(context, method, self._metrics, self._tracer):
            raise error


def _credentials(context: grpc.ServicerContext) -> Credentials:
    sent = tuple(value for key, value in context.invocation_metadata() if key == "authorization")
    certificate = context.auth_context().get("x509_pem_cert")
    return Credentials(sent, certificate[0] if certificate else None)


def _behaviour(handler: Any) -> Any:
    return (
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    )
