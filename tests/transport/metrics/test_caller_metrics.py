"""Metrics by caller: for the callers that the operator lists, and for no others."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import grpc
import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.core.errors import ExplainError, Reason


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    path = tmp_path / "tokens"
    names = ("ada", "bob", "eve")
    path.write_text(
        "".join(f"{name} {hashlib.sha256(name[::-1].encode()).hexdigest()}\n" for name in names)
    )
    return str(path)


def work(host) -> None:
    host.count_processor(0.5)
    host.advance(10, 20)
    raise ExplainError(Reason.PREDICTION_FAILED, "no")


def samples(client) -> dict[str, float]:
    lines = client.metrics().body.decode().splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if "_caller_" in line[:18])
    }


def ask(client, name: str) -> None:
    with suppress(grpc.RpcError):
        client.stub.Explain(ExplainRequest(), metadata=[("authorization", f"Bearer {name[::-1]}")])


def test_usage_is_counted_by_listed_caller_and_all_others_together(
    start, make_runner, tokens: str
) -> None:
    client = start(
        make_runner(work), tokens_file=tokens, metrics_callers="token:ada, token:zoe,token:ada"
    )
    for name in ("ada", "ada", "bob", "eve"):
        ask(client, name)
    page = samples(client)

    for caller, count in (("token:ada", 2), ("token:zoe", 0), ("other", 2)):
        name = f'{{caller="{caller}"'
        assert page[f'onnxplain_caller_explanations_total{name},result="failed"}}'] == count
        assert page[f'onnxplain_caller_explanations_total{name},result="ok"}}'] == 0
        assert page[f"onnxplain_caller_predicted_rows_total{name}}}"] == 10 * count
        assert page[f"onnxplain_caller_processor_seconds_total{name}}}"] == 0.5 * count
    assert len(page) == 3 * 4


def test_by_default_no_metric_names_a_caller(start, make_runner, tokens: str) -> None:
    client = start(make_runner(work), tokens_file=tokens)
    ask(client, "ada")

    assert samples(client) == {}
    assert "ada" not in client.metrics().body.decode()
