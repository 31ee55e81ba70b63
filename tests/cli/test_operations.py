"""Commands about operations, against a real server over sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onnxplain.v1.explanation_service_pb2 import PartialExplanation
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.config.loading import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.serve import Server
from onnxplain_server.transport.admission.follower import ignore
from onnxplain_server.wire.kept_parts import pack_part
from typer.testing import Result

Run = Callable[..., Result]

ASK = ("--method", "interactions", "--seed", "3")


@pytest.fixture
def endpoint(parts) -> Iterator[str]:
    server = Server(
        *(load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0}), parts, parts),
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
        operations=MemoryOperations(),
    )
    yield f"127.0.0.1:{server.grpc_port}"
    server.drain(0)


def test_an_operation_is_started_and_its_answer_is_that_of_explain(
    run: Run, parts, model: Path, table: Path, endpoint: str
) -> None:
    local = run("explain", model, table, *ASK)
    started = run("start", model, table, *ASK, "--endpoint", endpoint, "--label", "team=risk")
    name = started.stdout.strip()
    waited = run("wait", name, "--endpoint", endpoint)
    listed = run("operations", "--endpoint", endpoint, "--filter", "labels.team = risk")
    shown = run("operations", "get", name, "--endpoint", endpoint)

    assert (started.exit_code, waited.exit_code) == (0, 0)
    assert waited.stdout == local.stdout
    assert parts.request.seed == 3
    columns = listed.stdout.strip().split("\t")
    assert columns[:2] == [name, "SUCCEEDED"]
    assert columns[4:] == ["interactions", "team=risk"]
    assert json.loads(shown.stdout)["state"] == "SUCCEEDED"


def test_a_failed_operation_ends_the_wait_with_its_error(
    run: Run, parts, model: Path, table: Path, endpoint: str
) -> None:
    parts.error = ExplainError(Reason.MISSING_COLUMN, "no column y", "target_column")
    name = run("start", model, table, *ASK, "--endpoint", endpoint).stdout.strip()
    waited = run("wait", name, "--endpoint", endpoint)

    assert waited.exit_code == 1
    assert "MISSING_COLUMN" in waited.stderr.splitlines()[-1]


def test_what_an_operation_has_so_far_is_a_document_a_line(
    run: Run, parts, model: Path, table: Path, endpoint: str
) -> None:
    told = [PartialExplanation(index=index, is_final=True) for index in range(2)]

    def publish(host: Any) -> None:
        if host.publish is not ignore:  # the computation, and not its plan
            for part in told:
                host.publish(pack_part(part))
            raise ExplainError(Reason.PREDICTION_FAILED, "no")

    parts.during = publish
    name = run("start", model, table, *ASK, "--endpoint", endpoint).stdout.strip()
    waited = run("wait", name, "--endpoint", endpoint)
    shown = run("operations", "partials", name, "--endpoint", endpoint)

    assert waited.exit_code == 1
    assert [json.loads(line)["index"] for line in shown.stdout.splitlines()] == [0, 1]
    assert shown.exit_code == 0


def test_operations_are_cancelled_and_deleted(
    run: Run, model: Path, table: Path, endpoint: str
) -> None:
    name = run("start", model, table, *ASK, "--endpoint", endpoint).stdout.strip()

    assert run("operations", "cancel", name, "--endpoint", endpoint).exit_code == 0
    assert run("operations", "delete", name, "--endpoint", endpoint).exit_code == 0
    gone = run("operations", "get", name, "--endpoint", endpoint)
    assert (gone.exit_code, run("operations", "--endpoint", endpoint).stdout) == (1, "")
    assert "OPERATION_NOT_FOUND" in gone.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("operations", "get"),
        ("operations", "list", "operations/1"),
        ("operations", "cancel", "operations/1", "--filter", "done = true"),
        ("operations", "pause", "operations/1"),
        ("wait",),
    ],
)
def test_wrong_use_is_a_usage_error(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_label_without_a_value_is_a_usage_error(run: Run, model: Path, table: Path) -> None:
    assert run("start", model, table, *ASK, "--label", "team").exit_code == 2


def test_a_request_id_names_one_operation(
    run: Run, model: Path, table: Path, endpoint: str
) -> None:
    asked = ("start", model, table, *ASK, "--request-id", "a", "--endpoint", endpoint)

    assert run(*asked).stdout == run(*asked).stdout != ""
