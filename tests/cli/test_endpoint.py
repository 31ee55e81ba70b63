"""Commands against a real server over sockets."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.config.loading import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.serve import Server
from onnxplain_server.wire.blobs import identify
from typer.testing import Result

Run = Callable[..., Result]

ASK = ("--method", "interactions", "--seed", "3")


@pytest.fixture
def endpoint(parts) -> Iterator[str]:
    server = Server(
        load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0}),
        parts,
        parts,
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
    )
    yield f"127.0.0.1:{server.grpc_port}"
    server.drain(0)


def test_a_server_answers_as_this_process_does(
    run: Run, parts, model: Path, table: Path, endpoint: str
) -> None:
    local = run("explain", model, table, *ASK)
    sent = pb.ExplainRequest.FromString(parts.request.SerializeToString())
    remote = run("explain", model, table, *ASK, "--endpoint", endpoint)

    assert remote.exit_code == 0
    assert remote.stdout == local.stdout
    named = parts.request
    assert named.model.id == identify(sent.model.content)
    for request in (named, sent):
        request.ClearField("model")
        request.ClearField("table")
    assert named == sent


def test_a_server_refuses_as_this_process_does(
    run: Run, parts, model: Path, table: Path, endpoint: str
) -> None:
    parts.error = ExplainError(Reason.MISSING_COLUMN, "no column y", "target_column")

    local = run("explain", model, table, *ASK)
    remote = run("explain", model, table, *ASK, "--endpoint", endpoint)

    assert remote.exit_code == local.exit_code == 1
    assert remote.stderr == local.stderr
    assert local.stderr == "onnxplain: error: --target-column: no column y (MISSING_COLUMN)\n"


def test_a_server_describes(run: Run, model: Path, endpoint: str) -> None:
    assert run("describe", model, "--endpoint", endpoint).stdout == run("describe", model).stdout


def test_a_healthy_server_serves(run: Run, endpoint: str) -> None:
    result = run("health", "--endpoint", endpoint)
    assert (result.exit_code, result.stdout) == (0, "SERVING\n")


def test_a_server_that_is_not_there_is_not_healthy(run: Run) -> None:
    result = run("health", "--endpoint", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (1, "")
    last = result.stderr.splitlines()[-1]
    assert last.startswith("onnxplain: error: no answer from 127.0.0.1:1")
    assert last.endswith("(UNAVAILABLE)")


def test_the_timeout_goes_to_the_server(
    run: Run, parts, model: Path, table: Path, endpoint: str
) -> None:
    def wait(host) -> None:
        while True:
            host.advance(1, 10)

    parts.during = wait

    result = run("explain", model, table, *ASK, "--endpoint", endpoint, "--timeout", "0.3")

    assert result.exit_code == 1
    assert "(DEADLINE_EXCEEDED)" in result.stderr
