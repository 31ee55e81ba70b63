"""Calls per second beside a served peer: partial dependence of the same forest by MLServer.

python -m bench.server.served_peer

MLServer serves alibi's TreePartialDependence. Each call has 500 rows and asks for curves of all 6
features at 49 points; REST both, the model is with the server, nothing is answered from a cache of
statistics. alibi weights the branches of other features by the rows that the forest was trained on
(Friedman's weighted traversal); onnxplain averages over the rows of the call.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.server import load_generator as generator
from bench.server.server_process import Server, served
from bench.shared.commands import PEER, ROOT
from bench.speed_table.row import Row, Unit, in_turn, lines

MODEL = Path(__file__).with_name("peer_model.py")
MIAMI = ROOT / "examples" / "miami"
ROWS = pd.read_csv(MIAMI / "published" / "rows.csv")
TARGET = "log_price"
JSON, BYTES = "application/json", "application/octet-stream"
CALLERS = (1, 2, 4)
SECONDS, WARM_UP_SECONDS = 4.0, 2.0
START_SECONDS = 300
GRID_SIZE, TRIM = 49, (0.01, 0.99)
NOTE = (
    "REST both; the model is with the server, the rows are in the call. Not the same average: "
    "onnxplain averages over the rows of the call; alibi lays its grids by them, and then follows "
    "both branches of each split on another feature, weighted by the rows of training, which is "
    "less work."
)


def answered(port: int, method: str, path: str, body: bytes, kind: str = JSON) -> Any:
    """Return what a server answers, read from JSON. Raises `RuntimeError` if it refuses."""
    connection = HTTPConnection("127.0.0.1", port)
    with closing(connection):
        connection.request(method, path, body, {"Content-Type": kind})
        reply = connection.getresponse()
        content = reply.read()
    if reply.status >= HTTPStatus.MULTIPLE_CHOICES:
        raise RuntimeError(f"{path}: {reply.status} {content.decode()}")
    return json.loads(content or b"null")


class Peer:
    """A running MLServer: port and path of its explainer, and the body of a call."""

    def __init__(self, port: int) -> None:
        self.port, self.path = port, "/v2/models/curves/infer"
        rows = {
            "name": "rows",
            "shape": list(ROWS.shape),
            "datatype": "FP64",
            "data": ROWS.to_numpy().ravel().tolist(),
            "parameters": {"content_type": "np"},
        }
        asked = {"grid_resolution": GRID_SIZE, "percentiles": TRIM}
        called = {"parameters": {"explain_parameters": asked}, "inputs": [rows]}
        self.body = json.dumps(called).encode()

    def is_ready(self) -> bool:
        """Return whether its explainer is loaded."""
        try:
            answered(self.port, "GET", "/v2/models/curves/ready", b"")
        except (ConnectionError, RuntimeError):
            return False
        return True


def free_ports(count: int) -> list[str]:
    """Return ports that nobody listens on."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [str(each.getsockname()[1]) for each in sockets]


def write_model(folder: Path, ports: Sequence[str]) -> bytes:
    """Fit the forest on all houses; return it as ONNX."""
    houses = pd.read_csv(MIAMI / "miami_housing.csv.gz")
    table = folder / "training.csv"
    training = houses[[*ROWS.columns]].assign(**{TARGET: np.log(houses["SALE_PRC"])})
    training.to_csv(table, index=False)
    command = [PEER / "python", MODEL, table, TARGET, folder, *ports]
    subprocess.run(list(map(str, command)), check=True)
    return (folder / "model.onnx").read_bytes()


@contextmanager
def mlserver(folder: Path, port: int) -> Iterator[Peer]:
    """Serve a folder that `write_model` wrote."""
    peer, log = Peer(port), folder / "mlserver.log"
    search = f"{PEER}{os.pathsep}{os.environ['PATH']}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [PEER / "mlserver", "start", "."],
            stdout=output,
            stderr=output,
            env={**os.environ, "PATH": search},
            cwd=folder,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not peer.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text(encoding="utf-8"))
            time.sleep(0.2)
        yield peer
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers outlive a stop at times
        process.wait()


def called(server: Server, model: bytes, grids: Sequence[Sequence[float]]) -> bytes:
    """Upload a model; return the body of a call that names it, for curves on these grids."""
    (model_id,) = answered(server.rest_port, "PUT", "/v1/models", model, BYTES).values()
    asked = {
        "features": [{"names": [name]} for name in ROWS.columns],
        "grids": [
            {"columns": [{"name": name, "numbers": grid}]}
            for name, grid in zip(ROWS.columns, grids, strict=True)
        ],
    }
    return json.dumps(
        {
            "model": {"id": model_id},
            "dataframe_split": ROWS.to_dict(orient="split", index=False),
            "featureColumns": list(ROWS.columns),
            "plots": False,
            "methods": [{"partialDependence": asked}],
        }
    ).encode()


def rate(address: str, body: bytes, callers: int, seconds: float = SECONDS) -> float:
    """Return answers per second, each caller asking again once it is answered."""
    calls = generator.closed_loop(address, body, seconds, callers)
    others = {each.code for each in calls} - generator.ANSWERS
    if others:
        raise RuntimeError(f"{address} answered {', '.join(sorted(others))}")
    return generator.answers_per_second(calls, seconds)


def rows() -> Iterator[Row]:
    """Measure."""
    generator.build()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        ports = free_ports(3)
        model = write_model(folder, ports)
        peer = opened.enter_context(mlserver(folder, int(ports[0])))
        server = opened.enter_context(served(cache_bytes=0))
        their_curves = alibi_curves(peer)
        body = called(server, model, their_curves["feature_values"])
        difference = largest_difference(server, body, their_curves["pd_values"])
        theirs = f"http://127.0.0.1:{peer.port}{peer.path}"
        for callers in CALLERS:
            rate(server.explanations, body, callers, WARM_UP_SECONDS)
            rate(theirs, peer.body, callers, WARM_UP_SECONDS)
            found = in_turn(
                partial(rate, server.explanations, body, callers),
                partial(rate, theirs, peer.body, callers),
            )
            yield _row(callers, *found, difference)


def _row(callers: int, ours: Sequence[float], theirs: Sequence[float], difference: float) -> Row:
    who = f"{callers} callers" if callers > 1 else "1 caller"
    return Row(
        f"calls with 6 curves of 500 rows, forest of 100 trees of depth 8: {who}",
        Unit.PER_SECOND,
        ours,
        "MLServer 1.6.1 with alibi 0.9.6, two workers",
        theirs,
        note=f"{NOTE} The curves differ by up to {difference:.2f} (logarithm of the price).",
        headline=f"Calls per second of a server, {who}" if callers > 1 else "",
    )


def alibi_curves(peer: Peer) -> Mapping[str, Any]:
    """Return grids and curves of one call."""
    answer = answered(peer.port, "POST", peer.path, peer.body)
    found: Mapping[str, Any] = json.loads(answer["outputs"][0]["data"][0])["data"]
    return found


def largest_difference(
    server: Server, body: bytes, theirs: Sequence[Sequence[Sequence[float]]]
) -> float:
    """Return how far our curves and theirs, each (1, n_points), are apart."""
    answer = answered(server.rest_port, "POST", "/v1/explanations", body)
    curves = answer["explanations"][0]["partialDependence"]["curves"]
    pairs = zip(curves, theirs, strict=True)
    return max(float(np.abs(np.subtract(ours["values"], their[0])).max()) for ours, their in pairs)


def main() -> None:
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
