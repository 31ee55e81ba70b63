"""An explainer with KServe's arguments asks a predictor, KServe's own server, and explains it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from tools.remote.servers import ModelServer

pytestmark = pytest.mark.slow

CASE = Path(__file__).parents[2] / "golden" / "hstats" / "case_friedman1_gbr"
MODEL = (CASE / "model.onnx").read_bytes()
NAMES = [f"x{index}" for index in range(1, 7)]


@contextmanager
def explainer(*arguments: str) -> Iterator[int]:
    """Run the command; yield its port once it can explain."""
    command = [sys.executable, "-m", "onnxplain_server", "explainer", "--metrics-port", "0"]
    with subprocess.Popen(
        [*command, "--grpc_port", "0", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    ) as process:
        assert process.stderr is not None
        log = ""
        for line in process.stderr:
            log += line
            assert "cannot explain" not in line, log
            if "the interactions" in line or "no interactions" in line:
                break
        try:
            yield int(log.split("REST on ")[1].split(",")[0].rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()


def ask(port: int, document: Any, name: str) -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/models/{name}:explain",
        json.dumps(document).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return json.loads(answer.read())


@pytest.mark.parametrize("name", ["forest", "people"])
def test_curves_are_predictions_of_the_predictor(
    kserve: ModelServer, read_case: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    case = read_case(kserve, name)
    host = kserve.url.removeprefix("http://")
    listed = tmp_path / "remote.toml"
    listed.write_text(f'[[remote_model]]\nprefix = "{kserve.url}"\n', encoding="utf-8")
    if name == "forest":
        columns = [f"c{j}" for j in range(case.feeds["rows"].shape[1])]
        rows = case.feeds["rows"].tolist()
    else:
        columns = list(case.feeds)
        cells = [column[:, 0].tolist() for column in case.feeds.values()]
        rows = [list(row) for row in zip(*cells, strict=True)]
    background = tmp_path / "background.csv"
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    background.write_text("\n".join(lines), encoding="utf-8")

    arguments = ["--model_name", name, "--predictor_host", host, "--http_port", "0"]
    arguments += ["--remote-models-file", str(listed), "--explainer-background", str(background)]
    with explainer(*arguments, "--explainer-interaction-rows", "20") as port:
        options = {"features": [columns[-1]], "gridSize": 3}
        methods = [{"individualConditionalExpectation": options}, {"interactions": {}}]
        document = {"instances": rows[:1], "parameters": {"methods": methods}}
        answer = ask(port, document, name)
        curves, interactions = answer["explanations"]
        (curve,) = curves["individualConditionalExpectation"]["curves"]
        outputs = curves["individualConditionalExpectation"]["outputNames"]

    moved = [[*rows[0][:-1], value] for value in curve["grid"][0]["numbers"]]
    expected = predicted(kserve, name, columns, moved)
    shown = [row[-len(outputs) :] if isinstance(row, list) else [row] for row in expected]
    assert curve["values"] == pytest.approx([v for row in shown for v in row], rel=1e-6)
    assert interactions["rows"]["drawnRowCount"] == min(20, len(rows))
    assert "INTERACTIONS_KEPT" in [warning["code"] for warning in answer["warnings"]]


@pytest.mark.parametrize(("protocol", "url"), [("v2", "url"), ("grpc-v2", "grpc_url")])
def test_a_predictor_of_the_second_protocol_is_asked_by_rest_and_grpc(
    triton: ModelServer, tmp_path: Path, protocol: str, url: str
) -> None:
    """Its metadata tell the inputs; curves are predictions of the model itself."""
    address = getattr(triton, url)
    listed = tmp_path / "remote.toml"
    listed.write_text(f'[[remote_model]]\nprefix = "{address}"\n', encoding="utf-8")
    arguments = ["--model_name", "boosted", "--predictor_host", address.partition("://")[2]]
    arguments += ["--predictor_protocol", protocol, "--http_port", "0"]
    arguments += ["--remote-models-file", str(listed), "--explainer-target-column", "y"]
    arguments += ["--explainer-background", str(CASE / "data.csv")]
    arguments += ["--explainer-feature-columns", ",".join(NAMES)]
    row = [0.1 * position for position in range(1, 7)]
    with explainer(*arguments, "--explainer-interaction-rows", "20") as port:
        options = {"features": ["x4"], "gridSize": 5}
        methods = [{"individualConditionalExpectation": options}]
        document = {"instances": [row], "parameters": {"methods": methods}}
        answer = ask(port, document, "boosted")

    assert answer["receipt"]["remoteModel"]["uri"] == address
    ((curve,),) = [e["individualConditionalExpectation"]["curves"] for e in answer["explanations"]]
    moved = np.repeat(np.array([row], np.float32), 5, axis=0)
    moved[:, 3] = curve["grid"][0]["numbers"]
    session = onnxruntime.InferenceSession(MODEL)
    (expected,) = session.run(None, {session.get_inputs()[0].name: moved})
    assert len(set(curve["values"])) > 1
    assert curve["values"] == pytest.approx(expected[:, 0].tolist(), rel=1e-6)


def predicted(server: ModelServer, name: str, columns: list[str], rows: list[Any]) -> list[Any]:
    """Ask the predictor itself."""
    instances: list[Any] = rows
    if name == "people":
        instances = [{c: [cell] for c, cell in zip(columns, row, strict=True)} for row in rows]
    request = urllib.request.Request(  # noqa: S310 - of this host
        f"{server.url}/v1/models/{name}:predict",
        json.dumps({"instances": instances}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        found: list[Any] = json.loads(answer.read())["predictions"]
    return found
