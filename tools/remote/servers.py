"""Servers of models, each on free ports of 127.0.0.1, with models that are fitted by seed."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tools.ports import free_port
from tools.stores.process import running

_HERE = Path(__file__).parent
_READY_SECONDS = 120
_QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}


@dataclass(frozen=True)
class ModelServer:
    """Server that runs.

    Attributes
    ----------
    url : str
        Of HTTP; empty for servers of one model.
    grpc_url : str
        Empty: it speaks none.
    expected : mapping of model name to rows and predictions
        As `make_models.py` writes them.
    urls : mapping of model name to str
        Of servers of one model each.
    """

    url: str
    grpc_url: str
    expected: Mapping[str, Any]
    urls: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def kserve(python: str, folder: Path) -> Iterator[ModelServer]:
    """Serve all models by KServe's Python server."""
    expected = make_models(python, "kserve", folder)
    with kserve_again(python, folder, free_port(), free_port(), expected) as server:
        yield server


@contextmanager
def kserve_again(
    python: str, folder: Path, port: int, grpc_port: int, expected: Mapping[str, Any]
) -> Iterator[ModelServer]:
    """Serve models that are made on these ports."""
    program = [python, str(_HERE / "kserve_program.py"), str(folder), str(port), str(grpc_port)]
    with running(program, port, folder / "kserve.log", _QUIET):
        wait_until_ready(f"http://127.0.0.1:{port}/v2/health/ready")
        yield ModelServer(f"http://127.0.0.1:{port}", f"grpc://127.0.0.1:{grpc_port}", expected)


@contextmanager
def mlserver(python: str, folder: Path) -> Iterator[ModelServer]:
    """Serve all models by MLServer."""
    expected = make_models(python, "mlserver", folder)
    port, grpc_port, metrics_port = free_port(), free_port(), free_port()
    settings = {
        "host": "127.0.0.1",
        "http_port": port,
        "grpc_port": grpc_port,
        "metrics_port": metrics_port,
        "parallel_workers": 0,
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    program = [str(Path(python).with_name("mlserver")), "start", str(folder)]
    with running(program, port, folder / "mlserver.log", _QUIET):
        wait_until_ready(f"http://127.0.0.1:{port}/v2/health/ready")
        yield ModelServer(f"http://127.0.0.1:{port}", f"grpc://127.0.0.1:{grpc_port}", expected)


@contextmanager
def mlflow(python: str, folder: Path, *names: str) -> Iterator[ModelServer]:
    """Serve models by MLflow, each by a server of its own."""
    expected = make_models(python, "mlflow", folder)
    program = str(Path(python).with_name("mlflow"))
    # It starts uvicorn by its name.
    variables = _QUIET | {"PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"}
    urls = {}
    with ExitStack() as stack:
        for name in names:
            port = free_port()
            command = [program, "models", "serve", "--model-uri", str(folder / name)]
            options = ["--host", "127.0.0.1", "--port", str(port), "--env-manager", "local"]
            log = folder / f"{name}.log"
            stack.enter_context(running([*command, *options], port, log, variables))
            urls[name] = f"http://127.0.0.1:{port}"
        yield ModelServer("", "", expected, urls)


def wait_until_ready(url: str) -> None:
    """Wait until a server, which listens before its models are loaded, answers 200."""
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(url) as answer:  # noqa: S310 - of this host
            if answer.status == HTTPStatus.OK:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{url} does not become ready")


def make_models(python: str, kind: str, folder: Path) -> Mapping[str, Any]:
    """Fit the models where their server is installed; return rows and predictions."""
    command = [python, str(_HERE / "make_models.py"), kind, str(folder)]
    ended = subprocess.run(  # noqa: S603 - a script of this folder
        command, env=_QUIET, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise RuntimeError(ended.stderr[-2000:])
    expected: Mapping[str, Any] = json.loads((folder / "expected.json").read_text())
    return expected
