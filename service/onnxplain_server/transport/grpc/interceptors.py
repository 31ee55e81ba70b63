"""What is changed about methods before grpc serves them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from onnxplain_server.core.errors import ExplainError, Reason

_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class DedicatedThreadPools(grpc.ServerInterceptor):  # type: ignore[misc] # grpc ships no types
    """Runs services on a few threads each of their own, so that no work can starve them."""

    def __init__(self, prefixes: tuple[str, ...]) -> None:
        self._pools = {prefix: ThreadPoolExecutor(2, "onnxplain-probe") for prefix in prefixes}

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the method's handler, moved to its threads where it is one of these services."""
        handler = continuation(details)
        for prefix, pool in self._pools.items():
            if handler is not None and details.method.startswith(prefix):
                return _moved(handler, pool)
        return handler


class MessageStreamInterceptor(grpc.ServerInterceptor):  # type: ignore[misc] # grpc ships no types
    """Gives the messages of every method of this service one by one, as they arrive.

    So a request can be refused before it is read, where grpc would first wait
    for it, on a thread; and bytes that are no message are the caller's fault,
    where grpc would blame the server. On the wire nothing differs.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._call_count = 0
        self._ended = threading.Condition()

    def wait_idle(self, seconds: float) -> None:
        """Wait until no call is on its way, even one that no thread has begun yet."""
        with self._ended:
            self._ended.wait_for(lambda: self._call_count == 0, seconds)

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the method's handler, changed where it is of this service."""
        handler = continuation(details)
        if handler is None or not details.method.startswith(self._prefix):
            return handler
        kind = _kind(handler)
        method = details.method.removeprefix(self._prefix)
        read = partial(_deserialized, handler.request_deserializer, method)
        answer = _each_reply if handler.response_streaming else _reply
        behaviour = partial(
            answer, counted=self._counted(), read=read, inner=getattr(handler, kind)
        )
        streaming = f"stream_{kind.partition('_')[2]}"
        changed = {kind: None, "request_streaming": True, "request_deserializer": None}
        return handler._replace(**{**changed, streaming: behaviour})

    def _counted(self) -> ExitStack:
        """Count a call from now until what is returned is left."""
        with self._ended:
            self._call_count += 1
        left = ExitStack()
        left.callback(self._end)
        return left

    def _end(self) -> None:
        with self._ended:
            self._call_count -= 1
            self._ended.notify_all()


def _reply(
    raws: Iterator[bytes],
    context: grpc.ServicerContext,
    *,
    counted: ExitStack,
    read: Callable[[bytes], Any],
    inner: Callable[[Any, Any], Any],
) -> Any:
    with counted:
        return inner(map(read, raws), context)


def _each_reply(
    raws: Iterator[bytes],
    context: grpc.ServicerContext,
    *,
    counted: ExitStack,
    read: Callable[[bytes], Any],
    inner: Callable[[Any, Any], Any],
) -> Iterator[Any]:
    with counted:
        yield from inner(map(read, raws), context)


def _deserialized(deserialize: Callable[[bytes], Any], method: str, raw: bytes) -> Any:
    try:
        return deserialize(raw)
    except DecodeError:
        message = f"the bytes are no {method}Request of this contract"
        raise ExplainError(Reason.INVALID_REQUEST, message) from None


def _moved(handler: Any, pool: ThreadPoolExecutor) -> Any:
    kind = _kind(handler)
    behaviour = partial(getattr(handler, kind))
    # These attributes of a behaviour are how grpc's server chooses its threads.
    behaviour.__dict__.update(getattr(getattr(handler, kind), "__dict__", {}))
    behaviour.__dict__["experimental_thread_pool"] = pool
    return handler._replace(**{kind: behaviour})


def _kind(handler: Any) -> str:
    return next(kind for kind in _KINDS if getattr(handler, kind) is not None)
