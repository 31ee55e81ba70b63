"""Interceptors: own threads for health checks, and requests of every method as byte streams."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import grpc

from onnxplain_server.transport.grpc.grpc_messages import caller_key
from onnxplain_server.transport.unread_replies import UnreadReplies

_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class DedicatedThreadPools(grpc.ServerInterceptor):  # type: ignore[misc] # grpc ships no types
    """Runs services on small thread pools of their own, so that no load can starve them.

    Parameters
    ----------
    thread_counts : mapping of str to int
        By the prefix of the methods.
    """

    def __init__(self, thread_counts: Mapping[str, int]) -> None:
        self._pools = {
            prefix: ThreadPoolExecutor(count, "onnxplain-probe")
            for prefix, count in thread_counts.items()
        }

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the method's handler; of these services, moved to its own thread pool."""
        handler = continuation(details)
        for prefix, pool in self._pools.items():
            if handler is not None and details.method.startswith(prefix):
                return _moved(handler, pool)
        return handler


class ByteStreamInterceptor(grpc.ServerInterceptor):  # type: ignore[misc] # grpc ships no types
    """Passes an iterator of serialised messages to every method of some services, unary ones too.

    So a method can refuse a request before it is read, where grpc would first wait
    for it on a thread; it decides what is parsed; and its replies are bytes, too. On
    the wire there is no difference.

    Parameters
    ----------
    prefixes : tuple of str
        Of the methods.
    unread : UnreadReplies
        Counts replies until grpc has sent them.
    """

    def __init__(self, prefixes: tuple[str, ...], unread: UnreadReplies) -> None:
        self._prefixes = prefixes
        self._unread = unread
        self._call_count = 0
        self._idle = threading.Condition()

    def wait_idle(self, seconds: float) -> None:
        """Wait until no call is in flight, including calls that wait for a thread."""
        with self._idle:
            self._idle.wait_for(lambda: self._call_count == 0, seconds)

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Return the method's handler; of these services, changed to a stream of requests."""
        handler = continuation(details)
        if handler is None or not details.method.startswith(self._prefixes):
            return handler
        kind = _kind(handler)
        answer = _each_reply if handler.response_streaming else _reply
        behaviour = partial(
            answer,
            in_flight=self._count_call(),
            inner=getattr(handler, kind),
            unread=self._unread,
        )
        streaming = f"stream_{kind.partition('_')[2]}"
        changed = {
            kind: None,
            "request_streaming": True,
            "request_deserializer": None,
            "response_serializer": None,
        }
        return handler._replace(**{**changed, streaming: behaviour})

    def _count_call(self) -> ExitStack:
        """Count a call in flight until the returned context is left."""
        with self._idle:
            self._call_count += 1
        call = ExitStack()
        call.callback(self._end)
        return call

    def _end(self) -> None:
        with self._idle:
            self._call_count -= 1
            self._idle.notify_all()


def _reply(
    raws: Iterator[bytes],
    context: grpc.ServicerContext,
    *,
    in_flight: ExitStack,
    inner: Callable[[Any, Any], Any],
    unread: UnreadReplies,
) -> Any:
    with in_flight:
        reply = inner(raws, context)
    count(context, unread, len(reply))
    return reply


def _each_reply(
    raws: Iterator[bytes],
    context: grpc.ServicerContext,
    *,
    in_flight: ExitStack,
    inner: Callable[[Any, Any], Any],
    unread: UnreadReplies,
) -> Iterator[Any]:
    # Weak: a call that has ended refers to this generator, and would outlive it.
    called = weakref.ref(context)
    with in_flight:
        for reply in inner(raws, context):
            remove = unread.add(called, caller_key(context), len(reply), partial(cancel, called))
            try:
                # It goes on once grpc has passed the message on.
                yield reply
            finally:
                remove()


def count(
    context: grpc.ServicerContext,
    unread: UnreadReplies,
    byte_count: int,
    deadline: float | None = None,
) -> None:
    """Count the reply of a call until the call ends; with a deadline, once there is room for it."""
    reply = weakref.ref(context), caller_key(context), byte_count, context.cancel
    remove = unread.add(*reply) if deadline is None else unread.reserve(*reply, deadline)
    # Called at the end of the call, which is behind the reply; false where it has ended already.
    if not context.add_callback(remove):
        remove()


@contextmanager
def reserved(
    context: grpc.ServicerContext, unread: UnreadReplies, byte_count: int, deadline: float
) -> Iterator[None]:
    """Count a message of a stream while it is passed on, once there is room for it."""
    called = weakref.ref(context)
    drop = partial(cancel, called)
    reply = called, caller_key(context), byte_count, drop
    remove = unread.reserve(*reply, deadline, is_part=True)
    try:
        yield
    finally:
        remove()


def cancel(called: weakref.ref[grpc.ServicerContext]) -> None:
    """Cancel a call, unless it has ended."""
    if (context := called()) is not None:
        context.cancel()


def _moved(handler: Any, pool: ThreadPoolExecutor) -> Any:
    kind = _kind(handler)
    behaviour = partial(getattr(handler, kind))
    # grpc's server chooses a thread pool by these attributes of a behaviour.
    behaviour.__dict__.update(getattr(getattr(handler, kind), "__dict__", {}))
    behaviour.__dict__["experimental_thread_pool"] = pool
    return handler._replace(**{kind: behaviour})


def _kind(handler: Any) -> str:
    return next(kind for kind in _KINDS if getattr(handler, kind) is not None)
