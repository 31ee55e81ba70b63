"""Two replicas: where one is killed, clients go on with the other."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def replicas(serve: Callable[..., Any]) -> tuple[Any, Any]:
    return serve(), serve()


def test_a_killed_server_costs_its_clients_a_retry_and_leaves_nothing(
    replicas: tuple[Any, Any], network: bytes, rows: Mapping[str, list[float]]
) -> None:
    addresses = ",".join(f"127.0.0.1:{server.grpc_port}" for server in replicas)
    few = {name: values[:20] for name, values in rows.items()}
    curve = onnxplain.PartialDependence(features=["x0"], grids=[{"x0": [0.0, 1.0]}])
    answers = []
    with onnxplain.connect(f"ipv4:{addresses}", retry_count=20) as client:
        for count in itertools.count():
            if count == 5:
                members = replicas[0].workers()
                replicas[0].process.kill()
            if count == 10:
                break
            found = client.explain(network, few, curve)
            answers.append(found.partial_dependence.curves[0].values)

    assert len(answers) == 10
    assert all(np.allclose(values, answers[0]) for values in answers)
    assert members
    while any(Path(f"/proc/{pid}/exe").exists() for pid in members):
        time.sleep(0.05)
