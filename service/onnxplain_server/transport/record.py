"""What callers and the log are told of a request, alike on every transport."""

from __future__ import annotations

import logging
import re
import time
import uuid

from onnxplain_server.errors import ExplainError, Reason, printable

LOG = logging.getLogger("onnxplain_server.requests")

_LONGEST = 200
"""In bytes, of a caller's text in a line."""

NOBODY = "-"
"""The caller in the line of a request of which nobody was asked who sent it."""

_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class Record:
    """One request, for its line in the log.

    Parameters
    ----------
    method : str
        What was asked for, like "Explain" or "POST /v1/explanations".
    given_id : str or None
        The id that the caller gave; another is made where it is none that can
        be repeated in headers and logs.
    """

    def __init__(self, method: str, given_id: str | None) -> None:
        usable = given_id is not None and _ID.fullmatch(given_id)
        self.request_id = str(given_id) if usable else uuid.uuid4().hex
        # Path and name are the caller's texts: no line of the log may be broken or forged by them.
        self._method = printable(method, _LONGEST)
        self._start = time.monotonic()

    def presentable(self, error: BaseException) -> ExplainError:
        """Return what may be told outside: unexpected errors are logged, their text stays here."""
        if isinstance(error, ExplainError) and error.reason is not Reason.INTERNAL:
            return error
        LOG.error("%s failed, request %s", self._method, self.request_id, exc_info=error)
        return ExplainError(
            Reason.INTERNAL, f"the server failed; its log tells more of request {self.request_id}"
        )

    def close(self, status: str, caller: str = NOBODY, *, level: int = logging.INFO) -> float:
        """Write the line; return the seconds that the request took."""
        seconds = time.monotonic() - self._start
        what = (self._method, status, 1000 * seconds, self.request_id)
        LOG.log(level, "%s %s %.0f ms %s %s", *what, printable(caller, _LONGEST))
        return seconds
