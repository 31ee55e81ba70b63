"""Clients of KServe and MLflow, from their packages, get explanations from a real server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

MODEL = Path(__file__).parents[1] / "models" / "sklearn_random_forest_3class.onnx"
WIDTH = 4
NAMES = [f"x{j}" for j in range(WIDTH)]
ROW = [0.25 * j for j in range(WIDTH)]

KSERVE = """
import asyncio, json, sys
import httpx
from kserve import InferInput, InferRequest, InferResponse, InferenceRESTClient, RESTConfig
from kserve.errors import UnsupportedProtocol

url, row = sys.argv[1], json.loads(sys.argv[2])

async def main():
    told = {}
    first = InferenceRESTClient(RESTConfig(protocol="v1"))
    assert await first.is_model_ready(url, "forest")
    told["v1"] = await first.explain(url, "forest", {"instances": [row]})
    told["methods"] = await first.explain(url, "forest", {
        "instances": [dict(zip([f"x{j}" for j in range(len(row))], row))],
        "parameters": {"methods": [{"individualConditionalExpectation": {"features": ["x1"]}}]},
    })
    try:
        await first.explain(url, "forest", {"instances": [[1.0]]})
    except httpx.HTTPStatusError as error:
        told["refused"] = str(error)
    second = InferenceRESTClient(RESTConfig(protocol="v2"))
    told["health"] = [
        await second.is_server_live(url), await second.is_server_ready(url),
        await second.is_model_ready(url, "forest"),
    ]
    try:
        await second.explain(url, "forest", {})
    except UnsupportedProtocol as error:
        told["v2 client"] = type(error).__name__
    tensor = InferInput("rows", [1, len(row)], "FP64", [row])
    request, _ = InferRequest("forest", [tensor]).to_rest()
    answer = httpx.post(f"{url}/v2/models/forest/explain", json=request, timeout=600)
    outputs = InferResponse.from_rest({"id": "1", **answer.json()}).outputs
    told["v2"] = json.loads(outputs[0].data[0])
    print(json.dumps(told))

asyncio.run(main())
"""

MLFLOW = """
import json, sys
import pandas
from mlflow.pyfunc.scoring_server.client import ScoringServerClient

port, row = sys.argv[1], json.loads(sys.argv[2])
client = ScoringServerClient("127.0.0.1", port)
client.wait_server_ready(timeout=600)
frame = pandas.DataFrame([row], columns=[f"x{j}" for j in range(len(row))])
methods = [{"individualConditionalExpectation": {"features": ["x1"]}}]
print(json.dumps({
    "version": client.get_version(),
    "plain": client.invoke(frame)["predictions"],
    "params": client.invoke(frame, {"methods": methods})["predictions"],
}))
"""


TRITON = """
import json, sys
import numpy
from tritonclient import grpc, http

grpc_url, http_url, row = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
client = grpc.InferenceServerClient(grpc_url)
tensor = grpc.InferInput("rows", [1, len(row)], "FP64")
tensor.set_data_from_numpy(numpy.array([row]))
answer = client.infer("forest", [tensor])
metadata = client.get_model_metadata("forest", as_json=True)
over_http = http.InferenceServerClient(http_url).get_model_metadata("forest")
print(json.dumps({
    "health": [client.is_server_live(), client.is_server_ready(), client.is_model_ready("forest")],
    "server": client.get_server_metadata().name,
    "inputs": [[one["name"] for one in told["inputs"]] for told in (metadata, over_http)],
    "explanation": json.loads(answer.as_numpy("explanation")[0]),
}))
"""


@pytest.fixture(scope="module")
def server(lasting_serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    background = tmp_path_factory.mktemp("clients") / "background.csv"
    rows = [",".join(str((i * (j + 1)) % 7 / 2) for j in range(WIDTH)) for i in range(40)]
    background.write_text("\n".join([",".join(NAMES), *rows]), encoding="utf-8")
    server = lasting_serve(
        explainer_name="forest", explainer_model=MODEL, explainer_background=background
    )
    server.wait_for_explainer("forest")
    return server


def told(python: str, script: str, *arguments: str) -> Any:
    """Run a script where its library is installed; return what it prints."""
    command = [python, "-W", "ignore", "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


FIRST = ["attributions", "individualConditionalExpectation", "featureVectors"]
"""Methods by which a row is explained unless others are asked for."""


def names(answer: Any) -> list[str]:
    known = (*FIRST, "interactions")
    return [name for e in answer["explanations"] for name in known if name in e]


def test_the_client_of_kserve_gets_explanations(server: Any, program: Callable[[str], str]) -> None:
    """Its method for explanations speaks the first protocol alone, as its text says."""
    answers = told(program("kserve"), KSERVE, server.url, json.dumps(ROW))

    assert names(answers["v1"])[:3] == FIRST
    (curves,) = answers["methods"]["explanations"]
    (curve,) = curves["individualConditionalExpectation"]["curves"]
    assert (curve["feature"], curve["rowIndices"]) == ("x1", [0])
    assert answers["v2"]["explanations"][:3] == answers["v1"]["explanations"][:3]
    assert answers["health"] == [True, True, True]
    assert "a row has 1 values" in answers["refused"]
    assert answers["v2 client"] == "UnsupportedProtocol"


def test_the_client_of_mlflow_gets_explanations(server: Any, program: Callable[[str], str]) -> None:
    python = program("mlflow").replace("bin/mlflow", "bin/python")
    answers = told(python, MLFLOW, str(server.rest_port), json.dumps(ROW))

    assert names(answers["plain"])[:3] == FIRST
    (curves,) = answers["params"]["explanations"]
    assert curves["individualConditionalExpectation"]["curves"][0]["feature"] == "x1"
    assert "version" in answers["version"]


def test_the_client_of_triton_gets_explanations_over_grpc(
    server: Any, program: Callable[[str], str]
) -> None:
    addresses = f"127.0.0.1:{server.grpc_port}", f"127.0.0.1:{server.rest_port}"
    answers = told(program("triton"), TRITON, *addresses, json.dumps(ROW))

    assert answers["health"] == [True, True, True]
    assert answers["server"] == "onnxplain"
    assert answers["inputs"] == [NAMES, NAMES]
    assert names(answers["explanation"])[:3] == FIRST
