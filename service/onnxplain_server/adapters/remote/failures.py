"""Errors of a remote model, with its name and address; the server's own words are quoted, cut."""

from __future__ import annotations

import json
from http import HTTPStatus

from onnxplain_server.core.errors import ExplainError, Reason, printable
from onnxplain_server.core.remote.models import RemoteAddress

FIELD = "model.remote"

_QUOTED_BYTES = 300
_TRACEBACK = "Traceback (most recent call last)"
_TEXT_KEYS = ("error", "message", "detail")


class ModelFailures:
    """Errors of the calls of one model.

    Parameters
    ----------
    address : RemoteAddress
    """

    def __init__(self, address: RemoteAddress) -> None:
        name = f'"{address.name}"' if address.name else ""
        version = f" in version {address.version}" if address.version else ""
        self._model = f"The remote model {name}{version} at {address.uri}".replace("  ", " ")

    def unavailable(self, fault: str, count: int, after_seconds: float | None) -> ExplainError:
        """Return the error of a call that failed `count` times."""
        times = "once" if count == 1 else f"{count} times"
        return ExplainError(
            Reason.REMOTE_MODEL_UNAVAILABLE,
            f"{self._model} does not answer: its server {fault}; called {times}. Try again later",
            FIELD,
            retry_seconds=after_seconds,
        )

    def answer(self, fault: str) -> ExplainError:
        """Return the error of an answer that cannot be used."""
        return ExplainError(Reason.REMOTE_MODEL_ANSWER, f"{self._model} {fault}", FIELD)

    def forbidden(self, fault: str) -> ExplainError:
        """Return the error of a server that refuses this one, or leads it elsewhere."""
        return ExplainError(Reason.REMOTE_MODEL_FORBIDDEN, f"{self._model} {fault}", FIELD)

    def missing(self, text: str) -> ExplainError:
        """Return the error of a server that does not know the model."""
        message = f"{self._model} does not exist there; check its name and version. {text}"
        return ExplainError(Reason.REMOTE_MODEL_NOT_FOUND, message.rstrip(), FIELD)

    def refused(self, row_count: int, text: str) -> ExplainError:
        """Return the error of a model that refuses rows."""
        rows = "1 row" if row_count == 1 else f"{row_count:,} rows"
        message = f"{self._model} refuses a call with {rows}. {text}"
        return ExplainError(Reason.PREDICTION_FAILED, message, FIELD)

    def invalid(self, field: str, fault: str) -> ExplainError:
        """Return the error of a request that says too little, or wrong things, of the model."""
        return ExplainError(Reason.INVALID_REQUEST, f"{self._model} {fault}", f"{FIELD}.{field}")

    def of_status(self, status: int, body: bytes, row_count: int) -> ExplainError:
        """Return the error of a status of HTTP; `row_count` is 0 where metadata were asked."""
        text = f"Its server answers {status}{quoted(body)}"
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return self.forbidden(f"redirects ({status}), which is not followed; name its address")
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return self.forbidden(f"refuses this server; the operator gives it rights. {text}")
        # Triton answers 400 for a model that it does not know.
        if status == HTTPStatus.NOT_FOUND or (status == HTTPStatus.BAD_REQUEST and not row_count):
            return self.missing(text)
        if status >= HTTPStatus.BAD_REQUEST and row_count:
            return self.refused(row_count, text)
        return self.answer(f"gives no answer of its protocol. {text}")

    def of_code(self, code: str, text: str, row_count: int) -> ExplainError:
        """Return the error of a code of gRPC; `row_count` is 0 where metadata were asked."""
        said = f"Its server answers {code}{quoted(text.encode())}"
        if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
            return self.forbidden(f"refuses this server; the operator gives it rights. {said}")
        if code == "NOT_FOUND" or (code == "INVALID_ARGUMENT" and not row_count):
            return self.missing(said)
        if code == "UNIMPLEMENTED" or not row_count:
            return self.answer(f"gives no answer of its protocol. {said}")
        return self.refused(row_count, said)


def quoted(body: bytes) -> str:
    """Return what a server says of an error, in quotes and cut; empty where it says nothing."""
    text = _text(body).strip()
    if _TRACEBACK in text:
        # Its last line tells the error.
        text = text.splitlines()[-1].strip()
    return f': "{printable(text, _QUOTED_BYTES)}"' if text else ""


def _text(body: bytes) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")
    if isinstance(document, dict):
        for key in _TEXT_KEYS:
            if document.get(key):
                return str(document[key])
    return str(document)
