"""Readiness probes, polled and watched."""

from __future__ import annotations

import threading

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.mark.parametrize("service", ["", "onnxplain.v1.ExplanationService"])
def test_health_of_grpc_follows_the_runner_there_and_back(start, make_runner, service: str) -> None:
    can = threading.Event()
    client = start(make_runner(), ready=can.is_set)
    watch = health_pb2_grpc.HealthStub(client.channel).Watch(
        health_pb2.HealthCheckRequest(service=service)
    )

    assert next(watch).status == NOT_SERVING
    can.set()
    assert next(watch).status == SERVING
    can.clear()
    assert next(watch).status == NOT_SERVING
    watch.cancel()


@pytest.mark.parametrize("path", ["/readyz", "/ping", "/v2/health/ready"])
def test_readiness_over_rest_follows_the_runner_there_and_back(
    start, make_runner, path: str
) -> None:
    can = threading.Event()
    client = start(make_runner(), ready=can.is_set)

    assert (client.rest("GET", path).status, client.rest("GET", "/livez").status) == (503, 200)
    can.set()
    assert client.rest("GET", path).status == 200
    can.clear()
    assert client.rest("GET", path).json == {"ready": False}


def test_a_server_that_is_not_ready_still_takes_requests(start, make_runner) -> None:
    """They may well be answered: what is not ready may be so in a moment."""
    client = start(make_runner(), ready=lambda: False)

    assert client.stub.Explain(ExplainRequest(seed=7)).receipt.seed == 7


def test_a_server_that_stops_is_not_ready_whatever_the_runner_says(start, make_runner) -> None:
    can = threading.Event()
    can.set()
    client = start(make_runner(), ready=can.is_set)
    stub = health_pb2_grpc.HealthStub(client.channel)
    watch = stub.Watch(health_pb2.HealthCheckRequest())
    assert next(watch).status == SERVING

    drain = threading.Thread(target=client.server.drain, args=(5,))
    drain.start()

    assert next(watch).status == NOT_SERVING
    drain.join()
