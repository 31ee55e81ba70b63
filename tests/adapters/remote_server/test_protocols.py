"""Protocols and TLS in the process that calls, which opens no file once it is confined."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from authority import Authority
from onnxplain_server.adapters.remote_server.remote_calls import RemoteCalls
from onnxplain_server.adapters.remote_server.socket_predictions import SocketPredictions
from onnxplain_server.core.errors import ExplainError, Reason

from tools.model_servers import doubling_grpc
from tools.model_servers.doubling import Host, Models, blobs, rows
from tools.stores.faulty_server import serve

Listed = Callable[..., Path]


def predicted(path: Path, url: str, protocol: Any) -> Any:
    """Describe the model and predict two rows, by a process of its own."""
    with closing(RemoteCalls(path, 2**31, is_confined=True)) as calls:
        host = Host()
        with calls.session(blobs(url, protocol), host) as end:
            assert end is not None
            predictions = SocketPredictions(end.dup(), host.control)
            try:
                assert [each.name for each in predictions.describe().inputs] == ["x"]
                return predictions.predict(rows(1.0, 2.5)).tolist()
            finally:
                predictions.close()


@pytest.mark.parametrize("protocol", ["OIP_REST", "KSERVE_V1", "MLFLOW"])
@pytest.mark.parametrize("is_secure", [False, True])
def test_models_answer_over_http(
    listed: Listed, tmp_path: Path, protocol: Any, is_secure: bool
) -> None:
    authority = Authority(tmp_path)
    context = None
    if is_secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("server"))
    keys = {"ca_file": str(authority.file)} if is_secure else {}
    with serve(Models().answer, context) as server:
        found = predicted(listed(server.url, **keys), server.url, protocol)

    assert found == [[2.0], [5.0]]


@pytest.mark.parametrize("is_secure", [False, True])
def test_models_answer_over_grpc(listed: Listed, tmp_path: Path, is_secure: bool) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    pair = (key.read_bytes(), certificate.read_bytes())
    credentials = grpc.ssl_server_credentials([pair]) if is_secure else None
    keys = {"ca_file": str(authority.file)} if is_secure else {}
    with doubling_grpc.serving(credentials) as port:
        url = f"{'grpcs' if is_secure else 'grpc'}://localhost:{port}"
        found = predicted(listed(url, **keys), url, "OIP_GRPC")

    assert found == [[2.0], [5.0]]


@pytest.mark.parametrize("protocol", ["OIP_REST", "OIP_GRPC"])
def test_a_certificate_that_the_system_does_not_know_is_refused(
    listed: Listed, tmp_path: Path, protocol: Any
) -> None:
    """Without ca_file: the system's certificates are readable there, and this one is not theirs."""
    certificate, key = Authority(tmp_path).issue("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    pair = (key.read_bytes(), certificate.read_bytes())
    with (
        serve(Models().answer, context) as server,
        doubling_grpc.serving(grpc.ssl_server_credentials([pair])) as port,
    ):
        url = server.url if protocol == "OIP_REST" else f"grpcs://127.0.0.1:{port}"
        with pytest.raises(ExplainError) as refused:
            predicted(listed(url), url, protocol)

    assert refused.value.reason is Reason.REMOTE_MODEL_FORBIDDEN
    assert "certificate" in refused.value.message
