"""Interface of the protocols that servers of models speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from onnxplain_server.adapters.remote.protocols.predictions import PredictionColumns
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.remote.models import RemoteDescription


class ModelClient(Protocol):
    """Client of one model in one protocol. Thread-safe; raises as `RemotePredictions`."""

    @property
    def columns(self) -> PredictionColumns:
        """Prediction columns, as far as they are known."""

    def describe(self) -> RemoteDescription:
        """Ask the server what the model takes and gives."""

    def predict(self, feeds: Mapping[str, Array], row_count: int) -> Array:
        """Predict rows in one call: (n_rows, n_outputs), checked."""
