"""Servers whose Dask cluster computes on tables of stores: bits of one process, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnxplain
import pytest

from tests.adapters.cluster.conftest import Cluster
from tests.system.sources.test_blocks import (
    MEMORY_BYTES,
    MIB,
    TABLE,
    check_same,
    expected,
    explained,
    parquet,
    path,
    store,
)

__all__ = ["expected", "parquet", "path", "store"]
"""Fixtures."""

pytestmark = pytest.mark.slow


@pytest.fixture
def listed(store: Any, tmp_path: Path) -> Path:
    listed = tmp_path / "sources.toml"
    listed.write_text(
        f'[[source]]\nprefix = "s3://rows/"\nendpoint = "{store[1].url}"\n'
        'networks = ["127.0.0.0/8"]\n'
    )
    return listed


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.start_scheduler()
    yield made
    made.stop()


@pytest.fixture
def server(serve: Callable[..., Any], cluster: Cluster, listed: Path) -> Any:
    return serve(
        sources_file=listed,
        memory_bytes=MEMORY_BYTES,
        max_table_bytes=MIB,
        dask_scheduler=cluster.address,
    )


@pytest.fixture
def readers(cluster: Cluster, listed: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster, whose workers will read from the store."""
    monkeypatch.setenv("DASK_ONNXPLAIN__SOURCES_FILE", str(listed))
    return cluster


def test_a_cluster_gives_the_bits_of_one_process_and_survives_a_worker(
    server: Any, readers: Cluster, expected: Any
) -> None:
    """A worker is killed at work, which another does again."""
    readers.start_worker()
    readers.start_worker()
    with (
        readers.watched() as watched,
        ThreadPoolExecutor(1) as thread,
        onnxplain.connect(server.endpoint) as client,
    ):
        watched.wait_for_workers(2)
        answer = watched.kill_at_work(readers, lambda: thread.submit(explained, client, TABLE))
        found = answer.result()
        assert max(watched.runs().values()) > 1

    check_same(found, expected)
    maps = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert "numpy" not in maps
    assert "tornado" not in maps


def test_a_worker_without_a_list_reads_nothing(server: Any, cluster: Cluster) -> None:
    cluster.start_worker()
    with (
        onnxplain.connect(server.endpoint) as client,
        pytest.raises(onnxplain.ExplainError, match="DASK_ONNXPLAIN__SOURCES_FILE") as refused,
    ):
        explained(client, TABLE)

    assert refused.value.reason == "SOURCE_NOT_LISTED"


def test_a_cluster_without_scheduler_is_told(server: Any, cluster: Cluster) -> None:
    for process in cluster.processes:
        cluster.kill(process)
    with (
        onnxplain.connect(server.endpoint, retry_count=0) as client,
        pytest.raises(onnxplain.ExplainError, match="Dask scheduler") as refused,
    ):
        explained(client, TABLE)

    assert refused.value.reason == "UNAVAILABLE"
    assert "the server's Dask cluster" in str(refused.value)
    assert "127.0.0.1" not in str(refused.value)
    assert any(cluster.address in line for line in server.log)
