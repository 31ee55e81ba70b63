"""Reach of the store of operations: failures as errors that promise a retry where one may help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operation_store import OperationStoreError, OperationStoreFullError


@contextmanager
def reachable() -> Iterator[None]:
    """Turn failures of the store into UNAVAILABLE, QUOTA_EXCEEDED or INTERNAL."""
    try:
        yield
    except OperationStoreFullError:
        message = "the store of operations has no memory left for this; delete operations"
        raise ExplainError(Reason.QUOTA_EXCEEDED, message) from None
    except OperationStoreError as error:
        if error.is_temporary:
            message = "the store of operations does not answer, or takes no writes; ask again later"
            raise ExplainError(Reason.UNAVAILABLE, message) from None
        message = (
            "the server cannot use its store of operations, and no retry helps until its operator "
            "has changed a setting; the server's log tells which"
        )
        raise ExplainError(Reason.INTERNAL, message) from None
