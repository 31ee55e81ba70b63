"""Clients go on where a server is killed: with another, or with the same after a restart."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest

pytestmark = pytest.mark.slow

PATIENCE = 600.0


def test_calls_outlast_a_restart_of_the_only_server(
    serve: Callable[..., Any],
    free_ports: Callable[[int], list[int]],
    network: bytes,
    rows: Mapping[str, list[float]],
) -> None:
    """Killed while it computes, and started again 3 s later on the same port."""
    (port,) = free_ports(1)
    server = serve(grpc_port=port)
    curve = onnxplain.PartialDependence(features=["x0"], grids=[{"x0": [0.0, 1.0]}])
    few = {name: values[:20] for name, values in rows.items()}
    started = threading.Event()

    def noted(_done: float, _planned: float) -> None:
        started.set()

    # More retries than by default: on a busy machine, the start takes longer.
    with (
        onnxplain.connect(f"127.0.0.1:{port}", retry_count=300) as client,
        ThreadPoolExecutor(2) as callers,
    ):
        before = client.explain(network, few, curve)
        long = callers.submit(
            client.explain, network, rows, onnxplain.Interactions(), progress=noted
        )
        assert started.wait(PATIENCE)
        server.process.kill()
        server.process.wait(PATIENCE)
        refused = callers.submit(client.explain, network, few, curve)
        time.sleep(3)
        assert not any(call.done() for call in (long, refused))
        serve(grpc_port=port)
        after, found = refused.result(PATIENCE), long.result(PATIENCE)

    first, second = (each.partial_dependence.curves[0].values for each in (before, after))
    assert np.allclose(first, second)
    assert len(found.interactions.overall) > 0


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
