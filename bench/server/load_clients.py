"""Clients of a server under load, each for a process of its own."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

_SECONDS = 600.0
_PROBE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """The gRPC code or HTTP status of a call, and how long it took."""

    code: str
    seconds: float


def probes(endpoint: str, rest_port: int, seconds: float) -> list[Outcome]:
    """Ask for health again and again: over gRPC and REST in turn, on fresh connections."""
    outcomes: list[Outcome] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for probe in (partial(_probe_grpc, endpoint), partial(_probe_rest, rest_port)):
            start = time.monotonic()
            code = probe()
            outcomes.append(Outcome(code, time.monotonic() - start))
        time.sleep(_PROBE_SECONDS)
    return outcomes


def rest_loop(
    port: int, address: str, content: bytes, seconds: float, caller_count: int
) -> list[Outcome]:
    """Have callers ask over REST from an address, each again as soon as it has its answer."""
    outcomes: list[Outcome] = []
    end = time.monotonic() + seconds

    def ask() -> None:
        while time.monotonic() < end:
            start = time.monotonic()
            status, wait = _post(port, address, content)
            outcomes.append(Outcome(str(status), time.monotonic() - start))
            time.sleep(wait)

    _side_by_side(ask, caller_count)
    return outcomes


def _post(port: int, address: str, content: bytes) -> tuple[int, float]:
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=_SECONDS, source_address=(address, 0)
    )
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/explanations", content, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, float(answer.headers.get("Retry-After", 0))
    finally:
        connection.close()


def _probe_grpc(endpoint: str) -> str:
    with _channel(endpoint) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        status = stub.Check(health_pb2.HealthCheckRequest(), timeout=_SECONDS).status
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(status))


def _probe_rest(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return str(connection.getresponse().status)
    finally:
        connection.close()


def _channel(endpoint: str) -> grpc.Channel:
    return grpc.insecure_channel(endpoint, options=[("grpc.use_local_subchannel_pool", 1)])


def _side_by_side(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
