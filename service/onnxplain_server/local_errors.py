"""Errors of the service as those of the Python client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnxplain

from onnxplain_server.core.errors import ExplainError
from onnxplain_server.transport.status import STATUS


@contextmanager
def translated() -> Iterator[None]:
    """Turn the server's errors into the client's."""
    try:
        yield
    except ExplainError as error:
        reason = error.reason
        raise onnxplain.ExplainError(
            reason.name, error.message, error.field, STATUS[reason].grpc.name
        ) from error
