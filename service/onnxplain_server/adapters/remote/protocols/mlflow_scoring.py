"""MLflow's scoring server: `POST /invocations` with a table or a matrix. It tells no inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxplain_server.adapters.remote.calls.http_transport import HttpTransport
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.json_numbers import check_finite, decoded, encoded
from onnxplain_server.adapters.remote.protocols.json_predictions import JsonPredictions
from onnxplain_server.adapters.remote.protocols.kserve_v1 import inputs_of
from onnxplain_server.adapters.remote.protocols.predictions import PredictionColumns
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.errors import ExplainError, Reason, printable
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress, RemoteDescription

_VERSION_BYTES = 50
_LABELS_CURE = (
    'log the model so that it predicts probabilities, as by pyfunc_predict_fn="predict_proba" of '
    "mlflow.sklearn.log_model, or name a column with numbers in model.remote.output"
)


class MlflowClient:
    """`ModelClient` of MLflow's scoring server.

    Parameters
    ----------
    address : RemoteAddress
    transport : HttpTransport
    failures : ModelFailures
    """

    def __init__(
        self, address: RemoteAddress, transport: HttpTransport, failures: ModelFailures
    ) -> None:
        self._address = address
        self._transport = transport
        self._failures = failures
        self.columns = PredictionColumns(address.output_names, failures)
        self._predictions = JsonPredictions(address.output, self.columns, failures, _LABELS_CURE)

    def describe(self) -> RemoteDescription:
        inputs = inputs_of(self._address)
        return RemoteDescription(
            inputs, self.columns.names, self._address.version, self._platform()
        )

    def predict(self, feeds: Mapping[str, Array], row_count: int) -> Array:
        check_finite(feeds)
        body = encoded(_document(feeds, inputs_of(self._address)))
        headers = {"Content-Type": "application/json"}
        answer = self._transport.call("/invocations", body, headers, row_count)
        return self._predictions.matrix(decoded(answer.body, self._failures), row_count)

    def _platform(self) -> str:
        try:
            text = self._transport.call("/version").body.decode(errors="replace").strip()
        except ExplainError as error:
            if error.reason is not Reason.REMOTE_MODEL_NOT_FOUND:
                raise
            return "MLflow"
        return f"MLflow {printable(text, _VERSION_BYTES)}"


def _document(feeds: Mapping[str, Array], inputs: Sequence[Input]) -> dict[str, Any]:
    """Return rows as a table where the columns have names, else as a matrix."""
    if len(inputs) == 1:
        (matrix,) = inputs
        values = feeds[matrix.name]
        if len(matrix.columns) != values.shape[1]:
            return {"inputs": values}
        return {"dataframe_split": {"columns": matrix.columns, "data": values}}
    columns = [feeds[wanted.name] for wanted in inputs]
    names = [wanted.name for wanted in inputs]
    return {"dataframe_split": {"columns": names, "data": _rows(columns)}}


def _rows(columns: Sequence[Array]) -> Array | list[Any]:
    """Return columns of any types, (n_rows, 1), as rows."""
    if len({column.dtype for column in columns}) == 1:
        return np.hstack(columns)
    return list(zip(*(column.ravel().tolist() for column in columns), strict=True))
