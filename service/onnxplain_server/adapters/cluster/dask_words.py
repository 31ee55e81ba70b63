"""Dask's own words in messages of errors: with addresses, which callers of a server never see."""

from __future__ import annotations

_SEPARATOR = ". Dask tells: "


def with_cause(message: str, cause: object) -> str:
    """Put Dask's words behind a message."""
    return f"{message}{_SEPARATOR}{cause}"


def without_cause(message: str) -> str:
    """Return a message without the words of Dask behind it."""
    own, separator, _ = message.partition(_SEPARATOR)
    return f"{own}; the server's log has the cause" if separator else own
