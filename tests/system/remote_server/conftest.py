"""A model behind an address, and the operator's list for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnxplain
import pytest

from tools.stores.faulty_server import Request, Response, serve
from tools.stores.model_server import NAME, ServedModel, of_onnx

CASE = Path(__file__).parents[2] / "golden" / "hstats" / "case_friedman1_gbr"
_LINE = "a-token\n"


@dataclass
class Models:
    """Server of the model; while `gate` is closed, it answers no call for predictions.

    Attributes
    ----------
    authorizations : set of str
        Headers of calls.
    is_asked : Event
        Set by a call for predictions.
    """

    served: ServedModel
    url: str = ""
    authorizations: set[str] = field(default_factory=set)
    gate: threading.Event = field(default_factory=threading.Event)
    is_asked: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: Request) -> Response:
        self.authorizations.add(request.headers.get("authorization", ""))
        if request.path.endswith("/infer"):
            self.is_asked.set()
            self.gate.wait()
        return self.served.answer(request)

    @property
    def named(self) -> onnxplain.RemoteModel:
        """The model, as a request names it."""
        return onnxplain.RemoteModel(self.url, NAME)


@pytest.fixture(scope="module")
def case() -> tuple[bytes, bytes]:
    """The same model as a file, and a table."""
    return (CASE / "model.onnx").read_bytes(), (CASE / "data.csv").read_bytes()


@pytest.fixture
def models(case: tuple[bytes, bytes]) -> Iterator[Models]:
    found = Models(of_onnx(case[0]))
    with serve(found.answer) as server:
        found.url = server.url
        found.gate.set()
        yield found
        found.gate.set()


@pytest.fixture
def listed(tmp_path: Path) -> Callable[..., Path]:
    """Write the operator's list for an address, with a token; further keys by name."""

    def write(url: str, **keys: Any) -> Path:
        secret = tmp_path / "secret" / "token"
        secret.parent.mkdir(exist_ok=True)
        secret.write_text(_LINE)
        given = {"prefix": url, "credentials_file": str(secret), **keys}
        lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        path = tmp_path / "remote.toml"
        path.write_text("[[remote_model]]\n" + "\n".join(lines) + "\n")
        return path

    return write
