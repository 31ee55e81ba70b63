"""Remote models: rows per second beside plain clients, of a server that takes 10 ms for 2,000 rows.

Both sides make the same calls, with the same number at a time, and run in turn. `libraries`
compares what HTTP could be spoken by.
"""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import httpx
import numpy as np
import orjson
import tritonclient.http
import urllib3
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.remote.models import RemoteAddress
from onnxplain_server.wire.inference.inference_pb2 import (
    ModelInferRequest,
    ModelInferResponse,
)

from bench.speed.remote_models.slow_server import COLUMNS, ROWS
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds

AT_A_TIME = 4
CALLS = 400
RUNS = 5
WANTED = 0.9
_HEADER_LENGTH = "Inference-Header-Content-Length"
_PATH = "/v2/models/m/infer"
_METHOD = "/inference.GRPCInferenceService/ModelInfer"

Call = Callable[[Array], object]


class Control:
    """Control of a request that nobody ends."""

    deadline = math.inf

    def check(self, when: str) -> None:
        """Let it go on."""


@contextmanager
def server() -> Iterator[tuple[int, int, int]]:
    """Serve in a process of its own; yield its ports: of JSON, of bytes, of gRPC."""
    program = [sys.executable, "-m", "bench.speed.remote_models.slow_server"]
    root = Path(__file__).parents[3]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, cwd=root, stdin=pipe, stdout=pipe, text=True) as started:
        process: Any = started
        json_port, binary_port, grpc_port = json.loads(process.stdout.readline())
        try:
            yield json_port, binary_port, grpc_port
        finally:
            process.stdin.close()


def batches() -> list[Array]:
    return list(np.random.default_rng(2).normal(size=(CALLS, ROWS, COLUMNS)))


def rate(call: Call) -> float:
    """Return rows per second of all calls, so many at a time."""
    rows = batches()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(call, rows[:AT_A_TIME]))
        taken = seconds(lambda: list(pool.map(call, rows)))
    return CALLS * ROWS / taken


def ours(protocol: str, uri: str) -> Call:
    model = open_remote(
        RemoteAddress(protocol, uri, "m"), RemotePolicy(call_count=AT_A_TIME), Control()
    )
    return lambda rows: model.predict({"x": rows})


def plain_json(port: int) -> Call:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=AT_A_TIME)

    def call(rows: Array) -> Array:
        entry = {"name": "x", "shape": rows.shape, "datatype": "FP64", "data": rows.ravel()}
        body = orjson.dumps({"inputs": [entry]}, option=orjson.OPT_SERIALIZE_NUMPY)
        answer = orjson.loads(pool.request("POST", _PATH, body=body).data)
        return np.array(answer["outputs"][0]["data"]).reshape(ROWS, -1)

    return call


def plain_bytes(port: int) -> Call:
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=AT_A_TIME)
    size = ROWS * COLUMNS * 8
    parameters = {"binary_data_size": size}
    entry = {"name": "x", "shape": [ROWS, COLUMNS], "datatype": "FP64", "parameters": parameters}
    head = orjson.dumps({"inputs": [entry], "parameters": {"binary_data_output": True}})
    headers = {_HEADER_LENGTH: str(len(head))}

    def call(rows: Array) -> Array:
        body = head + rows.tobytes()
        answer = pool.request("POST", _PATH, body=body, headers=headers)
        length = int(answer.headers[_HEADER_LENGTH])
        orjson.loads(answer.data[:length])
        return np.frombuffer(answer.data[length:]).reshape(ROWS, -1)

    return call


def triton_rate(port: int) -> float:
    """Return rows per second of Triton's client over HTTP, by its own threads."""
    client = tritonclient.http.InferenceServerClient(f"127.0.0.1:{port}", concurrency=AT_A_TIME)

    def ask(rows: list[Array]) -> None:
        open_calls = []
        for one in rows:
            tensor = tritonclient.http.InferInput("x", one.shape, "FP64")
            tensor.set_data_from_numpy(one)
            open_calls.append(client.async_infer("m", [tensor]))
            if len(open_calls) == AT_A_TIME:
                open_calls.pop(0).get_result().as_numpy("y")
        for call in open_calls:
            call.get_result().as_numpy("y")

    rows = batches()
    ask(rows[:AT_A_TIME])
    taken = seconds(lambda: ask(rows))
    client.close()
    return CALLS * ROWS / taken


def plain_grpc(port: int) -> Call:
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    infer = channel.unary_unary(
        _METHOD, ModelInferRequest.SerializeToString, ModelInferResponse.FromString
    )

    def call(rows: Array) -> Array:
        request = ModelInferRequest(model_name="m", raw_input_contents=[rows.tobytes()])
        request.inputs.add(name="x", datatype="FP64", shape=rows.shape)
        answer = infer(request)
        return np.frombuffer(answer.raw_output_contents[0]).reshape(ROWS, -1)

    return call


def rows() -> Iterator[Row]:
    work = (
        f"Remote model, {CALLS} calls of {ROWS:,} rows and {COLUMNS} columns, {AT_A_TIME} at a time"
    )
    with server() as (json_port, binary_port, grpc_port):
        for name, our, counterpart, their in (
            (
                "OIP over REST, bytes",
                lambda: rate(ours("OIP_REST", f"http://127.0.0.1:{binary_port}")),
                "tritonclient.http",
                lambda: triton_rate(binary_port),
            ),
            (
                "OIP over REST, bytes",
                lambda: rate(ours("OIP_REST", f"http://127.0.0.1:{binary_port}")),
                "bare urllib3",
                lambda: rate(plain_bytes(binary_port)),
            ),
            (
                "OIP over REST, JSON",
                lambda: rate(ours("OIP_REST", f"http://127.0.0.1:{json_port}")),
                "bare urllib3 and orjson",
                lambda: rate(plain_json(json_port)),
            ),
            (
                "OIP over gRPC",
                lambda: rate(ours("OIP_GRPC", f"grpc://127.0.0.1:{grpc_port}")),
                "a bare stub of gRPC",
                lambda: rate(plain_grpc(grpc_port)),
            ),
        ):
            our_rates, their_rates = in_turn(our, their, RUNS)
            yield Row(
                f"{work}, {name}", Unit.PER_SECOND, our_rates, counterpart, their_rates, WANTED
            )


def libraries() -> Iterator[str]:
    """Tell the rows per second of libraries that could speak HTTP, with the same bytes."""
    body = np.zeros((ROWS, COLUMNS)).tobytes()
    with server() as (_, port, _):
        url = f"http://127.0.0.1:{port}{_PATH}"
        pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=AT_A_TIME)
        client = httpx.Client(limits=httpx.Limits(max_connections=AT_A_TIME))
        kinds: dict[str, Callable[[], float]] = {
            "urllib3": lambda: rate(lambda _: pool.request("POST", _PATH, body=body).data),
            "httpx": lambda: rate(lambda _: client.post(url, content=body).content),
            "aiohttp": lambda: asyncio.run(_aiohttp_rate(url, body)),
        }
        rates: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(RUNS):
            for name, measure in kinds.items():
                rates[name].append(measure())
        for name, figures in rates.items():
            yield f"{name}: {', '.join(f'{figure:,.0f}' for figure in figures)} rows per second"


async def _aiohttp_rate(url: str, body: bytes) -> float:
    loop = asyncio.get_running_loop()
    left = iter(range(CALLS))

    async def ask(session: Any) -> None:
        for _ in left:
            async with session.post(url, data=body) as answer:
                await answer.read()

    async with aiohttp.ClientSession() as session:
        start = loop.time()
        await asyncio.gather(*(ask(session) for _ in range(AT_A_TIME)))
        return CALLS * ROWS / (loop.time() - start)


def main() -> None:
    for line in lines(rows()):
        print(line)
    for line in libraries():
        print(line)


if __name__ == "__main__":
    main()
