"""MLflow's tracking server with its registry and its artifacts, from an environment of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.ports import free_port
from tools.stores.process import running

_QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet"}
_REGISTER = Path(__file__).with_name("register_model.py")


@dataclass(frozen=True)
class Mlflow:
    """Tracking server that runs."""

    url: str
    python: Path

    def register(self, name: str, model: Path, *aliases: str) -> int:
        """Log an ONNX file as a run's model, by MLflow's client; return the registered version."""
        command = [str(self.python), str(_REGISTER), self.url, name, str(model), *aliases]
        ended = subprocess.run(  # noqa: S603 - a script of this folder
            command, env=_QUIET, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            raise RuntimeError(ended.stderr[-2000:])
        version: int = json.loads(ended.stdout.splitlines()[-1])["version"]
        return version


@contextmanager
def mlflow(program: str, folder: Path) -> Iterator[Mlflow]:
    """Serve a registry without models, of which all that it keeps lies in `folder`."""
    port = free_port()
    command = [program, "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    kept = ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    artifacts = ["--artifacts-destination", str(folder / "artifacts"), "--serve-artifacts"]
    with running([*command, *kept, *artifacts], port, folder / "mlflow.log", _QUIET):
        yield Mlflow(f"http://127.0.0.1:{port}", Path(program).with_name("python"))
