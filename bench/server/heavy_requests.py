"""The border under heavy requests: probes, other callers, deadlines and memory, on both surfaces.

Each is asked at a deadline of a second, four at once, beside a probe of /livez and
another caller's small call. Prints the longest of each, and the memory that the serving process
holds afterwards.
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import grpc

sys.path.append(str(Path(__file__).parents[2] / "tests" / "isolation"))

from hostile import heavy
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from bench.server.server_process import Server, served

PROBE_MS, OVER_SECONDS = 100, 1.5
_DEADLINE_SECONDS = 1.0
_AT_ONCE = 4
_JSON = {"Content-Type": "application/json"}
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


_CASES: dict[tuple[str, str], Callable[[Server], str]] = {}
"""Requests by name and surface."""


@dataclass
class Watch:
    """Durations of probes and of another caller's calls, in ms."""

    probe_ms: list[float] = field(default_factory=list)
    call_ms: list[float] = field(default_factory=list)


def main() -> None:
    _CASES.update(_cases())
    with served() as server:
        with _watching(server):
            time.sleep(2)  # the first of each loads
        print(
            f"{'request':24} {'surface':8} {'over by, s':>10} {'probe, ms':>16} "
            f"{'other call, ms':>16} {'memory, MiB':>12}  outcome"
        )
        for case in _CASES:
            print(_measure(server, case), flush=True)


def _measure(server: Server, case: tuple[str, str]) -> str:
    name, surface = case
    before = _resident_mib(server.pid)
    # In processes of their own, so that their work does not delay the probes.
    with ProcessPoolExecutor(_AT_ONCE, get_context("fork")) as senders:
        pending = [senders.submit(_ask, server, case) for _ in range(_AT_ONCE)]
        with _watching(server) as watch:
            done = [each.result() for each in pending]
    over, outcomes = [seconds for seconds, _ in done], {outcome for _, outcome in done}
    time.sleep(1)
    held = _resident_mib(server.pid) - before
    is_bad = max(over) > OVER_SECONDS
    return (
        f"{name:24} {surface:8} {max(over):10.2f} {_two(watch.probe_ms):>16} "
        f"{_two(watch.call_ms):>16} {held:12.0f}  {', '.join(sorted(outcomes))}"
        + " TOO LATE"
        * is_bad
    )


def _ask(server: Server, case: tuple[str, str]) -> tuple[float, str]:
    """Ask; return the seconds beyond the deadline, and the outcome."""
    time.sleep(0.5)  # the probes begin first
    start = time.monotonic()
    outcome = _CASES[case](server)
    return time.monotonic() - start - _DEADLINE_SECONDS, outcome


def _two(durations: list[float]) -> str:
    """Median and longest."""
    return f"{statistics.median(durations):.0f}, at most {max(durations):.0f}"


def _cases() -> Iterator[tuple[tuple[str, str], Callable[[Server], str]]]:
    names = heavy.huge_names()
    yield ("slow body", "REST"), _slow_rest
    yield ("slow body", "gRPC"), _slow_grpc
    yield ("4.9 million names", "REST"), _sender(names)
    columns = [str(number) for number in range(1_000_000)]
    many = ExplainRequest(feature_columns=columns)
    yield ("million feature columns", "gRPC"), _caller(many)
    for name, request in {
        "440,000 × 10 table": heavy.honest_table(),
        "answer of 128 MB": heavy.huge_answer(),
        "answer of 45 MB": heavy.huge_answer(700),
        "endless model": heavy.endless(),
    }.items():
        yield (name, "REST"), _sender(heavy.rest_document(request))
        yield (name, "gRPC"), _caller(request)


def _sender(document: bytes) -> Callable[[Server], str]:
    return lambda server: _rest(server, document)


def _caller(request: ExplainRequest) -> Callable[[Server], str]:
    return lambda server: _grpc(server, request)


def _rest(server: Server, document: bytes) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port)
    timeout = {"X-Request-Timeout-Ms": str(round(1000 * _DEADLINE_SECONDS))}
    connection.request("POST", "/v1/explanations", document, {**_JSON, **timeout})
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return "OK" if reply.status == 200 else str(json.loads(content)["reason"])


def _grpc(server: Server, request: ExplainRequest) -> str:
    with grpc.insecure_channel(server.endpoint, _UNLIMITED) as channel:
        try:
            ExplanationServiceStub(channel).Explain(request, timeout=_DEADLINE_SECONDS)
        except grpc.RpcError as error:
            return str(error.code().name)
    return "OK"


def _slow_rest(server: Server) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port)
    connection.putrequest("POST", "/v1/explanations")
    headers = {"X-Request-Timeout-Ms": "1000", "Content-Length": "1000", **_JSON}
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.sock.settimeout(0.1)
    while True:
        try:
            connection.sock.send(b" ")
            if connection.sock.recv(1, 2):  # MSG_PEEK: the answer stays for `getresponse`
                break
        except TimeoutError:
            pass
    connection.sock.settimeout(10)
    return str(json.loads(connection.getresponse().read())["reason"])


def _slow_grpc(server: Server) -> str:
    """Send a part of a message: uploads are the calls whose messages can come slowly."""
    with grpc.insecure_channel(server.endpoint) as channel:
        stop = threading.Event()

        def parts() -> Iterator[bytes]:
            while not stop.wait(0.1):
                yield b"\x0a\x01m"

        upload = channel.stream_unary("/onnxplain.v1.ExplanationService/UploadModel")
        try:
            upload(parts(), timeout=_DEADLINE_SECONDS)
        except grpc.RpcError as error:
            return str(error.code().name)
        finally:
            stop.set()
    return "OK"


@contextmanager
def _watching(server: Server) -> Iterator[Watch]:
    """Probe and call from another address, until the context ends."""
    watch, over = Watch(), threading.Event()
    document = heavy.rest_document(heavy.small())

    def repeat(times: list[float], ask: Callable[[], object]) -> None:
        while not over.is_set():
            start = time.monotonic()
            ask()
            times.append(1000 * (time.monotonic() - start))
            over.wait(0.02)

    threads = [
        threading.Thread(target=repeat, args=(watch.probe_ms, lambda: _get(server))),
        threading.Thread(target=repeat, args=(watch.call_ms, lambda: _other(server, document))),
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    yield watch
    over.set()
    for thread in threads:
        thread.join()


def _get(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port)
    connection.request("GET", "/livez")
    connection.getresponse().read()
    connection.close()


def _other(server: Server, document: bytes) -> None:
    """Ask as another caller: anonymous ones are told apart by the network of their address."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", server.rest_port, source_address=("127.9.9.9", 0)
    )
    connection.request("POST", "/v1/explanations", document, _JSON)
    reply = connection.getresponse()
    if reply.status != 200:
        sys.exit(f"the small call failed: {reply.read()!r}")
    reply.read()
    connection.close()


def _resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
