"""Client without a server: computes in this process, by the server's package."""

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
    ...     explanation = client.explain("model.onnx", frame, onnxplain.Interactions())
    """
    factories = entry_points(group=_GROUP)
    if not factories:
        raise ImportError(
            "explaining in this process needs the server's package: pip install onnxplain-server"
        )
    return Client(next(iter(factories)).load()())
