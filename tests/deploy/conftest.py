"""The files of `deploy/`, read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.config.loading import load
from onnxplain_server.serve import Server


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def compose(root: Path):
    return yaml.safe_load((root / "deploy/compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def manifest(root: Path) -> list[Any]:
    """The objects for Kubernetes, as the chart renders them, in the order of kustomize."""
    folder = root / "deploy/manifests"
    order = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    names = order["resources"]
    return [yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in names]


@pytest.fixture(scope="session")
def pod(manifest: list[Any]):
    """The pod of the Deployment."""
    (deployment,) = [one for one in manifest if one["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]


@pytest.fixture(scope="session")
def container(pod):
    (only,) = pod["containers"]
    return only


@pytest.fixture(scope="session")
def dockerfile(root: Path) -> list[list[str]]:
    """The instructions of the Dockerfile, in words."""
    text = (root / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [shlex.split(line) for line in lines]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One on free ports."""
    settings = load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0})
    running = Server(
        settings,
        InProcess(1),
        MemoryCache(0, Signer(b"")),
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
    )
    yield running
    running.drain(0)
