"""Waiting of calls: on a thread, or in an event loop, for flows that are coroutines for both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, Protocol, TypeVar

_Result = TypeVar("_Result")


class Waiting(Protocol):
    """Waiting for calls of gRPC."""

    async def answer(self, call: Any) -> Any:
        """Return the response of a call."""

    def events(self, call: Any) -> AsyncGenerator[Any]:
        """Yield the messages of a stream."""

    async def pause(self, seconds: float) -> None:
        """Wait for some time."""


class OnThread:
    """`Waiting` by blocking the thread: `grpc` has the response where a call returns."""

    async def answer(self, call: Any) -> Any:
        """Return the response, which is there."""
        return call

    async def events(self, call: Any) -> AsyncGenerator[Any]:
        """Yield the messages of a stream."""
        for event in call:
            yield event

    async def pause(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


class InEventLoop:
    """`Waiting` of `grpc.aio`."""

    async def answer(self, call: Any) -> Any:
        """Return the response of a call."""
        return await call

    async def events(self, call: Any) -> AsyncGenerator[Any]:
        """Yield the messages of a stream."""
        async for event in call:
            yield event

    async def pause(self, seconds: float) -> None:
        """Sleep, and let other tasks run."""
        await asyncio.sleep(seconds)


def finished(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine whose waiting is `OnThread` to its end, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine that waits for an event loop ran on a thread")


def finished_each(generator: AsyncGenerator[_Result]) -> Iterator[_Result]:
    """Yield what a generator whose waiting is `OnThread` yields; leaving the loop closes it."""
    try:
        while True:
            try:
                event = finished(generator.__anext__())
            except StopAsyncIteration:
                return
            yield event
    finally:
        finished(generator.aclose())
