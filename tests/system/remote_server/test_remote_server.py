"""Servers that ask remote models: through a confined process, below listed prefixes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import onnxplain
import pytest
from google.protobuf.json_format import MessageToDict

FEATURES = [f"x{index}" for index in range(1, 7)]
ASKED: dict[str, Any] = {"target_column": "y", "feature_columns": FEATURES}
FEW: dict[str, Any] = {"row_count": 60, "plots": False}
CURVES = onnxplain.PartialDependence(features=["x1", "x4"])
LOSS = onnxplain.AverageLoss()
PAIRS = onnxplain.Interactions(pairwise_feature_count=5)
PATIENCE = 60.0


def caller_of(server: Any) -> int:
    (found,) = [
        pid
        for pid in server.children()
        if b"call_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return int(found)


def numbers(answer: Any) -> list[float]:
    """All numbers of an answer's explanations."""
    explained = [MessageToDict(each) for each in answer.message.explanations]
    return list(_numbers(explained))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, (int, float)):
        yield float(value)


def metric(server: Any, name: str) -> float:
    url = f"http://127.0.0.1:{server.metrics_port}/metrics"
    with urlopen(url, timeout=600) as reply:
        lines = reply.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name}{{"))


def await_metric(server: Any, name: str) -> None:
    """Wait until something is counted: a session that ended is counted a moment later."""
    end = time.monotonic() + PATIENCE
    while not metric(server, name):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["available", "none"])
def test_a_remote_model_is_explained_as_its_file(
    serve: Callable[..., Any], models: Any, listed: Any, case: Any, tmp_path: Path, isolation: str
) -> None:
    model, table = case
    audit = tmp_path / "audit.log"
    file = listed(models.url, rows_per_call=500, calls=2)
    server = serve(remote_models_file=file, isolation=isolation, audit_log=audit)
    methods = (CURVES, LOSS, PAIRS)
    with onnxplain.connect(server.endpoint) as client:
        expected = client.explain(model, table, *methods, **ASKED, **FEW)
        planned = client.plan(models.named, table, *methods, **ASKED, row_count=60)
        answer = client.explain(models.named, table, *methods, **ASKED, **FEW)
        described = client.describe(models.named)

    assert numbers(answer) == pytest.approx(numbers(expected), rel=1e-6, abs=1e-6)
    assert planned.predicted_row_count > 0
    assert [each.width for each in described.inputs] == [6]
    assert answer.message.receipt.remote_model.uri == models.url
    assert models.authorizations == {"Bearer a-token"}
    assert models.served.largest_call <= 500
    assert models.served.most_at_once <= 2
    check_told(server, models, audit)
    check_confinement(server, isolation)


def check_told(server: Any, models: Any, audit: Path) -> None:
    """The audit log and the metrics tell what the model's server saw."""
    line = json.loads(audit.read_text().splitlines()[-1])["remote_model"]
    assert line["prefix"] == models.url
    assert line["failure_count"] == line["retry_count"] == 0
    # The plan and the description asked too, and have no line.
    assert 0 < line["row_count"] <= models.served.row_count
    assert metric(server, "onnxplain_remote_rows_total") == models.served.row_count
    assert metric(server, "onnxplain_remote_calls_total") > 0
    assert metric(server, "onnxplain_remote_failures_total") == 0


def check_confinement(server: Any, isolation: str) -> None:
    """The process has its filter, on all threads, and the server neither of the libraries."""
    for thread in Path(f"/proc/{caller_of(server)}/task").iterdir():
        status = (thread / "status").read_text(encoding="utf-8")
        assert "NoNewPrivs:\t1" in status
        assert "Seccomp:\t2" in status
    if isolation != "none":
        maps = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
        assert "numpy" not in maps
        assert "onnxruntime" not in maps


@pytest.mark.slow
def test_rest_asks_remote_models(
    serve: Callable[..., Any], models: Any, listed: Any, case: Any
) -> None:
    server = serve(remote_models_file=listed(models.url))
    body = {
        "model": {"remote": {"uri": models.url, "protocol": "OIP_REST", "name": "model"}},
        "table": {"csv": b64encode(case[1]).decode()},
        "featureColumns": FEATURES,
        "targetColumn": "y",
        "methods": [{"averageLoss": {}}],
    }
    request = Request(  # noqa: S310 - our own server
        f"{server.url}/v1/explanations",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=600) as reply:  # noqa: S310 - likewise
        answer = json.load(reply)
    with onnxplain.connect(server.endpoint) as client:
        expected = client.explain(case[0], case[1], LOSS, **ASKED).average_loss.losses[0].values

    (explained,) = answer["explanations"]
    assert explained["averageLoss"]["losses"][0]["values"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_what_is_not_listed_is_refused(
    serve: Callable[..., Any], models: Any, listed: Any, case: Any
) -> None:
    server = serve(remote_models_file=listed(f"{models.url}/team"))
    refused = {}
    with onnxplain.connect(server.endpoint) as client:
        for path in ("", "/team/../x", "/team2", "/team"):
            model = onnxplain.RemoteModel(models.url + path, "model")
            with pytest.raises(onnxplain.ExplainError) as error:
                client.explain(model, case[1], LOSS, **ASKED)
            refused[path] = error.value.reason
        with pytest.raises(onnxplain.ExplainError) as forged:
            client.describe(onnxplain.RemoteModel(f"{models.url}/team", "../../admin"))

    assert refused == {
        "": "REMOTE_MODEL_NOT_LISTED",
        "/team/../x": "INVALID_REQUEST",
        "/team2": "REMOTE_MODEL_NOT_LISTED",
        "/team": "REMOTE_MODEL_NOT_FOUND",  # asked there, where nothing is
    }
    assert forged.value.reason == "INVALID_REQUEST"


def test_a_server_without_a_list_names_the_setting(lasting_server: Any, case: Any) -> None:
    model = onnxplain.RemoteModel("http://models.example.com", "model")
    with onnxplain.connect(lasting_server.endpoint) as client:
        for ask in (
            lambda: client.describe(model),
            lambda: client.explain(model, case[1], LOSS, **ASKED),
            lambda: client.plan(model, case[1], LOSS, **ASKED),
        ):
            with pytest.raises(onnxplain.ExplainError) as refused:
                ask()
            assert refused.value.reason == "REMOTE_MODEL_NOT_LISTED"
            assert "remote_models_file" in str(refused.value)


@pytest.mark.slow
def test_a_deadline_ends_calls_under_way(
    serve: Callable[..., Any], models: Any, listed: Any, case: Any
) -> None:
    """One call at a time is allowed: the next request finds it ended, though nobody answered it."""
    server = serve(remote_models_file=listed(models.url, calls=1))
    with onnxplain.connect(server.endpoint) as client:
        opened, models.gate = models.gate, threading.Event()
        with pytest.raises(onnxplain.ExplainError) as late:
            client.explain(models.named, case[1], LOSS, **ASKED, timeout=10)
        assert models.is_asked.is_set()
        # Calls that come from now on find another gate; the first one waits on.
        closed, models.gate = models.gate, opened
        answer = client.explain(models.named, case[1], LOSS, **ASKED)
        await_metric(server, "onnxplain_remote_failures_total")
        closed.set()

    assert late.value.reason == "DEADLINE_EXCEEDED"
    assert answer.average_loss.losses


def test_a_list_with_a_fault_ends_the_start(tmp_path: Path) -> None:

    path = tmp_path / "remote.toml"
    path.write_text("[[remote_model]]\nprefix = 'ftp://h.test'\n")
    done = subprocess.run(
        [sys.executable, "-m", "onnxplain_server", "serve", "--remote-models-file", str(path)],
        capture_output=True,
        check=False,
        text=True,
    )

    assert done.returncode != 0
    assert "remote_models_file" in done.stderr.lower() or "remote-models-file" in done.stderr
    assert "ftp://h.test" in done.stderr
