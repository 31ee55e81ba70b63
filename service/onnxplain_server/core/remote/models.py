"""Protocols of remote models: what a computation sees of a model that answers at an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input
from onnxplain_server.core.sources import FetchControl

UNTOLD = Input(
    "predict",
    "double",
    None,
    doubt="The server of the model tells no inputs, and model.remote.inputs lists none",
)
"""Input of a model where neither its server nor the request tells any: the table in one matrix."""


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """Remote model as a request names it, after its checks; the contract's `RemoteModel`.

    Attributes
    ----------
    protocol : str
        Name in the contract: "OIP_REST", "OIP_GRPC", "KSERVE_V1" or "MLFLOW".
    uri : str
        "http://HOST:PORT/PATH", "https://..." or, for OIP_GRPC, "grpc://HOST:PORT" or
        "grpcs://...", without a slash at the end.
    name, version : str
        Of the model at its server; empty: none is sent.
    inputs : tuple of Input
        What it takes, types as in `Input`; empty: read from the server's metadata, else `UNTOLD`.
    output : str
        Tensor, or field of the answer, with the predictions; empty: the only one.
    output_names : tuple of str
        Names of the prediction columns; empty: read from the server, or counted.
    """

    protocol: str
    uri: str
    name: str = ""
    version: str = ""
    inputs: tuple[Input, ...] = ()
    output: str = ""
    output_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteDescription:
    """Description of a remote model, as its server tells it.

    Attributes
    ----------
    inputs : tuple of Input
        As in `Model`.
    output_names : tuple of str
        As in `Model`; known once rows were predicted where the metadata have no width.
    version : str
        Version that the server names; empty: none.
    platform : str
        Name of what runs the model, as the server says; empty: unknown.
    """

    inputs: tuple[Input, ...]
    output_names: tuple[str, ...]
    version: str = ""
    platform: str = ""


class RemotePredictions(Protocol):
    """Calls of one remote model for one request. Thread-safe: several calls run at a time.

    All methods raise ExplainError: REMOTE_MODEL_NOT_LISTED, REMOTE_MODEL_NOT_FOUND,
    REMOTE_MODEL_FORBIDDEN, REMOTE_MODEL_UNAVAILABLE (after retries within the deadline),
    REMOTE_MODEL_ANSWER (wrong shape, no numbers, labels in place of numbers), PREDICTION_FAILED
    (the model refuses rows), and those of `FetchControl.check`.
    """

    @property
    def call_count(self) -> int:
        """Most calls at a time that the operator allows."""

    @property
    def row_limit(self) -> int:
        """Most rows of a call."""

    def describe(self) -> RemoteDescription:
        """Ask the server what the model takes and gives."""

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        """Predict rows in one call, repeated where that may help.

        Parameters
        ----------
        feeds : mapping of input name to (n_rows, width)
            At most `row_limit` rows; in the dtype of each input, strings as objects.

        Returns
        -------
        (n_rows, n_outputs), float32 or float64
            May contain NaN and infinity if the model returns them.
        """


RemoteModels = Callable[[RemoteAddress, FetchControl], RemotePredictions]
"""Opens a remote model for a request; raises where the operator has not listed its address."""
