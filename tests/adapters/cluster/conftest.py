"""A Dask cluster of real processes, a table of several tasks, and the answer of this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from authority import Authority
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1 import interactions_pb2
from onnxplain_server.adapters.runner.blocks.table_blocks import large_table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.explain.streaming.streamed_rows import SAMPLED_ROWS
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS

from bench.shared.neighbours import nearest_neighbours
from tools.waiting import until

MODEL = Path(__file__).parents[2] / "models/sklearn_gradient_boosting.onnx"
TASKS = 3
N = (4 * TASKS - 2) * BLOCK_ROWS + 5_000
MEMORY_BYTES = 256 << 20

_T = TypeVar("_T")


class Host:
    """A host that keeps nothing, and calls a function now and then."""

    def __init__(self, during: Callable[[], None] = lambda: None) -> None:
        self.during = during

    def advance(self, done: float, planned: float) -> None:
        self.during()

    def cache_get(self, names):
        return [None] * len(names)

    def cache_put(self, entries) -> None: ...

    def publish(self, part: bytes) -> None: ...

    def write_table(self, parts: object) -> None: ...

    def single_flight(self, name):
        return nullcontext(True)


@pytest.fixture(scope="session")
def rows() -> pa.Table:
    """Known rows of the model, drawn with small shifts; weights, also of 0, and text."""
    known = json.loads(MODEL.with_suffix(".json").read_text())["columns"]
    rng = np.random.default_rng(0)
    columns = {
        name: (rng.choice(values, N) + 0.01 * rng.normal(size=N)).astype(np.float32)
        for name, values in known.items()
    }
    others = {
        "weight": rng.integers(0, 3, N).astype(np.float64),
        "target": rng.normal(size=N),
        "site": rng.choice(["north", "south", ""], N),
    }
    return pa.table({**columns, **others})


@pytest.fixture(scope="session")
def table(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(rows, path, row_group_size=100_000)
    return path


@pytest.fixture(scope="session")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture(scope="session")
def explained(runner: InProcess) -> Callable[..., bytes]:
    """Explain a table in blocks: path, workers, what to do meanwhile -> the explanations' bytes."""

    def explain(path: Path, workers: Any = None, during: Callable[[], None] = lambda: None):
        request = service_pb2.ExplainRequest(
            feature_columns=json.loads(MODEL.with_suffix(".json").read_text())["columns"],
            weight_column="weight",
            target_column="target",
            plots=False,
        )
        request.model.content = MODEL.read_bytes()
        options = interactions_pb2.InteractionsOptions(
            pairwise_feature_count=3, threeway_feature_count=3
        )
        request.methods.add().interactions.MergeFrom(options)
        request.methods.add().partial_dependence.group_column = "site"
        request.methods.add().average_loss.group_column = "site"
        request.methods.add().firm.features.append("bmi > 0")
        request.methods.add().attributions.explained_row_count = 20
        large = large_table(path, MEMORY_BYTES, workers)
        assert large is not None
        reply = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host(during), large
        )
        answer = service_pb2.ExplainResponse.FromString(reply.content)
        for explanation in answer.explanations:
            assert SAMPLED_ROWS < explanation.rows.used_row_count < N  # some weights are 0
        answer.ClearField("receipt")
        return answer.SerializeToString(deterministic=True)

    return explain


@pytest.fixture(scope="session")
def expected(table: Path, explained: Callable[..., bytes]) -> bytes:
    """The answer of the threads of this process."""
    return explained(table)


@pytest.fixture(scope="session")
def neighbours() -> bytes:
    """A model that only predicts."""
    return nearest_neighbours(4, 200)


@pytest.fixture(scope="session")
def predicted(neighbours: bytes) -> Callable[..., bytes]:
    """Explain a table in memory by a black box: workers, meanwhile -> the explanations' bytes."""
    columns = np.random.default_rng(3).normal(size=(5, 90)).astype(np.float32)
    request = service_pb2.ExplainRequest(
        feature_columns="abcd", target_column="t", output_indices=[0], plots=False
    )
    request.model.content = neighbours
    for name, values in zip("abcdt", columns.round(1), strict=True):
        request.table.columns.columns.add(name=name).numbers.extend(map(float, values))
    request.methods.add().interactions.threeway_feature_count = 3
    request.methods.add().partial_dependence.SetInParent()
    request.methods.add().individual_conditional_expectation.SetInParent()
    request.methods.add().permutation_importance.SetInParent()
    request.methods.add().average_loss.SetInParent()
    request.methods.add().firm.features.append("a > 0")
    vectors = request.methods.add().feature_vectors
    vectors.sentence_count, vectors.depth = 200, 2
    vectors.row_indices.append(0)

    def explain(workers: Any = None, during: Callable[[], None] = lambda: None) -> bytes:
        runner = InProcess(2, workers=workers)
        try:
            reply = runner.answer(
                Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host(during)
            )
        finally:
            runner.close()
        answer = service_pb2.ExplainResponse.FromString(reply.content)
        assert len(answer.explanations) == len(request.methods)
        answer.ClearField("receipt")
        return answer.SerializeToString(deterministic=True)

    return explain


@pytest.fixture(scope="session")
def predicted_here(predicted: Callable[..., bytes]) -> bytes:
    """The answer of the threads of this process."""
    return predicted()


@dataclass
class Cluster:
    """Scheduler and workers, each a process; with TLS, if it has an authority."""

    folder: Path
    authority: Authority | None = None
    port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{'tls' if self.authority else 'tcp'}://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        """Start the scheduler at a free port, or again at the same one; wait for it."""
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        where = ("--host", "127.0.0.1", "--port", str(self.port), "--scheduler-file", str(told))
        process = self._start("scheduler", *where)
        while (address := address_in(told)) is None:
            assert process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        self.port = int(address.rpartition(":")[2])

    def start_worker(self) -> None:
        limits = ("--nthreads", "1", "--memory-limit", "4GB", "--no-nanny", "--host", "127.0.0.1")
        folder = ("--local-directory", str(self.folder))
        self.workers.append(self._start("worker", self.address, *limits, *folder))

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill one at once."""
        process.send_signal(signal.SIGKILL)
        process.wait()

    @contextmanager
    def watched(self) -> Iterator[Watched]:
        """Connect to the scheduler, to see what it does."""
        from distributed import Client, Security  # noqa: PLC0415 - of the extra dask

        files = self.files()
        security = Security(**files, require_encryption=True) if files else None
        with Client(self.address, security=security, set_as_default=False) as client:
            yield Watched(client)

    def files(self) -> dict[str, str]:
        """The files of TLS of a new client, by Dask's names; none without TLS."""
        if self.authority is None:
            return {}
        certificate, key = map(str, self.authority.issue("client"))
        return {
            "tls_ca_file": str(self.authority.file),
            "tls_client_cert": certificate,
            "tls_client_key": key,
        }

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        program = str(Path(sys.executable).with_name("dask"))
        if self.authority is not None:
            certificate, key = map(str, self.authority.issue("node"))
            files = ("--tls-cert", certificate, "--tls-key", key)
            arguments = (*arguments, *files, "--tls-ca-file", str(self.authority.file))
            arguments = (*arguments, "--protocol", "tls")
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [program, *arguments, "--no-dashboard"], stdout=log, stderr=log, cwd=self.folder
            )
        self.processes.append(process)
        return process


@dataclass(frozen=True)
class Watched:
    """What a scheduler knows of the tasks of passes."""

    client: Any

    def __post_init__(self) -> None:
        from cloudpickle import register_pickle_by_value  # noqa: PLC0415 - of the extra dask

        # The scheduler has no tests to import from.
        register_pickle_by_value(sys.modules[__name__])

    def wait_for_workers(self, count: int) -> None:
        self.client.wait_for_workers(count)

    def tasks(self) -> Mapping[str, str]:
        """States of the tasks that it has, by key."""
        found: Mapping[str, str] = self.client.run_on_scheduler(_tasks)
        return found

    def runs(self) -> Mapping[str, int]:
        """Times that a worker got each task, or what tasks share, also of those forgotten."""
        found: Mapping[str, int] = self.client.run_on_scheduler(_runs)
        return found

    def done(self) -> int:
        """Tasks that have been computed."""
        found: int = self.client.run_on_scheduler(_done)
        return found

    def kill_at_work(self, cluster: Cluster, begin: Callable[[], _T]) -> _T:
        """Begin something, and kill a worker that has a task of it; return what began.

        The worker is stopped before, and so keeps the task, or what tasks wait for.
        """
        pids = self.client.run(os.getpid)
        victim = cluster.workers[0]
        (address,) = [address for address, pid in pids.items() if pid == victim.pid]
        victim.send_signal(signal.SIGSTOP)
        begun = begin()
        until(lambda: self.client.run_on_scheduler(_has_task, address=address))
        cluster.kill(victim)
        return begun


_TASK = "('onnxplain-"
"""Keys of tasks are tuples; those of what all tasks of a request share are texts."""


def _tasks(dask_scheduler: Any) -> dict[str, str]:
    return {
        str(key): task.state
        for key, task in dask_scheduler.tasks.items()
        if str(key).startswith(_TASK)
    }


def _runs(dask_scheduler: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, _, end, *_ in dask_scheduler.transition_log:
        if end == "processing" and "onnxplain-" in str(key):
            found[str(key)] = found.get(str(key), 0) + 1
    return found


def _done(dask_scheduler: Any) -> int:
    return sum(
        end == "memory" and str(key).startswith(_TASK)
        for key, _, end, *_ in dask_scheduler.transition_log
    )


def _has_task(dask_scheduler: Any, address: str) -> bool:
    worker = dask_scheduler.workers[address]
    return any("onnxplain-" in str(task.key) for task in worker.processing)


def address_in(told: Path) -> str | None:
    """Return the address in a scheduler's file; None while it is being written."""
    try:
        return str(json.loads(told.read_text())["address"])
    except (OSError, ValueError):
        return None


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster without scheduler and workers so far."""
    made = Cluster(tmp_path)
    yield made
    made.stop()
