"""Pages of platforms: their commands start an explainer, and their requests are explained."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_code_blocks import ROOT, activated, blocks, write_files

PAGES = ROOT / "docs" / "platforms"
NAMES = ["kserve", "mlflow", "sagemaker-clarify", "vertex-ai"]


def of_language(page: str, *languages: str) -> list[str]:
    return [b.code for b in blocks(PAGES / f"{page}.md") if b.language in languages]


COMMANDS = [code for page in NAMES for code in of_language(page, "sh")]
STARTS = [code for code in COMMANDS if code.startswith("onnxplain explainer")]
ONE_OF_STARTS = [STARTS[0], *(pytest.param(code, marks=pytest.mark.slow) for code in STARTS[1:])]
CALLS = [code for code in COMMANDS if code not in STARTS]
REQUESTS = [
    code
    for page in NAMES
    for code in of_language(page, "json")
    if not {"predictor", "metadata"} & json.loads(code).keys()
]


@pytest.fixture(scope="module", params=ONE_OF_STARTS)
def port(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an explainer that a page starts, on its files."""
    folder = tmp_path_factory.mktemp("page")
    write_files(folder)
    words = shlex.split(request.param.replace("\\\n", " "))[1:]
    free = [f"--{name}-port=0" for name in ("rest", "grpc", "metrics")]
    with subprocess.Popen(
        [sys.executable, "-m", "onnxplain_server", *words, *free],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        log = ""
        for line in process.stderr:
            log += line
            assert "cannot explain" not in line, log
            if "are computed" in line:
                break
        yield int(log.split("REST on ")[1].split(",")[0].rpartition(":")[2])
        process.send_signal(signal.SIGTERM)
        process.communicate()


@pytest.mark.slow
def test_calls_of_the_pages_are_explained(
    port: int, program: Callable[[str], str], tmp_path: Path
) -> None:
    program("curl")
    (tmp_path / ".curlrc").write_text("fail-with-body\n")
    for call in CALLS:
        code = call.replace("localhost:8080", f"127.0.0.1:{port}")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            env=activated(tmp_path) | {"NO_PROXY": "*"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{call}\n{done.stdout}{done.stderr}{os.environ['PATH']}"
        answer = json.loads(done.stdout)
        assert len(answer.get("predictions", answer)["explanations"]) == 2


def test_requests_of_the_pages_are_explained(port: int) -> None:
    for text in REQUESTS:
        document = json.loads(text)
        path = "/invocations" if "params" in document else "/v1/models/charges:explain"
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}", text.encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            told = json.loads(answer.read())
        told = told.get("predictions", told)
        methods = document.get("parameters", document.get("params", {})).get("methods", [])
        # Without methods: curves, and interactions; the model has no trees.
        assert len(told["explanations"]) == (len(methods) or 2), text


def test_requests_of_other_platforms_are_not_taken_for_ours() -> None:
    every = [code for page in NAMES for code in of_language(page, "json")]
    assert len(every) == len(REQUESTS) + 2
