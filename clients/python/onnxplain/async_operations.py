"""Operations for asyncio: the calls of `Operation` as coroutines."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any

from onnxplain.errors import ShortTracebacks
from onnxplain.events import PartialExplanation, to_partial
from onnxplain.operations import STEP_SECONDS, OperationView, pause_after, report, response_of
from onnxplain.progress import ProgressCallback, progress_callback
from onnxplain.results.explanations import Explanations

if TYPE_CHECKING:
    from onnxplain.transport.operation_calls import AsyncRemoteOperations


class AsyncOperation(OperationView):
    """Explanation that a server computes; made by `AsyncClient.start`; see `Operation`.

    Parameters
    ----------
    message : google.longrunning.Operation
    calls : AsyncRemoteOperations
    """

    def __init__(self, message: Any, calls: AsyncRemoteOperations) -> None:
        super().__init__(message)
        self._calls = calls

    async def refresh(self, *, timeout: float | None = None) -> AsyncOperation:
        """Ask for the current state, and return this operation."""
        __tracebackhide__ = True
        with ShortTracebacks():
            self._update(await self._calls.get(self.name, timeout=timeout))
        return self

    async def wait(
        self,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | bool = True,
    ) -> bool:
        """Wait for the end; return whether it has come; see `Operation.wait`."""
        __tracebackhide__ = True
        end = math.inf if timeout is None else time.monotonic() + timeout
        with ShortTracebacks(), progress_callback(progress) as callback:
            while True:
                start = time.monotonic()
                step = min(STEP_SECONDS, max(0.0, end - start))
                self._update(await self._calls.wait(self.name, step))
                report(self, callback)
                if self.is_done or time.monotonic() >= end:
                    return self.is_done
                await asyncio.sleep(pause_after(start, step))

    async def result(
        self,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | bool = True,
    ) -> Explanations:
        """Wait for the end, and return the explanations; see `Operation.result`."""
        __tracebackhide__ = True
        if not self.is_done:
            await self.wait(timeout=timeout, progress=progress)
        with ShortTracebacks():
            return Explanations(response_of(self) or await self._calls.read(self.name))

    async def partials(self, *, timeout: float | None = None) -> tuple[PartialExplanation, ...]:
        """Return what is finished so far; see `Operation.partials`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            return tuple(map(to_partial, await self._calls.partials(self.name, timeout=timeout)))

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Ask the server to end it; see `Operation.cancel`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            await self._calls.cancel(self.name, timeout=timeout)

    async def delete(self, *, timeout: float | None = None) -> None:
        """Have the server forget it; see `Operation.delete`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            await self._calls.delete(self.name, timeout=timeout)
