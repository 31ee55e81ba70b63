"""Programs that the page gives to copy, run as they are against the server that they ask."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import page_files
import pytest
from harness import Server
from page_journeys import walk

PORT = "127.0.0.1:8081"
"""gRPC's own port, which the server of the test has not."""

PAIR = (page_files.HOSTILE[4], page_files.HOSTILE[1])
"""Features with what ends texts of all languages."""


@pytest.fixture(scope="module")
def folder(root: Path, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each page whose programs are copied, with the files that they name."""
    folder = tmp_path_factory.mktemp("programs")
    page_files.write(folder)
    for name in ("overview", "surface"):
        (folder / name).mkdir()
        page_files.write(folder / name)
        (folder / name / "node_modules").symlink_to(root / "clients" / "web" / "node_modules")
    told = {"ONNXPLAIN_PROGRAMS": str(folder), "ONNXPLAIN_PAIR": json.dumps(PAIR)}
    walk(root, "programs", server, folder, **told)
    for path in folder.glob("*/[Aa]sked.*"):
        text = path.read_text()
        assert (PORT in text) == (path.suffix not in (".sh", ".json"))
        path.write_text(text.replace(PORT, server.environment["ONNXPLAIN_ENDPOINT"]))
    return folder


@pytest.fixture(params=["overview", "surface"])
def programs(folder: Path, request: pytest.FixtureRequest) -> Path:
    """Copied programs, beside the files that they name."""
    return folder / str(request.param)


def run(command: list[str], folder: Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd or folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def judge(answer: str, programs: Path) -> None:
    """The answer is that of the page's own question."""
    found = json.loads(answer)["explanations"]
    if programs.name == "surface":
        (surface,) = found
        (curve,) = surface["partialDependence"]["curves"]
        assert (*curve["features"],) == PAIR
    else:
        assert [methods(each) for each in found] == [["interactions"], ["partialDependence"]]
        assert {*outputs(found[0]["interactions"])} == {"unripe"}


def methods(explanation: Mapping[str, Any]) -> list[str]:
    return [key for key in ("interactions", "partialDependence") if key in explanation]


def outputs(result: Mapping[str, Any]) -> list[str]:
    names: list[str] = result["outputNames"]
    return names


def test_json_asks_as_the_page_does(programs: Path, server: Server) -> None:
    url = f"{server.environment['ONNXPLAIN_URL']}/v1/explanations"
    body = (programs / "asked.json").read_bytes()
    with urlopen(Request(url, body, {"Content-Type": "application/json"})) as reply:  # noqa: S310 - ours
        judge(reply.read().decode(), programs)


def test_curl_asks_as_the_page_does(programs: Path, program: Callable[[str], str]) -> None:
    program("curl")
    judge(run(["sh", "asked.sh"], programs), programs)


def test_python_asks_as_the_page_does(programs: Path) -> None:
    judge(run([sys.executable, "asked.py"], programs), programs)


def test_typescript_asks_as_the_page_does(root: Path, programs: Path) -> None:
    node = root / ".venv-proto" / "bin" / "node"
    judge(run([str(node), "asked.mjs"], programs), programs)


def test_go_asks_as_the_page_does(
    root: Path, programs: Path, program: Callable[[str], str]
) -> None:
    command = [program("go"), "run", str(programs / "asked.go")]
    judge(run(command, programs, root / "clients" / "go"), programs)


def test_java_asks_as_the_page_does(
    root: Path, programs: Path, program: Callable[[str], str]
) -> None:
    target = root / "clients" / "java" / "target"
    path = target / "test-class-path"
    assert path.exists(), "the Java client is not built: run `make client-java`"
    command = [program("java"), "-cp", f"{target / 'classes'}:{path.read_text()}", "Asked.java"]
    judge(run(command, programs), programs)
