"""Server of the Open Inference Protocol that runs an ONNX file, and requests that name it."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from google.protobuf.json_format import ParseDict
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from tools.stores.faulty_server import FaultyServer, Request, Response, of_bytes, serve

CASE = Path(__file__).parents[2] / "tests" / "golden" / "hstats" / "case_friedman1_gbr"
MODEL, TABLE = (CASE / "model.onnx").read_bytes(), (CASE / "data.csv").read_bytes()
FEATURES = [f"x{index}" for index in range(1, 7)]
NAME = "friedman"


@dataclass
class ModelServer:
    """Server of the model; it counts rows, and holds calls back while `gate` is closed."""

    state: FaultyServer
    row_counts: list[int] = field(default_factory=list)
    authorizations: set[str] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    is_asked: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return self.state.url


class OnnxServer:
    """Serves the model inside the context."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session

    def __enter__(self) -> ModelServer:
        self._serving = serve(self._answer)
        self._server = ModelServer(self._serving.__enter__())
        self._server.gate.set()
        return self._server

    def __exit__(self, *error: Any) -> None:
        self._server.gate.set()
        self._serving.__exit__(*error)

    def _answer(self, request: Request) -> Response:
        self._server.authorizations.add(request.headers.get("authorization", ""))
        path = f"/v2/models/{NAME}"
        if request.path == path:
            return _json({**_METADATA, "name": NAME})
        if request.path != f"{path}/infer":
            return of_bytes(404, {}, b'{"error": "no such model"}')
        given = json.loads(request.body)["inputs"][0]
        rows = np.asarray(given["data"], np.float32).reshape(given["shape"])
        self._server.row_counts.append(len(rows))
        self._server.is_asked.set()
        self._server.gate.wait()
        (name,) = [each.name for each in self._session.get_inputs()]
        answers = self._session.run(None, {name: rows})[0]
        output = {
            "name": "y",
            "datatype": "FP32",
            "shape": list(answers.shape),
            "data": answers.ravel().tolist(),
        }
        return _json({"model_name": NAME, "outputs": [output]})


_METADATA = {
    "platform": "test",
    "versions": [],
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, len(FEATURES)]}],
    "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 1]}],
}


def _json(document: Any) -> Response:
    return of_bytes(200, {"Content-Type": "application/json"}, json.dumps(document).encode())


def asked(url: str, method: dict[str, Any], **remote: Any) -> dict[str, Any]:
    """Ask for an explanation of the remote model, in canonical JSON."""
    return {
        "model": {"remote": {"uri": url, "protocol": "OIP_REST", "name": NAME, **remote}},
        "table": {"csv": TABLE.decode()},
        "featureColumns": FEATURES,
        "targetColumn": "y",
        "methods": [method],
    }


def message(request: dict[str, Any]) -> ExplainRequest:
    """Return a request whose table is CSV as a message."""
    table = request["table"]["csv"].encode()
    parsed = ParseDict(
        {name: v for name, v in request.items() if name != "table"}, ExplainRequest()
    )
    parsed.table.csv = table
    return parsed
