"""Recipes of long-running explanations: the script runs, others are what programs read."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import onnxplain
import pytest
import yaml
from onnxplain_server.__main__ import _blobs, _cache, _runner
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.operations.memory_operations import MemoryOperations
from onnxplain_server.cli.commands import command
from onnxplain_server.config.loading import load
from onnxplain_server.serve import Server

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/long-running.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
IRIS = ROOT / "examples/iris"


def blocks(language: str, begins: str) -> list[str]:
    return [code for kind, code in BLOCKS if kind == language and code.startswith(begins)]


def block(language: str, begins: str) -> str:
    (found,) = blocks(language, begins)
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "model.onnx").symlink_to(IRIS / "lightgbm.onnx")
    rows = (IRIS / "iris.csv").read_text().splitlines()
    columns = [line.rpartition(",")[0] for line in rows[:40]]
    (tmp_path / "rows.csv").write_text("\n".join(columns) + "\n")
    settings = load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0})
    running = Server(
        *(settings, _runner(), _cache(), _blobs()),
        decoder=LocalDecoder(),
        operations=MemoryOperations(),
    )
    yield running
    running.drain(0)


def test_the_script_fetches_the_answer(
    server: Server, tmp_path: Path, program: Callable[[str], str]
) -> None:
    program("curl")
    code = block("sh", "operation=").replace("localhost:8080", f"127.0.0.1:{server.rest_port}")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["explanations"]


def test_the_lines_of_python_run(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with onnxplain.connect(f"127.0.0.1:{server.grpc_port}") as client:
        for code in blocks("python", "operation ="):
            exec(code, {"client": client}, names)  # noqa: S102 - the page's

    assert isinstance(names["explanation"], onnxplain.Explanations)
    assert isinstance(names["operation"], onnxplain.Operation)


def test_the_dag_of_airflow_calls_what_the_client_has() -> None:
    tree = ast.parse(block("python", "from datetime"))
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }

    assert {"connect", "start", "operation", "result", "save"} <= called
    compile(tree, "dag.py", "exec")
    for name in ("start", "operation"):
        assert callable(getattr(onnxplain.Client, name))
    assert callable(onnxplain.Operation.result)
    assert callable(onnxplain.Explanations.save)


def test_the_workflow_of_argo_calls_commands_with_flags_that_they_have() -> None:
    manifest = yaml.safe_load(block("yaml", "apiVersion"))
    (template,) = manifest["spec"]["templates"]
    source = template["script"]["source"].replace("\\\n", " ")
    called = re.findall(r"onnxplain (\w+)([^\n]*)", source)

    assert manifest["spec"]["entrypoint"] == template["name"]
    assert [name for name, _ in called] == ["start", "wait"]
    for name, rest in called:
        flags = {option for param in command(name).params for option in param.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= flags
