"""What callers and the log are told of a request, alike on every transport."""

from __future__ import annotations

import logging
import re
import time
import uuid
from types import MappingProxyType

from onnxplain_server.core.errors import ExplainError, Reason, printable
from onnxplain_server.telemetry.spans import Attributes, Spans
from onnxplain_server.telemetry.tracing import NOWHERE, Trace

LOG = logging.getLogger("onnxplain_server.requests")

_LONGEST = 200
"""In bytes, of a caller's text in a line."""

OK = "OK"

NOBODY = "-"
"""The caller in the line of a request of which nobody was asked who sent it."""

_NO_FACTS: Attributes = MappingProxyType({})

_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestRecord:
    """One request, for its line in the log.

    Parameters
    ----------
    method : str
        What was asked for, like "Explain" or "POST /v1/explanations".
    given_id : str or None
        The id that the caller gave; another is made where it is none that can
        be repeated in headers and logs.
    trace : Trace
        Its own span.

    Attributes
    ----------
    request_id : str
    spans : Spans
        The parts of its work.
    """

    def __init__(self, method: str, given_id: str | None, trace: Trace = NOWHERE) -> None:
        usable = given_id is not None and _ID.fullmatch(given_id)
        self.request_id = str(given_id) if usable else uuid.uuid4().hex
        # Path and name are the caller's texts: no line of the log may be broken or forged by them.
        self._method = printable(method, _LONGEST)
        self._trace = trace
        self._error = ""
        names = (self.request_id, trace.trace_id, trace.span_id)
        named = zip(("request_id", "trace_id", "span_id"), names, strict=True)
        self.spans = Spans({key: value for key, value in named if value})
        self._start = time.monotonic()

    def presentable(self, error: BaseException) -> ExplainError:
        """Return what may be told outside: unexpected errors are logged, their text stays here."""
        if isinstance(error, ExplainError) and error.reason is not Reason.INTERNAL:
            return error
        self._error = type(error).__name__
        what = (self._method, self.request_id)
        LOG.error(
            "%s failed, request %s", *what, exc_info=error, extra={"fields": self.spans.names}
        )
        return ExplainError(
            Reason.INTERNAL, f"the server failed; its log tells more of request {self.request_id}"
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
        """Write the line, and end the trace; return the seconds that the request took.

        Parameters
        ----------
        outcome : str
            "OK", or the reason why there was no answer.
        status : int or None
            Of HTTP.
        attributes : Attributes
            How it ended, for the trace.
        """
        seconds = time.monotonic() - self._start
        caller = printable(caller, _LONGEST)
        shown = outcome if status is None else f"{status} {outcome}".removesuffix(" OK")
        what = (self._method, shown, 1000 * seconds, self.request_id, caller)
        told = {
            "method": self._method,
            "outcome": outcome,
            **({} if status is None else {"status": status}),
            "ms": round(1000 * seconds, 3),
            "caller": caller,
            **self.spans.names,
        }
        LOG.log(level, "%s %s %.0f ms %s %s", *what, extra={"fields": told})
        known = {
            "onnxplain.request_id": self.request_id,
            "onnxplain.outcome": outcome,
            **attributes,
        }
        self._trace.end(self.spans.finished(), known, self._error)
        return seconds
