"""The pipeline step passes, fails and stores as its README says."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.config.loading import load
from onnxplain_server.serve import Server

EXAMPLES = Path(__file__).parents[2] / "examples"
MIAMI = EXAMPLES / "miami"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    runner = InProcess(threads=2)
    server = Server(
        load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0}),
        runner,
        MemoryCache(2**24, Signer(b"s" * 32)),
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
    )
    yield f"127.0.0.1:{server.grpc_port}"
    server.drain(5)
    runner.close()


@pytest.fixture
def step(endpoint: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the step on a part of the Miami table with these thresholds."""
    lines = gzip.decompress((MIAMI / "miami_housing.csv.gz").read_bytes()).splitlines(True)
    (tmp_path / "table.csv").write_bytes(b"".join(lines[:1] + lines[1::100]))

    def run(thresholds: dict[str, Any], model: Path) -> subprocess.CompletedProcess[str]:
        (tmp_path / "thresholds.json").write_text(json.dumps(thresholds))
        files = [tmp_path / "table.csv", tmp_path / "thresholds.json", tmp_path / "answers"]
        command = [sys.executable, str(EXAMPLES / "pipeline/step.py"), str(model), *map(str, files)]
        return subprocess.run(
            [*command, "--endpoint", endpoint], capture_output=True, text=True, check=False
        )

    return run


def shipped() -> dict[str, Any]:
    thresholds: dict[str, Any] = json.loads((EXAMPLES / "pipeline/thresholds.json").read_text())
    return thresholds


def test_a_model_within_its_thresholds_passes_and_its_answer_is_stored(
    step: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = step(shipped(), MIAMI / "miami.onnx")

    assert (done.returncode, done.stderr) == (0, "")
    (stored,) = (tmp_path / "answers").glob("*.json")
    assert json.loads(stored.read_text())["receipt"]["modelDigest"] == f"sha256:{stored.stem}"


def test_a_passed_threshold_fails_the_step_and_says_by_how_much(
    step: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = step(shipped() | {"interactions_at_most": 0.01}, MIAMI / "miami.onnx")

    assert done.returncode == 1
    assert "interactions make up 0." in done.stderr
    assert len(list((tmp_path / "answers").glob("*.json"))) == 1


def test_a_refused_request_stores_nothing(
    step: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = step(shipped(), EXAMPLES / "pipeline/step.py")

    assert done.returncode == 2
    assert "INVALID_MODEL" in done.stderr
    assert not (tmp_path / "answers").exists()
