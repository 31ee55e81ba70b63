"""Words of Dask and of systems in messages of errors: callers of a server never see them.

They have addresses and paths.
"""

from __future__ import annotations

_SEPARATOR = ". The cause: "


def with_cause(message: str, cause: object) -> str:
    """Put the words of another behind a message."""
    return f"{message}{_SEPARATOR}{cause}"


def without_cause(message: str) -> str:
    """Return a message without the words behind it."""
    own, separator, _ = message.partition(_SEPARATOR)
    return f"{own}; the server's log has the cause" if separator else own
