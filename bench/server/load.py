"""Overload of a server, with hostile callers and connections."""

from __future__ import annotations

import base64
import json
import multiprocessing
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack

import numpy as np
from google.protobuf import json_format
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from bench.server import load_clients
from bench.server import load_generator as generator
from bench.server.load_clients import Outcome
from bench.server.server_process import Server, served
from bench.shared.network import network

GOODPUT_SHARE, REFUSAL_SECONDS, HEALTH_SECONDS, FAIRNESS_RATIO = 0.8, 0.05, 0.1, 2.0
_FACTORS = (1, 2, 5, 10)
_SECONDS, _LONG_SECONDS = 10.0, 30.0
_FEW_ROWS, _USUAL_ROWS, _MANY_ROWS = 100, 500, 800
"""The usual number is that which the service draws by itself."""
_SLOW_COUNT, _IDLE_COUNT = 500, 10_000
_SLOW = b"POST /v1/explanations HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
_HALF = b"PRI * HTTP/2.0\r\n"

Start = Callable[..., "Future[list[Outcome]]"]


def main() -> None:
    """Print the figures."""
    processes = multiprocessing.get_context("spawn")
    # Without a cache, which would answer everything but the first request.
    with served(cache_bytes=0) as server, ProcessPoolExecutor(4, processes) as clients:
        generator.build()
        _overload(server, clients.submit, _FEW_ROWS, _SECONDS)
        _overload(server, clients.submit, _USUAL_ROWS, _LONG_SECONDS)
        _fairness(server, clients.submit)
        _connections(server, clients.submit)


def _overload(server: Server, start: Start, row_count: int, seconds: float) -> None:
    """Ask for several times of what it can answer; callers use the same processors.

    The peak is measured before each, since machines that others use too become slower and faster.
    """
    content = json_format.Parse(_document(row_count), ExplainRequest()).SerializeToString()
    generator.closed_loop(server.endpoint, content, seconds / 5, 4)
    print(f"{row_count} rows each")
    print(f"{'load':>8} {'peak':>10} {'goodput':>10} {'share':>6} {'refused':>8}", end="")
    print(f" {'refusal p99':>12} {'health p99':>11}")
    for factor in _FACTORS:
        found = generator.closed_loop(server.endpoint, content, seconds, 4)
        peak = generator.answers_per_second(found, seconds)
        probing = start(load_clients.probes, server.endpoint, server.rest_port, seconds)
        found = generator.open_loop(server.endpoint, content, seconds, factor * peak)
        refused = [each.seconds for each in found if each.code == "RESOURCE_EXHAUSTED"]
        health = _p99([each.seconds for each in probing.result()])
        goodput = generator.answers_per_second(found, seconds)
        print(
            f"{factor:7}x {peak:8.1f}/s {goodput:8.1f}/s {goodput / peak:6.0%} {len(refused):8} "
            f"{1000 * _p99(refused):9.1f} ms {1000 * health:8.1f} ms"
        )
    print(
        f"(goodput at 10x at least {GOODPUT_SHARE:.0%} of the peak; refusals within "
        f"{1000 * REFUSAL_SECONDS:.0f} ms, health within {1000 * HEALTH_SECONDS:.0f} ms)"
    )


def _fairness(server: Server, start: Start) -> None:
    """A caller with short requests, alone and beside two with long ones."""
    short, long = _document(_FEW_ROWS), _document(_MANY_ROWS)
    ask = load_clients.rest_loop
    start(ask, server.rest_port, "127.0.0.2", short, 2.0, 1).result()
    alone = start(ask, server.rest_port, "127.0.0.2", short, _SECONDS, 1).result()
    hostile = [
        start(ask, server.rest_port, address, long, 2 * _SECONDS, 9)
        for address in ("127.0.0.3", "127.0.0.4")
    ]
    time.sleep(_SECONDS / 2)
    beside = start(ask, server.rest_port, "127.0.0.2", short, _SECONDS, 1).result()
    for each in hostile:
        each.result()
    before, after = (_p99([each.seconds for each in found]) for found in (alone, beside))
    assert {each.code for each in (*alone, *beside)} == {"200"}  # noqa: S101 - else it is no figure
    print(
        f"beside two hostile callers, p99 {1000 * after:.1f} ms; alone {1000 * before:.1f} ms; "
        f"ratio {after / before:.2f}   (at most {FAIRNESS_RATIO})"
    )


def _connections(server: Server, start: Start) -> None:
    """Slow connections, then idle ones."""
    cases: tuple[tuple[str, int, bytes, bytes], ...] = (
        ("slow connections", _SLOW_COUNT, _SLOW, _HALF),
        ("idle connections", _IDLE_COUNT, b"", b""),
    )
    for name, count, by_rest, by_grpc in cases:
        with ExitStack() as opened:
            for number in range(count):
                port, sent = (
                    (server.grpc_port, by_grpc) if number % 2 else (server.rest_port, by_rest)
                )
                made = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
                made.sendall(sent)
            found = start(load_clients.probes, server.endpoint, server.rest_port, 5.0).result()
        health = _p99([each.seconds for each in found])
        print(
            f"{count:,} {name}, health p99 {1000 * health:.1f} ms   "
            f"(at most {1000 * HEALTH_SECONDS:.0f})"
        )


def _document(row_count: int) -> bytes:
    """A request in JSON: interactions of a network on so many rows."""
    rows = np.random.default_rng(1).normal(size=(row_count, 10))
    lines = [",".join(f"x{j}" for j in range(10)), *(",".join(map(str, row)) for row in rows)]
    return json.dumps(
        {
            "model": {"content": base64.b64encode(network()).decode()},
            "table": {"csv": base64.b64encode("\n".join(lines).encode()).decode()},
            "rowCount": row_count,
            "plots": False,
            "methods": [{"interactions": {}}],
        }
    ).encode()


def _p99(seconds: Sequence[float]) -> float:
    return float(np.quantile(seconds, 0.99)) if seconds else float("nan")


if __name__ == "__main__":
    main()
