"""The border: requests that are heavy to decode or to answer do not stall the serving process."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from urllib.request import urlopen

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from hostile import heavy
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, ExplainStreamRequest
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from tools.waiting import until

AT_ONCE = 4
GAP_SECONDS = 0.2
MEMORY_BYTES = 50 * 2**20
PATIENCE = 120.0

SERVING = """
import sys, threading, time

longest = 0.0

def beat():
    global longest
    last = time.process_time()
    while True:
        time.sleep(0.01)
        now = time.process_time()
        longest = max(longest, now - last)
        last = now

def tell():
    global longest
    for _ in sys.stdin:
        print(longest, flush=True)
        longest = 0.0

for job in (beat, tell):
    threading.Thread(target=job, daemon=True).start()
sys.argv = ["onnxplain", "serve"]
from onnxplain_server.__main__ import main
main()
"""
"""A server whose process has a heartbeat: for each line it tells the longest gap since the last.

A gap is what other threads of the process have used of a processor meanwhile: so much did they keep
the interpreter for themselves, and what else the machine does is no part of it.
"""


class Beating:
    """A server with a heartbeat."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self.port = port

    def longest_gap(self) -> float:
        """Longest gap of the heartbeat since the last look, in seconds of a processor."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    @property
    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        assert found
        return 1024 * int(found[1])


@pytest.fixture
def beating() -> Iterator[Beating]:
    with _beating() as server:
        yield server


@contextmanager
def _beating() -> Iterator[Beating]:
    variables = {f"ONNXPLAIN_{name}_PORT": "0" for name in ("REST", "GRPC", "METRICS")}
    # Cached numbers stay, on purpose.
    variables["ONNXPLAIN_CACHE_BYTES"] = "0"
    with subprocess.Popen(
        [sys.executable, "-c", SERVING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    ) as process:
        assert process.stderr is not None
        ports = (re.search(r"REST on .*?:(\d+)", line) for line in process.stderr)
        port = int(next(filter(None, ports))[1])
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        yield Beating(process, port)
        process.terminate()
        process.wait(PATIENCE)
        reader.join()


def post(port: int, document: bytes, seconds: int = 5) -> tuple[int, bytes]:
    """Ask over REST."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Content-Type": "application/json", "X-Request-Timeout-Ms": f"{1000 * seconds}"}
    connection.request("POST", "/v1/explanations", document, headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, content


def reason(port: int, document: bytes) -> str:
    """Why there is no answer; empty where there is one."""
    status, content = post(port, document)
    return "" if status == 200 else str(json.loads(content)["reason"])


def huge_answer() -> bytes:
    return heavy.rest_document(heavy.huge_answer())


def honest_table() -> bytes:
    return heavy.rest_document(heavy.honest_table())


@pytest.mark.slow
@pytest.mark.parametrize("document", [huge_answer, heavy.huge_names, honest_table])
def test_heavy_requests_neither_stall_the_serving_process_nor_stay_in_its_memory(
    beating: Beating, document: Callable[[], bytes]
) -> None:
    body = document()
    small = heavy.rest_document(heavy.small())
    assert post(beating.port, small)[0] == 200
    before = beating.resident_bytes
    beating.longest_gap()

    # In processes of their own: their work is not that of the server.
    with ProcessPoolExecutor(AT_ONCE, get_context("fork")) as senders:
        answers = [senders.submit(reason, beating.port, body) for _ in range(AT_ONCE)]
        reasons = {answer.result() for answer in answers}

    busy_gap = beating.longest_gap()
    assert reasons <= {
        "", "DEADLINE_EXCEEDED", "INVALID_TABLE", "RESPONSE_TOO_LARGE", "OUT_OF_MEMORY",
    }  # fmt: skip
    assert busy_gap <= GAP_SECONDS
    end = time.monotonic() + PATIENCE
    while (held := beating.resident_bytes - before) > MEMORY_BYTES:
        assert time.monotonic() < end, f"{held:,} bytes stay"
        time.sleep(0.2)


@pytest.mark.slow
def test_a_response_above_the_limit_is_refused_on_both_surfaces_with_what_to_do(serve) -> None:
    frugal = serve(max_response_bytes=2**16)
    request = heavy.huge_answer(50)

    status, content = post(frugal.rest_port, heavy.rest_document(request))
    with (
        grpc.insecure_channel(frugal.endpoint) as channel,
        pytest.raises(grpc.RpcError) as caught,
    ):
        ExplanationServiceStub(channel).Explain(request)

    problem = json.loads(content)
    assert (status, problem["reason"]) == (413, "RESPONSE_TOO_LARGE")
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    for text in (problem["detail"], caught.value.details()):
        assert "at most 65,536 (setting max_response_bytes)" in text
        assert "row_count" in text


def unread(connection: socket.socket, document: bytes) -> bytes:
    """Ask over REST and read the status line only."""
    head = "POST /v1/explanations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(document)}\r\n\r\n".encode() + document)
    return connection.recv(20)


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def in_flight_requests(server) -> float:
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics") as reply:
        page = reply.read().decode()
    found = re.search(r"^onnxplain_in_flight_requests (\S+)$", page, re.MULTILINE)
    assert found
    return float(found[1])


@pytest.mark.slow
def test_slow_readers_of_large_responses_hold_neither_tickets_nor_files(server) -> None:
    small = heavy.rest_document(heavy.small())
    large = heavy.rest_document(heavy.huge_answer(100))
    assert post(server.rest_port, small)[0] == 200
    before = open_files(server.process.pid)

    with ExitStack() as readers:
        for _ in range(2):
            reader = readers.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**12)
            reader.settimeout(PATIENCE)
            reader.connect(("127.0.0.1", server.rest_port))
            assert unread(reader, large).startswith(b"HTTP/1.1 200")
        until(lambda: in_flight_requests(server) == 0)

    until(lambda: open_files(server.process.pid) <= before)


@pytest.mark.slow
def test_a_large_response_comes_whole_on_both_surfaces(server) -> None:
    request = heavy.huge_answer(300)

    status, content = post(server.rest_port, heavy.rest_document(request), 600)
    unlimited = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server.endpoint, unlimited) as channel:
        stub = ExplanationServiceStub(channel)
        *_, last = stub.ExplainStream(ExplainStreamRequest(request=request))

    rest = ParseDict(json.loads(content), ExplainResponse())
    for answer in (rest, last.response):
        answer.receipt.ClearField("elapsed")
    assert status == 200
    assert len(content) > 10_000_000
    assert rest.explanations == last.response.explanations
