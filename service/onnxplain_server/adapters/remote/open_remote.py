"""Opening of remote models: the protocol's client, with limits and retries of its policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from onnxplain_server.adapters.remote.calls.grpc_transport import GrpcTransport
from onnxplain_server.adapters.remote.calls.http_transport import HttpTransport
from onnxplain_server.adapters.remote.failures import ModelFailures
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.adapters.remote.protocols.kserve_v1 import KserveV1Client
from onnxplain_server.adapters.remote.protocols.mlflow_scoring import MlflowClient
from onnxplain_server.adapters.remote.protocols.model_client import ModelClient
from onnxplain_server.adapters.remote.protocols.oip_client import OipClient
from onnxplain_server.adapters.remote.protocols.oip_grpc import OipGrpcConnection
from onnxplain_server.adapters.remote.protocols.oip_rest import OipRestConnection
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.remote.models import (
    RemoteAddress,
    RemoteDescription,
    RemotePredictions,
)
from onnxplain_server.core.sources import FetchControl

_Opener = Callable[[RemoteAddress, RemotePolicy, FetchControl, ModelFailures], ModelClient]


def _over_http(
    client: Callable[[RemoteAddress, HttpTransport, ModelFailures], ModelClient],
) -> _Opener:
    def open_(
        address: RemoteAddress,
        policy: RemotePolicy,
        control: FetchControl,
        failures: ModelFailures,
    ) -> ModelClient:
        transport = HttpTransport(address.uri, policy, control, failures)
        return client(address, transport, failures)

    return open_


def _oip_rest(
    address: RemoteAddress, transport: HttpTransport, failures: ModelFailures
) -> ModelClient:
    return OipClient(address, OipRestConnection(address, transport, failures), failures)


def _oip_grpc(
    address: RemoteAddress, policy: RemotePolicy, control: FetchControl, failures: ModelFailures
) -> ModelClient:
    transport = GrpcTransport(address.uri, policy, control, failures)
    return OipClient(address, OipGrpcConnection(address, transport), failures)


_OPENERS: Mapping[str, _Opener] = {
    "OIP_REST": _over_http(_oip_rest),
    "OIP_GRPC": _oip_grpc,
    "KSERVE_V1": _over_http(KserveV1Client),
    "MLFLOW": _over_http(MlflowClient),
}
"""By the protocol's name in the contract."""


def open_remote(
    address: RemoteAddress, policy: RemotePolicy, control: FetchControl
) -> RemotePredictions:
    """Open a remote model for one request; nothing is sent yet."""
    failures = ModelFailures(address)
    client = _OPENERS[address.protocol](address, policy, control, failures)
    return _Predictions(client, policy)


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
