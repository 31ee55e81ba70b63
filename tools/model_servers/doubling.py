"""A server of models, and hosts of requests that ask it."""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnxplain.remote_models import RemoteProtocol
from onnxplain.v1.model_pb2 import RemoteInput, RemoteModel
from onnxplain_server.core.counts.remote_counts import NO_USE, RemoteUse
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import RequestFile

from tools.stores.faulty_server import Request, Response, of_bytes

LONG_SECONDS = 60.0
"""A bound that only something endless exceeds."""


@dataclass
class Models:
    """Server of models that answer twice the first of two features, in all protocols of HTTP.

    Attributes
    ----------
    started : list of float
        When each call for predictions came.
    held : mapping of first value to Event
        Calls with this first value wait for the event.
    statuses : list of int
        Of the next answers, before they are right again.
    awaited : int
        Calls that have to be there at a time before any is answered.
    """

    url: str = ""
    started: list[float] = field(default_factory=list)
    active: int = 0
    most_active: int = 0
    awaited: int = 0
    held: dict[float, threading.Event] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)
    have_met: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: Request) -> Response:
        self.authorizations.append(request.headers.get("authorization", ""))
        if request.path == "/v1/models/m:predict":
            return _json({"predictions": _doubled(json.loads(request.body)["instances"])})
        if request.path == "/invocations":
            data = json.loads(request.body)["dataframe_split"]["data"]
            return _json({"predictions": _doubled(data)})
        if not request.path.endswith("/infer"):
            tensor = {"datatype": "FP64", "shape": [-1, 2]}
            document = {"name": "m", "platform": "p", "inputs": [{"name": "x", **tensor}]}
            outputs = [{"name": "y", "datatype": "FP64", "shape": [-1, 1]}]
            return _json({**document, "outputs": outputs})
        with self.lock:
            self.started.append(time.monotonic())
            self.active += 1
            self.most_active = max(self.most_active, self.active)
            if self.active >= self.awaited:
                self.have_met.set()
            status = self.statuses.pop(0) if self.statuses else 200
        try:
            return self._predicted(request, status)
        finally:
            with self.lock:
                self.active -= 1

    def _predicted(self, request: Request, status: int) -> Response:
        given = json.loads(request.body)["inputs"][0]
        rows = np.reshape(given["data"], given["shape"])
        self.asked.release()
        if self.awaited:
            self.have_met.wait(LONG_SECONDS)
            time.sleep(0.02)  # in which more would come
        if rows[0, 0] in self.held:
            self.held[rows[0, 0]].wait(LONG_SECONDS)
        if status != 200:
            return of_bytes(status, {}, b'{"error": "a fault of the test"}')
        answers = 2 * rows[:, 0]
        output = {"name": "y", "datatype": "FP64", "shape": [len(answers), 1]}
        return _json({"outputs": [{**output, "data": answers.tolist()}]})


def _doubled(rows: Any) -> Any:
    return [2 * first for first, _ in rows]


def _json(document: Any) -> Response:
    return of_bytes(200, {"Content-Type": "application/json"}, json.dumps(document).encode())


class Control:
    """Control of a request: `end` cancels it."""

    def __init__(self, deadline: float = math.inf) -> None:
        self.deadline = deadline
        self.is_cancelled = False

    def check(self, when: str) -> None:
        if self.is_cancelled:
            raise ExplainError(Reason.CANCELLED, f"the caller cancelled {when}")


class Host:
    """`SessionHost` of a request: its control, and what its calls came to."""

    def __init__(self, deadline: float = math.inf) -> None:
        self.control = Control(deadline)
        self.use: RemoteUse = NO_USE

    def count_remote(self, use: RemoteUse) -> None:
        self.use = RemoteUse(use.prefix, self.use.counts + use.counts)


def blobs(url: str, protocol: RemoteProtocol = "OIP_REST") -> dict[str, RequestFile]:
    """Files of a request for a remote model, with its inputs where its server tells none."""
    inputs = [RemoteInput(name="x", columns=["a", "b"])]
    if protocol.startswith("OIP"):
        inputs = []
    message = RemoteModel(uri=url, name="m", protocol=protocol, inputs=inputs)
    return {"remote:1": RequestFile("remote", message.SerializeToString(), "model.remote")}


def rows(*first: float) -> dict[str, Any]:
    """Rows of the models, by their first features."""
    return {"x": np.array([[value, 0.0] for value in first])}
