"""Operations whose predictions a Dask cluster makes: bits of the server's own, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import onnxplain
import pytest
from google.protobuf.json_format import MessageToJson

from bench.shared.neighbours import nearest_neighbours
from tests.adapters.cluster.conftest import Cluster
from tests.adapters.cluster.stopped import stopped
from tests.system.redis.conftest import RedisServer
from tools.waiting import until

pytestmark = pytest.mark.slow

SOON = 1e-6
"""Planned seconds that each operation exceeds."""
KEY = "0123456789abcdef"
NAMES = "abcd"
METHODS = (
    onnxplain.Interactions(threeway_feature_count=3),
    onnxplain.PartialDependence(),
    onnxplain.PermutationImportance(),
)
ASKED: Any = {"feature_columns": [*NAMES], "target_column": "t", "plots": False}


@pytest.fixture(scope="module")
def model() -> bytes:
    """A model that only predicts."""
    return nearest_neighbours(len(NAMES), 200)


@pytest.fixture(scope="module")
def rows() -> Any:
    columns = np.random.default_rng(3).normal(size=(5, 90)).astype(np.float32).round(1)
    return {name: values.tolist() for name, values in zip("abcdt", columns, strict=True)}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.start_scheduler()
    yield made
    made.stop()


@pytest.fixture
def start(
    serve: Callable[..., Any], redis_server: RedisServer, cluster: Cluster
) -> Callable[..., Any]:
    """Start a server whose cluster predicts for operations from some planned time on."""

    def started(seconds: float) -> Any:
        return serve(
            redis_url=redis_server.url,
            cache_secret=KEY,
            dask_scheduler=cluster.address,
            dask_prediction_seconds=seconds,
        )

    return started


@pytest.fixture(scope="module")
def expected(model: bytes, rows: Any) -> list[str]:
    """Numbers of one process."""
    with onnxplain.local() as client:
        return plain(client.explain(model, rows, *METHODS, **ASKED))


def counted(server: Any) -> dict[str, float]:
    """What the metrics page tells of the cluster, by name and labels."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=120) as reply:
        lines = reply.read().decode().splitlines()
    found = (line.rpartition(" ") for line in lines if line.startswith("onnxplain_cluster"))
    return {name: float(value) for name, _, value in found}


def plain(found: Any) -> list[str]:
    return [MessageToJson(each) for each in found.message.explanations]


def test_a_cluster_predicts_for_operations_alone(
    start: Callable[..., Any], cluster: Cluster, model: bytes, rows: Any, expected: list[str]
) -> None:
    """A worker is killed at work, which another does again."""
    for _ in range(2):
        cluster.start_worker()
    server = start(SOON)
    with onnxplain.connect(server.endpoint) as client, cluster.watched() as watched:
        watched.wait_for_workers(2)
        client.explain(model, rows, METHODS[1], **ASKED, row_count=50)
        assert not watched.done()

        operation = watched.kill_at_work(
            cluster, lambda: client.start(model, rows, *METHODS, **ASKED)
        )
        assert plain(operation.result()) == expected
        assert max(watched.runs().values()) > 1
        counts = counted(server)
        assert counts["onnxplain_cluster_workers"] == 1
        assert counts["onnxplain_cluster_lost_workers_total"] == 1
        assert 0 < counts['onnxplain_cluster_tasks_total{outcome="done"}'] <= watched.done()
        assert counts['onnxplain_cluster_tasks_total{outcome="failed"}'] == 0
        assert counts["onnxplain_cluster_sent_bytes_total"] > len(model)
        assert counts["onnxplain_cluster_received_bytes_total"] > 0


def test_short_operations_stay_with_the_server(
    start: Callable[..., Any], cluster: Cluster, model: bytes, rows: Any, expected: list[str]
) -> None:
    cluster.start_worker()
    server = start(1e6)
    with onnxplain.connect(server.endpoint) as client, cluster.watched() as watched:
        watched.wait_for_workers(1)
        assert plain(client.start(model, rows, *METHODS, **ASKED).result()) == expected
        assert not watched.done()
        assert not any(counted(server).values())


def test_an_operation_waits_for_a_scheduler(
    start: Callable[..., Any], cluster: Cluster, model: bytes, rows: Any, expected: list[str]
) -> None:
    cluster.kill(cluster.processes[0])
    server = start(SOON)
    with onnxplain.connect(server.endpoint) as client:
        operation = client.start(model, rows, *METHODS, **ASKED)
        until(lambda: any("cannot be reached" in line for line in server.log))
        assert not operation.is_done
        cluster.start_scheduler()
        cluster.start_worker()
        assert plain(operation.result()) == expected


def test_a_cancelled_operation_takes_its_tasks_with_it(
    start: Callable[..., Any], cluster: Cluster, model: bytes, rows: Any
) -> None:
    cluster.start_worker()
    server = start(SOON)
    with onnxplain.connect(server.endpoint) as client, cluster.watched() as watched:
        watched.wait_for_workers(1)
        with stopped(cluster.workers[0]):
            operation = client.start(model, rows, *METHODS, **ASKED)
            until(watched.tasks)
            operation.cancel()
            until(lambda: not watched.tasks())
        with pytest.raises(onnxplain.ExplainError) as cancelled:
            operation.result()
    assert cancelled.value.reason == "CANCELLED"
