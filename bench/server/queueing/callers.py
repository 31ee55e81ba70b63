"""Latency of small explanations by the number of callers, also beside long explanations.

Usage: python -m bench.server.queueing.callers [SECONDS [CALLERS ...]]    # 10 s; 1 8 64 256

Each caller asks again as soon as it has its answer, with a deadline of 30 s: over gRPC by the
Python client, over REST over a connection that it keeps. Both come back when the server says so,
and what they waited counts as latency. The callers share one process, and one address. Long
explanations, one for each core, come from the same address, and from another one.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import onnxplain
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from bench.server.capacity import TREE_COLUMNS, TREES, make_work
from bench.server.server_process import Server, served
from bench.shared.network import network

CALLERS = (1, 8, 64, 256)
DEADLINE = 30.0
RATIO = 5.0
"""Most times the median that the 99th percentile may be."""

OWN_ADDRESS, OTHER_ADDRESS = "127.0.0.1", "127.0.0.9"
_LONG_ROWS, _LONG_REPEATS = 2_000, 20
_PAUSE = 0.1
_JSON = {"Content-Type": "application/json"}

SMALL = make_work("2 curves, trees, 200 rows", TREES, TREE_COLUMNS, "partialDependence", 200)
SMALL.request["methods"][0]["partialDependence"]["features"] = [
    {"names": [name]} for name in TREE_COLUMNS[:2]
]
LONG = make_work(
    "interactions, network", network(), [f"x{j}" for j in range(10)], "interactions", _LONG_ROWS
)
LONG.request["methods"][0]["interactions"]["repeatCount"] = _LONG_REPEATS


@dataclass
class Found:
    """Latencies of answers in seconds, and the number of failures by their reason."""

    seconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)


def by_grpc(endpoint: str, caller_count: int, seconds: float) -> Found:
    """Ask by the Python client, whose callers share a connection."""
    request = ExplainRequest.FromString(SMALL.message)
    with onnxplain.connect(endpoint, timeout=DEADLINE) as client:

        def ask() -> str:
            try:
                client.messages.explain(request)
            except onnxplain.ExplainError as error:
                return error.reason
            return ""

        return _closed_loop(lambda: ask, caller_count, seconds)


def by_rest(endpoint: str, caller_count: int, seconds: float) -> Found:
    """Ask over HTTP, each caller over a connection of its own."""
    body = SMALL.body

    def caller() -> Callable[[], str]:
        connection = http.client.HTTPConnection(endpoint, timeout=DEADLINE)

        def ask() -> str:
            end = time.monotonic() + DEADLINE
            while True:
                left = end - time.monotonic()
                headers = {**_JSON, "X-Request-Timeout-Ms": str(max(1, round(1000 * left)))}
                try:
                    connection.request("POST", "/v1/explanations", body, headers)
                    answer = connection.getresponse()
                    content = answer.read()
                except (OSError, http.client.HTTPException) as error:
                    connection.close()
                    return type(error).__name__
                wait = float(answer.headers.get("Retry-After", "inf"))
                if answer.status == 200:
                    return ""
                if wait >= end - time.monotonic():
                    return str(json.loads(content)["reason"])
                time.sleep(wait)

        return ask

    return _closed_loop(caller, caller_count, seconds)


SURFACES: dict[str, Callable[[str, int, float], Found]] = {"gRPC": by_grpc, "REST": by_rest}


def _closed_loop(
    caller: Callable[[], Callable[[], str]], caller_count: int, seconds: float
) -> Found:
    found, end = Found(), time.monotonic() + seconds

    def work() -> None:
        ask = caller()
        while time.monotonic() < end:
            start = time.monotonic()
            reason = ask()
            if reason:
                found.failures[reason] += 1
                time.sleep(_PAUSE)
            else:
                found.seconds.append(time.monotonic() - start)

    threads = [threading.Thread(target=work) for _ in range(caller_count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@contextmanager
def long_work(server: Server, address: str) -> Iterator[None]:
    """Have one long explanation for each core there all the time, asked from an address."""
    over = threading.Event()
    open_: list[http.client.HTTPConnection] = []

    def work() -> None:
        while not over.is_set():
            connection = http.client.HTTPConnection(
                "127.0.0.1", server.rest_port, source_address=(address, 0)
            )
            open_.append(connection)
            try:
                connection.request("POST", "/v1/explanations", LONG.body, _JSON)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                over.wait(_PAUSE)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(_core_count())]
    for thread in threads:
        thread.start()
    time.sleep(2)  # so that they run
    try:
        yield
    finally:
        over.set()
        for connection in open_:
            if connection.sock is not None:
                connection.close()


def _core_count() -> int:
    return len(os.sched_getaffinity(0))


def _line(surface: str, beside: str, caller_count: int, found: Found, seconds: float) -> str:
    median, p99 = np.quantile(found.seconds or [np.nan], [0.5, 0.99])
    failures = ", ".join(f"{count} {reason}" for reason, count in found.failures.items())
    return (
        f"| {surface} | {beside} | {caller_count} | {len(found.seconds) / seconds:.1f} "
        f"| {1000 * median:.0f} | {1000 * p99:.0f} | {p99 / median:.1f} | {failures or 'none'} |"
    )


def lines(seconds: float, callers: Sequence[int]) -> Iterator[str]:
    """Measure; a line of a table for each surface, number of callers and work beside them."""
    yield "| Surface | Beside | Callers | Answers/s | p50 ms | p99 ms | p99 / p50 | Failures |"
    yield "|---|---|--:|--:|--:|--:|--:|---|"
    processes = multiprocessing.get_context("spawn")
    with served(cache_bytes=0) as server, ProcessPoolExecutor(1, processes) as clients:
        endpoints = {"gRPC": server.endpoint, "REST": f"127.0.0.1:{server.rest_port}"}

        def measured(surface: str, beside: str, count: int) -> str:
            found = clients.submit(SURFACES[surface], endpoints[surface], count, seconds).result()
            return _line(surface, beside, count, found, seconds)

        clients.submit(by_grpc, server.endpoint, 2, 2.0).result()  # loads the model
        for surface in SURFACES:
            for count in callers:
                yield measured(surface, "nothing", count)
        for address, name in ((OTHER_ADDRESS, "another's"), (OWN_ADDRESS, "own")):
            with long_work(server, address):
                for surface in SURFACES:
                    for count in callers:
                        yield measured(surface, f"{name} long", count)


def main(seconds: str = "10", *callers: str) -> None:
    """Print the table."""
    print(f"{_core_count()} cores; at most {RATIO:g} times the median is wanted")
    for line in lines(float(seconds), [int(count) for count in callers] or CALLERS):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
