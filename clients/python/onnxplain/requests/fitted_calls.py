"""Models as calls take them: a fitted one of scikit-learn is written as ONNX and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from onnxplain.requests.fitted_models import fitted_model
from onnxplain.transport.calls import AsyncRemote
from onnxplain.transport.messages import Messages
from onnxplain.transport.rpcs import CHECK


class FittedCalls:
    """Base of `Client`: fitted models in place of files.

    Attributes
    ----------
    messages : Messages
    """

    messages: Messages

    def _file_of(
        self, model: Any, table: Any, columns: Sequence[str], timeout: float | None
    ) -> Any:
        """Return a model, or where it is a fitted one, its ONNX file, once compared."""
        fitted = fitted_model(model, table, columns)
        if fitted is None:
            return model
        return fitted.checked(self.messages.answer(CHECK, fitted.request, timeout=timeout))


class AsyncFittedCalls:
    """Base of `AsyncClient`, likewise.

    Attributes
    ----------
    messages : AsyncRemote
    """

    messages: AsyncRemote

    async def _file_of(
        self, model: Any, table: Any, columns: Sequence[str], timeout: float | None
    ) -> Any:
        fitted = await asyncio.to_thread(fitted_model, model, table, columns)
        if fitted is None:
            return model
        return fitted.checked(await self.messages.answer(CHECK, fitted.request, timeout=timeout))
