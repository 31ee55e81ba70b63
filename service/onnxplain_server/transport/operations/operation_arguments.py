"""Arguments of calls of operations: checks of request ids and labels, time limits of waits."""

from __future__ import annotations

import re
from collections.abc import Mapping

from onnxplain_server.core.contract_limits import StartExplanationRequest
from onnxplain_server.core.errors import ExplainError, Reason

WAIT_SECONDS = 60.0
"""Longest wait of a call, shorter than the patience of proxies."""

_DEADLINE_SECONDS = 0.25
"""Time of a caller's deadline that is left for the reply."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=-]*")
_LABEL_KEY = re.compile(r"[A-Za-z0-9_./-]{1,63}")
_LABEL_LENGTH = 255


def wait_seconds(remaining: float | None, timeout: float | None) -> float:
    """Return the seconds to wait, from a call's remaining time and the wait that it asks for."""
    limits = [WAIT_SECONDS if timeout is None else max(0.0, min(timeout, WAIT_SECONDS))]
    if remaining is not None:
        limits.append(max(0.0, remaining - _DEADLINE_SECONDS))
    return min(limits)


def check_request_id(request_id: str) -> None:
    """Raise INVALID_REQUEST for a malformed request id; it may be empty."""
    limit = StartExplanationRequest.request_id.max_items
    if len(request_id) > limit or not _REQUEST_ID.fullmatch(request_id):
        message = f"request_id has up to {limit} letters, digits and ._:/+=-"
        raise ExplainError(Reason.INVALID_REQUEST, message, "request_id")


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise INVALID_REQUEST for too many or malformed labels."""
    limit = StartExplanationRequest.labels.max_items
    if len(labels) > limit:
        raise _invalid(f"an operation has at most {limit} labels, not {len(labels)}")
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key):
            raise _invalid(
                f'the key of a label is 1 to 63 letters, digits and _-./, not "{key[:100]}"'
            )
        if len(value) > _LABEL_LENGTH:
            raise _invalid(f'the label "{key}" has more than {_LABEL_LENGTH} letters')


def _invalid(message: str) -> ExplainError:
    return ExplainError(Reason.INVALID_REQUEST, message, "labels")
