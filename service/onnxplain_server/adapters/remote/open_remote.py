"""Opening of remote models: the protocol's client, with limits and retries of its policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.http_transport import HttpTransport
from onnxplain_server.adapters.remote.interfaces import ModelClient
from onnxplain_server.adapters.remote.oip_rest import OipRestClient
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.remote_models import (
    RemoteAddress,
    RemoteDescription,
    RemotePredictions,
)
from onnxplain_server.core.sources import FetchControl

_HttpClient = Callable[[RemoteAddress, HttpTransport, ModelFailures], ModelClient]

_HTTP_CLIENTS: Mapping[str, _HttpClient] = {"OIP_REST": OipRestClient}
"""By the protocol's name in the contract."""


def open_remote(
    address: RemoteAddress, policy: RemotePolicy, control: FetchControl
) -> RemotePredictions:
    """Open a remote model for one request; nothing is sent yet."""
    failures = ModelFailures(address)
    transport = HttpTransport(address.uri, policy, control, failures)
    return _Predictions(_HTTP_CLIENTS[address.protocol](address, transport, failures), policy)


class _Predictions:
    """`RemotePredictions` of one client."""

    def __init__(self, client: ModelClient, policy: RemotePolicy) -> None:
        self._client = client
        self._policy = policy

    @property
    def call_count(self) -> int:
        return self._policy.call_count

    @property
    def row_limit(self) -> int:
        return self._policy.row_limit

    def describe(self) -> RemoteDescription:
        description = self._client.describe()
        return replace(description, output_names=self._client.columns.names)

    def predict(self, feeds: Mapping[str, Array]) -> Array:
        row_count = len(next(iter(feeds.values())))
        if row_count > self._policy.row_limit:
            raise ValueError(f"{row_count} rows in a call; the limit is {self._policy.row_limit}")
        return self._client.predict(feeds, row_count)
