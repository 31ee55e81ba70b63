"""Real servers of models, each for one run of the tests, and what their models predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.adapters.remote.open_remote import open_remote
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteAddress, RemotePredictions

from tools.remote import servers, triton_server
from tools.remote.servers import ModelServer

CASE = Path(__file__).parents[2] / "golden" / "hstats" / "case_friedman1_gbr"
MATRIX = (Input("rows", "double", 5),)
PEOPLE = (Input("city", "string", 1), Input("age", "int64", 1), Input("income", "double", 1))


class Control:
    """Control of a request that nobody ends."""

    deadline = math.inf

    def check(self, when: str) -> None:
        """Let it go on."""


@dataclass(frozen=True)
class Case:
    """Model, its rows, and what it predicts for them."""

    inputs: tuple[Input, ...]
    feeds: dict[str, Array]
    predictions: Array


def case(server: ModelServer, name: str) -> Case:
    """Return the rows and predictions of a model."""
    one = server.expected[name]
    predictions = np.array(one["predictions"])
    if "rows" in one:
        return Case(MATRIX, {"rows": np.array(one["rows"], dtype=float)}, predictions)
    columns = {
        "city": np.array(one["columns"]["city"], dtype=object),
        "age": np.array(one["columns"]["age"], dtype=np.int64),
        "income": np.array(one["columns"]["income"], dtype=float),
    }
    return Case(PEOPLE, {name: c[:, None] for name, c in columns.items()}, predictions)


@pytest.fixture(scope="session")
def kserve(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[ModelServer]:
    """KServe's Python server."""
    with servers.kserve(program("kserve"), tmp_path_factory.mktemp("kserve")) as server:
        yield server


@pytest.fixture(scope="session")
def mlserver(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[ModelServer]:
    """MLServer, with models of scikit-learn and XGBoost."""
    with servers.mlserver(program("mlserver"), tmp_path_factory.mktemp("mlserver")) as server:
        yield server


@pytest.fixture(scope="session")
def mlflow(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[ModelServer]:
    """MLflow's scoring servers."""
    python = program("mlflow").replace("bin/mlflow", "bin/python")
    folder = tmp_path_factory.mktemp("mlflow")
    with servers.mlflow(python, folder, "forest", "people", "animals") as server:
        yield server


@pytest.fixture(scope="session")
def triton(program: Callable[[str], str], tmp_path_factory: Any) -> Iterator[ModelServer]:
    """Triton with a model of six numbers, "boosted"."""
    model = (CASE / "model.onnx").read_bytes()
    folder = tmp_path_factory.mktemp("triton")
    with triton_server.triton(program("triton"), folder, "boosted", model) as server:
        yield server


@pytest.fixture
def open_model() -> Callable[..., RemotePredictions]:
    """Opens a model of a server."""

    def open_(
        protocol: str, uri: str, name: str, policy: RemotePolicy | None = None, **address: Any
    ) -> RemotePredictions:
        stated = RemoteAddress(protocol, uri, name, **address)
        return open_remote(stated, policy or RemotePolicy(), Control())

    return open_


@pytest.fixture
def read_case() -> Callable[[ModelServer, str], Case]:
    """Gives the rows and predictions of a model."""
    return case
