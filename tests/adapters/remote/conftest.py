"""Servers of models as tests need them: real ones of HTTP, that answer what a test tells them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.models import RemoteAddress, RemotePredictions

from tools.stores.faulty_server import FaultyServer, Request, Response, of_bytes, serve


class Control:
    """Control of a request: `end` cancels it."""

    def __init__(self) -> None:
        self.deadline = math.inf
        self.is_cancelled = False

    def end(self) -> None:
        self.is_cancelled = True

    def check(self, when: str) -> None:
        if self.is_cancelled:
            raise ExplainError(Reason.CANCELLED, f"The caller cancelled {when}")


class JsonServer:
    """Server that answers paths with JSON: documents, or what functions of the request give.

    Attributes
    ----------
    answers : dict of "METHOD path" to a document, bytes, or a function of the request
    requests : list of Request
    headers : mapping of str to str
        Of each answer.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.requests: list[Request] = []
        self.headers: Mapping[str, str] = {}
        self.status = 200

    def answer(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answers.get(f"{request.method} {request.path}")
        if answer is None:
            return of_bytes(404, {}, b'{"error": "no such path"}')
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Response):
            return answer
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return of_bytes(self.status, self.headers, content)


@pytest.fixture
def control() -> Control:
    return Control()


@pytest.fixture
def models() -> JsonServer:
    """What the server answers."""
    return JsonServer()


@pytest.fixture
def server(models: JsonServer) -> Iterator[FaultyServer]:
    """Server of a test, with its faults and its traffic."""
    with serve(models.answer) as state:
        yield state


Open = Callable[..., RemotePredictions]


@pytest.fixture
def open_model(server: FaultyServer, control: Control) -> Open:
    """Opens the model "m" of the server."""

    def open_(
        protocol: str = "OIP_REST", policy: RemotePolicy | None = None, **address: Any
    ) -> RemotePredictions:
        stated = RemoteAddress(protocol, **{"uri": server.url, "name": "m", **address})
        return open_remote(stated, policy or RemotePolicy(), control)

    return open_


def rows(count: int = 4) -> np.ndarray[Any, Any]:
    """Rows of three features."""
    return np.random.default_rng(7).normal(size=(count, 3))
