"""Client without a server: computes in this process, by the server's package."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from onnxplain.client import Client

_GROUP = "onnxplain.local"


def local(*, memory_bytes: int | None = None, executor: Any = None) -> Client:
    """Make a client that computes in this process: the same calls, without a server.

    Parameters
    ----------
    memory_bytes : int, optional
        A Parquet or Arrow file of this machine, given as `TableUris("file:///PATH")`, that would
        need more memory is read in blocks; by default, tables are read whole. At least what a task
        of the model's trees needs, which the error OUT_OF_MEMORY tells.
    executor : concurrent.futures.Executor or distributed.Client, optional
        Computes what is exact in blocks of such a file, whatever its size, and predicts for the
        black-box engine. You close it.

    Raises
    ------
    ImportError
        Where the server's package is not installed.
    TypeError
        For another executor.

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
    return Client(next(iter(factories)).load()(memory_bytes, executor))
