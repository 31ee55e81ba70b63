"""The application as it is served, over a runner in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flask import Flask
from onnxplain_server.adapters.in_process import InProcess
from onnxplain_server.adapters.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.memory_cache import MemoryCache
from onnxplain_server.adapters.seal import Seal
from onnxplain_server.transport.admission import Limits
from onnxplain_server.transport.metrics import Metrics
from onnxplain_server.transport.rest import create_app
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.turns import Turns

_MIB = 2**20


@pytest.fixture(scope="session")
def app() -> Flask:
    """REST over a runner that computes; a request may take a second."""
    service = Service(
        InProcess(threads=1),
        MemoryCache(_MIB, Seal(b"secret")),
        MemoryBlobs(_MIB, 60),
        limits=Limits(_MIB, _MIB, seconds=1, row_count=20_000),
        turns=Turns(2, 100),
        metrics=Metrics(),
    )
    return create_app(service, Metrics(), _MIB)


@pytest.fixture(scope="session")
def description():
    """The description as it is committed."""
    file = Path(__file__).parents[2] / "service/onnxplain_server/transport/openapi.json"
    return json.loads(file.read_text(encoding="utf-8"))
