"""The application as it is served, over a runner in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flask import Flask
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.transport.admission.admission import RequestLimits
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.rest.routes import create_app
from onnxplain_server.transport.service import Service

_MIB = 2**20


@pytest.fixture(scope="session")
def app() -> Flask:
    """REST over a runner that computes; a request may take a second."""
    service = Service(
        InProcess(threads=1),
        MemoryCache(_MIB, Signer(b"secret")),
        MemoryBlobs(_MIB, 60),
        decoder=LocalDecoder(),
        limits=RequestLimits(_MIB, _MIB, seconds=1, row_count=20_000),
        scheduler=Scheduler(2, 100),
        metrics=Metrics(),
    )
    return create_app(service, Metrics(), _MIB)


@pytest.fixture(scope="session")
def description():
    """The description as it is committed."""
    file = Path(__file__).parents[2] / "service/onnxplain_server/transport/rest/openapi.json"
    return json.loads(file.read_text(encoding="utf-8"))
