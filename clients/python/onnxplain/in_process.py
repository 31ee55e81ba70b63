"""Explaining in this process, where the server's package is installed too."""

from __future__ import annotations

from importlib.metadata import entry_points

from onnxplain.client import Client

_GROUP = "onnxplain.local"


def local() -> Client:
    """Make a client that computes in this process: the same calls, without a server.

    Raises
    ------
    ImportError
        Where the server's package is not installed.

    Examples
    --------
    >>> with onnxplain.local() as client:
    ...     found = client.explain("model.onnx", frame, onnxplain.Interactions())
    """
    found = entry_points(group=_GROUP)
    if not found:
        raise ImportError(
            "explaining in this process needs the server's package: pip install onnxplain-server"
        )
    make = next(iter(found)).load()
    return Client(make())
