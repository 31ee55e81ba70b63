"""KServe's first protocol: `POST /v1/models/NAME:predict` with instances. It has no metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from onnxplain_server.adapters.remote.calls.http_transport import HttpTransport
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.protocols.json_numbers import check_finite, decoded, encoded
from onnxplain_server.adapters.remote.protocols.json_predictions import JsonPredictions
from onnxplain_server.adapters.remote.protocols.predictions import PredictionColumns
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import UNTOLD, RemoteAddress, RemoteDescription

_LABELS_CURE = (
    "have the server predict probabilities, as by the variable PREDICT_PROBA of KServe's "
    "scikit-learn server, or name a field with numbers in model.remote.output"
)


class KserveV1Client:
    """`ModelClient` of KServe's first protocol.

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
        version = f"/versions/{quote(address.version, safe='')}" if address.version else ""
        self._path = f"/v1/models/{quote(address.name, safe='')}{version}:predict"
        self.columns = PredictionColumns(address.output_names, failures)
        self._predictions = JsonPredictions(address.output, self.columns, failures, _LABELS_CURE)

    def describe(self) -> RemoteDescription:
        inputs = inputs_of(self._address)
        return RemoteDescription(inputs, self.columns.names, self._address.version)

    def predict(self, feeds: Mapping[str, Array], row_count: int) -> Array:
        check_finite(feeds)
        body = encoded({"instances": _instances(feeds, inputs_of(self._address))})
        headers = {"Content-Type": "application/json"}
        answer = self._transport.call(self._path, body, headers, row_count)
        return self._predictions.matrix(decoded(answer.body, self._failures), row_count)


def inputs_of(address: RemoteAddress) -> tuple[Input, ...]:
    """Return the inputs that a request states, as its protocol tells none; else `UNTOLD`."""
    return address.inputs or (UNTOLD,)


def _instances(feeds: Mapping[str, Array], inputs: Sequence[Input]) -> Array | list[Any]:
    """Return rows as lists; rows of several inputs as records of lists, as KServe reads both."""
    if len(inputs) == 1:
        return feeds[inputs[0].name]
    names = [wanted.name for wanted in inputs]
    columns = [feeds[name].tolist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
