"""Request log: one access-log line per request, its id and its trace, for both transports.

Unexpected errors are logged here; callers get only the request id.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from types import MappingProxyType

from onnxplain_server.core.errors import ExplainError, Reason, printable
from onnxplain_server.telemetry.spans import Attributes, Spans
from onnxplain_server.telemetry.tracing import NO_TRACE, Trace
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation
from onnxplain_server.transport.audit.usage import Usage

LOG = logging.getLogger("onnxplain_server.requests")

_TEXT_BYTE_LIMIT = 200
"""Of text in a log line that the caller chose."""

OK = "OK"

NOBODY = "-"
"""Caller in the log line of a request that was not authenticated."""

_NO_FACTS: Attributes = MappingProxyType({})

_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestRecord:
    """Record of one request: its id, its spans and its log line.

    Parameters
    ----------
    method : str
        Method of the API, like "Explain" or "POST /v1/explanations".
    client_id : str or None
        Request id chosen by the client; replaced by a new one if it is unsafe in
        headers and logs.
    trace : Trace
        The request's own span.

    Attributes
    ----------
    request_id : str
    spans : Spans
        Durations of the request's parts.
    usage : Usage
        Of an explanation.
    """

    def __init__(self, method: str, client_id: str | None, trace: Trace = NO_TRACE) -> None:
        is_usable = client_id is not None and _ID.fullmatch(client_id)
        self.request_id = str(client_id) if is_usable else uuid.uuid4().hex
        # Callers choose paths and names, which must not break or forge log lines.
        self._method = printable(method, _TEXT_BYTE_LIMIT)
        self._trace = trace
        self._error = ""
        ids = (self.request_id, trace.trace_id, trace.span_id)
        fields = zip(("request_id", "trace_id", "span_id"), ids, strict=True)
        self.spans = Spans({key: value for key, value in fields if value})
        self.usage = Usage()
        self._start = time.monotonic()

    def presentable(self, error: BaseException) -> ExplainError:
        """Return the error for the caller; log unexpected errors, whose text stays here."""
        if isinstance(error, ExplainError) and error.reason is not Reason.INTERNAL:
            return error
        self._error = type(error).__name__
        arguments = (self._method, self.request_id)
        LOG.error(
            "%s failed, request %s", *arguments, exc_info=error, extra={"fields": self.spans.names}
        )
        return ExplainError(
            Reason.INTERNAL, f"the server failed; its log has details of request {self.request_id}"
        )

    def close(
        self,
        outcome: str,
        caller: str = NOBODY,
        *,
        status: int | None = None,
        level: int = logging.INFO,
        attributes: Attributes = _NO_FACTS,
    ) -> float:
        """Write the log line and end the trace; return the duration in seconds.

        Parameters
        ----------
        outcome : str
            "OK", or the reason of the failure.
        status : int or None
            HTTP status.
        attributes : Attributes
            Attributes of the trace that describe the outcome.
        """
        seconds = time.monotonic() - self._start
        caller = printable(caller, _TEXT_BYTE_LIMIT)
        shown = outcome if status is None else f"{status} {outcome}".removesuffix(" OK")
        arguments = (self._method, shown, 1000 * seconds, self.request_id, caller)
        fields = {
            "method": self._method,
            "outcome": outcome,
            **({} if status is None else {"status": status}),
            "ms": round(1000 * seconds, 3),
            "caller": caller,
            **self.spans.names,
        }
        LOG.log(level, "%s %s %.0f ms %s %s", *arguments, extra={"fields": fields})
        outcome_attributes = {
            "onnxplain.request_id": self.request_id,
            "onnxplain.outcome": outcome,
            **attributes,
        }
        self._trace.end(self.spans.finished(), outcome_attributes, self._error)
        return seconds

    def explanation(
        self, transport: str, outcome: str, caller: str, seconds: float
    ) -> EndedExplanation:
        """Return the request, an explanation that was closed with this outcome and duration."""
        return EndedExplanation(
            self.usage,
            printable(caller, _TEXT_BYTE_LIMIT),
            transport,
            outcome,
            seconds,
            self.request_id,
            self.spans.names.get("trace_id", ""),
        )
