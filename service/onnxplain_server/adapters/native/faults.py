"""Refusals of native tree files, as errors of the contract."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason

_SHOWN = 80


def invalid(message: str) -> ExplainError:
    """Build INVALID_MODEL: the file is broken."""
    return ExplainError(Reason.INVALID_MODEL, message, "model")


def unsupported(message: str) -> ExplainError:
    """Build UNSUPPORTED_MODEL: the file is whole, and holds what is not read."""
    return ExplainError(Reason.UNSUPPORTED_MODEL, message, "model")


def too_complex(count: int, limit: int, noun: str) -> ExplainError:
    """Build MODEL_TOO_COMPLEX with the count and the limit."""
    message = f"The model has {count:,} {noun} or more; this server takes at most {limit:,}."
    return ExplainError(Reason.MODEL_TOO_COMPLEX, message, "model")


def quoted(text: str) -> str:
    """Quote a text of a file for a message: escaped, and truncated."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
