"""A model behind an address, and the operator's list for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import onnxruntime
import pytest

from tools.model_servers.onnx_server import MODEL, ModelServer, OnnxServer


@pytest.fixture(scope="session")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(MODEL)


@pytest.fixture
def models(session: onnxruntime.InferenceSession) -> Iterator[ModelServer]:
    """The model's server, whose calls are answered at once."""
    with OnnxServer(session) as server:
        yield server


@pytest.fixture
def listed(tmp_path: Path) -> Callable[..., Path]:
    """Makes the operator's list for an address, with a token; keys by name."""

    def make(url: str, **keys: object) -> Path:
        (tmp_path / "token").mkdir(exist_ok=True)
        (tmp_path / "token" / "token").write_text("a-token\n")
        given = {"prefix": url, "credentials_file": str(tmp_path / "token" / "token"), **keys}
        lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        path = tmp_path / "remote.toml"
        path.write_text("[[remote_model]]\n" + "\n".join(lines) + "\n")
        return path

    return make
