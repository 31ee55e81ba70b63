"""Addresses that the server listens on."""

from __future__ import annotations

import socket

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from tools.ports import free_ports


@pytest.mark.parametrize(
    ("setting", "name"), [("rest_port", "REST"), ("grpc_port", "gRPC"), ("metrics_port", "metrics")]
)
def test_a_port_that_is_taken_stops_the_start(start, make_runner, setting: str, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(OSError, match=rf"127\.0\.0\.1:{port} for {name}"):
            start(make_runner(), **{setting: port})


def test_a_start_that_fails_leaves_no_port_taken(start, make_runner) -> None:
    free = dict(zip(("rest_port", "grpc_port"), free_ports(2), strict=True))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="metrics"):
        start(make_runner(), metrics_port=taken.getsockname()[1], **free)

    for port in free.values():
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_host_that_does_not_exist_is_named(start, make_runner) -> None:
    with pytest.raises(OSError, match=r"nowhere\.invalid:0 for REST"):
        start(make_runner(), host="nowhere.invalid")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="needs IPv6")
def test_all_addresses_means_both_versions_of_ip(start, make_runner) -> None:
    client = start(make_runner(), host="::")

    for address in ("127.0.0.1", "[::1]"):
        with grpc.insecure_channel(f"{address}:{client.server.grpc_port}") as channel:
            reply = ExplanationServiceStub(channel).Explain(ExplainRequest(seed=3))
            assert reply.receipt.seed == 3
        with socket.create_connection((address.strip("[]"), client.server.rest_port)):
            pass
