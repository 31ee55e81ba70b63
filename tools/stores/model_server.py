"""Server of one ONNX model by the Open Inference Protocol over REST, which counts rows.

`python -m tools.stores.model_server MODEL.onnx` is a process of its own, which prints its address.
"""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from tools.stores.faulty_server import FaultyServer, Request, Response, of_bytes, serve

NAME = "model"
_TYPES = {
    "tensor(float)": ("FP32", np.float32),
    "tensor(double)": ("FP64", np.float64),
    "tensor(int64)": ("INT64", np.int64),
    "tensor(string)": ("BYTES", np.object_),
}
_BY_NAME = dict(_TYPES.values())

Predict = Callable[[Mapping[str, Any]], Any]
"""Inputs by name, (n, width), to (n, n_outputs)."""


@dataclass
class ServedModel:
    """Model that a server answers with; both functions may be replaced while it runs.

    Attributes
    ----------
    metadata : document of the model's inputs and outputs
    predict : callable
    row_count, largest_call : int
        Rows that it was asked for, and those of the largest call.
    most_at_once : int
        Most calls at a time.
    """

    metadata: dict[str, Any]
    predict: Predict
    row_count: int = 0
    largest_call: int = 0
    most_at_once: int = 0
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Response:
        """Answer a call."""
        if request.path == f"/v2/models/{NAME}":
            return _json(200, self.metadata)
        if request.path != f"/v2/models/{NAME}/infer":
            return _json(404, {"error": "no such model"})
        inputs = {each["name"]: _tensor(each) for each in json.loads(request.body)["inputs"]}
        rows = len(next(iter(inputs.values())))
        with self._lock:
            self.row_count += rows
            self.largest_call = max(self.largest_call, rows)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            predicted = np.asarray(self.predict(inputs))
        except ValueError as error:
            return _json(400, {"error": str(error)})
        finally:
            with self._lock:
                self._at_once -= 1
        kind = "FP32" if predicted.dtype == np.float32 else "FP64"
        output = {
            "name": self.metadata["outputs"][0]["name"],
            "datatype": kind,
            "shape": list(predicted.shape),
            "data": predicted.astype(float).ravel().tolist(),
        }
        return _json(200, {"model_name": NAME, "outputs": [output]})


def of_onnx(content: bytes) -> ServedModel:
    """Serve the output with the scores of an ONNX model: the last one."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    output = session.get_outputs()[-1]

    def predict(inputs: Mapping[str, Any]) -> Any:
        return session.run([output.name], dict(inputs))[0]

    metadata = {
        "name": NAME,
        "platform": "onnxruntime",
        "inputs": [_metadata(each) for each in session.get_inputs()],
        "outputs": [_metadata(output)],
    }
    return ServedModel(metadata, predict)


def of_function(
    function: Callable[..., Any], names: tuple[str, ...], width: int = 1, kind: str = "FP64"
) -> ServedModel:
    """A model with one input for each column."""
    inputs = [{"name": name, "datatype": kind, "shape": [-1, 1]} for name in names]
    outputs = [{"name": "y", "datatype": "FP64", "shape": [-1, width]}]

    def predict(given: Any) -> Any:
        answer = np.asarray(function(*(given[name][:, 0] for name in names)))
        return answer[:, None] if answer.ndim == 1 else answer

    metadata = {"name": NAME, "platform": "function", "inputs": inputs, "outputs": outputs}
    return ServedModel(metadata, predict)


@contextmanager
def serving(model: ServedModel) -> Iterator[FaultyServer]:
    """Serve a model on a free port of 127.0.0.1."""
    with serve(model.answer) as server:
        yield server


def _metadata(value: Any) -> dict[str, Any]:
    kind, _ = _TYPES[value.type]
    shape = [size if isinstance(size, int) else -1 for size in value.shape]
    return {"name": value.name, "datatype": kind, "shape": [-1, *shape[1:]]}


def _tensor(sent: Mapping[str, Any]) -> Any:
    values = [math.nan if value is None else value for value in _flat(sent["data"])]
    return np.array(values, _BY_NAME[sent["datatype"]]).reshape(sent["shape"])


def _flat(data: Any) -> list[Any]:
    return [one for each in data for one in _flat(each)] if isinstance(data, list) else [data]


def _json(status: int, document: Any) -> Response:
    return of_bytes(status, {"Content-Type": "application/json"}, json.dumps(document).encode())


if __name__ == "__main__":
    with serving(of_onnx(Path(sys.argv[1]).read_bytes())) as running:
        sys.stdout.write(f"{running.url}\n")
        sys.stdout.flush()
        sys.stdin.read()
