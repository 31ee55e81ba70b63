"""Servers whose Dask cluster restarts, has no workers, speaks TLS, or is no longer needed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import onnxplain
import pytest
from authority import Authority
from onnxplain.requests.arguments import to_request
from onnxplain.v1.explanation_service_pb2_grpc import ExplanationServiceStub

from tests.adapters.cluster.conftest import Cluster
from tests.adapters.cluster.stopped import stopped
from tests.system.sources.test_blocks import (
    MEMORY_BYTES,
    MIB,
    MODEL,
    TABLE,
    parquet,
    path,
    store,
)
from tests.system.sources.test_blocks_on_cluster import cluster, listed, readers, server
from tools.waiting import until

pytestmark = pytest.mark.slow

__all__ = ["cluster", "listed", "parquet", "path", "readers", "server", "store"]
"""Fixtures."""

COLUMNS: Any = {"feature_columns": [f"c{j}" for j in range(10)], "target_column": "y"}
ASKED = onnxplain.AverageLoss()


@pytest.fixture(scope="module")
def loss(path: Path) -> Any:
    """Losses of one process that reads the file in blocks."""
    with onnxplain.local(memory_bytes=MEMORY_BYTES) as client:
        return losses(client, onnxplain.TableUris(f"file://{path}"))


def losses(client: Any, table: Any = TABLE, **asked: Any) -> list[Any]:
    found = client.explain(MODEL, table, ASKED, **COLUMNS, **asked)
    assert "TABLE_STREAMED" in {warning.code for warning in found.warnings}
    return [loss.values for loss in found.average_loss.losses]


def refused(client: Any, **asked: Any) -> onnxplain.ExplainError:
    with pytest.raises(onnxplain.ExplainError) as error:
        losses(client, **asked)
    return error.value


def test_a_scheduler_that_restarts_serves_the_next_request(
    server: Any, readers: Cluster, loss: Any
) -> None:
    readers.start_worker()
    with onnxplain.connect(server.endpoint) as client:
        before = losses(client)
        for process in [*readers.workers, readers.processes[0]]:
            readers.kill(process)
        readers.start_scheduler()
        readers.start_worker()
        after = losses(client)
        with readers.watched() as watched:
            assert watched.done()

    assert before == after == loss


def test_a_cluster_without_workers_is_told(server: Any, cluster: Cluster) -> None:
    with onnxplain.connect(server.endpoint, retry_count=0) as client:
        error = refused(client)

    assert error.reason == "UNAVAILABLE"
    assert "the server's Dask cluster: the Dask cluster had no worker for 5 s" in str(error)


def test_a_deadline_ends_the_tasks_of_its_request(server: Any, readers: Cluster, loss: Any) -> None:
    readers.start_worker()
    with readers.watched() as watched, onnxplain.connect(server.endpoint) as client:
        watched.wait_for_workers(1)
        losses(client)  # all that starts once has started
        with stopped(readers.workers[0]), ThreadPoolExecutor(1) as thread:
            late = thread.submit(refused, client, timeout=10)
            until(lambda: late.done() or watched.tasks())
            assert late.result().reason == "DEADLINE_EXCEEDED"
            until(lambda: not watched.tasks())
        assert losses(client) == loss


def test_a_cancelled_request_takes_its_tasks_with_it(
    server: Any, readers: Cluster, loss: Any
) -> None:
    readers.start_worker()
    with readers.watched() as watched, onnxplain.connect(server.endpoint) as client:
        watched.wait_for_workers(1)
        with stopped(readers.workers[0]), grpc.insecure_channel(server.endpoint) as channel:
            request = to_request(MODEL.read_bytes(), TABLE, ASKED, **COLUMNS)
            call = ExplanationServiceStub(channel).Explain.future(request)
            until(lambda: call.done() or watched.tasks())
            assert call.cancel()
            until(lambda: not watched.tasks())
        assert losses(client) == loss


def test_a_cluster_is_reached_by_tls(
    serve: Callable[..., Any], readers: Cluster, listed: Path, loss: Any, tmp_path: Path
) -> None:
    for process in readers.processes:
        readers.kill(process)
    readers.port, readers.authority = 0, Authority(tmp_path)
    readers.start_scheduler()
    readers.start_worker()
    files = readers.files()
    server = serve(
        sources_file=listed,
        memory_bytes=MEMORY_BYTES,
        max_table_bytes=MIB,
        dask_scheduler=readers.address,
        dask_ca_file=files["tls_ca_file"],
        dask_certificate_file=files["tls_client_cert"],
        dask_key_file=files["tls_client_key"],
    )
    assert readers.address.startswith("tls://")
    with onnxplain.connect(server.endpoint) as client:
        assert losses(client) == loss
