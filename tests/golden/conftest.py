"""Golden cases are run as a user runs them: by the command line, on files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts
from onnxplain_server.cli import ServiceParts, app
from onnxplain_server.core.interfaces import Call, RunnerHost
from onnxplain_server.core.model_limits import ModelLimits
from onnxplain_server.core.request import Reply
from typer.testing import CliRunner


class OnWorkers(Isolated):
    """Sandboxed workers in place of the runner of a command."""

    def answer(self, call: Call, host: RunnerHost, table: None = None) -> Reply:
        return super().answer(call, host)


def isolated() -> OnWorkers:
    order = WorkerSettings(2, 2**26, Budget(2**30, 3_600), ModelLimits())
    return OnWorkers(order, spare_count=1, warm_bytes=2**29, timeouts=WorkerTimeouts(10, 60))


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(lambda: InProcess(2), id="here"),
        pytest.param(isolated, id="isolated", marks=pytest.mark.slow),
    ],
)
def parts(request: pytest.FixtureRequest) -> Iterator[ServiceParts]:
    """What `__main__` builds, built once for all cases; nothing is remembered between them."""
    runner = request.param()
    yield ServiceParts(
        lambda _workers: runner, lambda: MemoryCache(2**20, Signer(b"a secret of the tests")), print
    )
    runner.close()


@pytest.fixture
def explain(parts: ServiceParts, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run `onnxplain explain` on a case's files with a request, and return the answer."""

    def run(case: Path, request: dict[str, Any]) -> dict[str, Any]:
        asked = tmp_path / "request.json"
        asked.write_text(json.dumps(request))
        files = [str(path) for path in (case / "model.onnx", case / "data.csv") if path.exists()]
        done = CliRunner().invoke(app, ["explain", *files, "--request", str(asked)], obj=parts)
        assert done.exit_code == 0, done.output
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return run
