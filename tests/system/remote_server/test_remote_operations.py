"""Operations on remote models: another replica ends what a lost one has begun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnxplain
import pytest

from tools.ports import free_port
from tools.stores.process import running

KEY = "0123456789abcdef"
FEATURES = [f"x{index}" for index in range(1, 7)]
ASKED: dict[str, Any] = {"target_column": "y", "feature_columns": FEATURES}


@pytest.fixture
def redis_url(program: Callable[[str], str], tmp_path: Path) -> Iterator[str]:
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with running([program("redis-server"), *options], port, tmp_path / "redis.log"):
        yield f"redis://127.0.0.1:{port}/0"


@pytest.fixture
def replica(
    serve: Callable[..., Any], models: Any, listed: Any, redis_url: str
) -> Callable[[], Any]:
    """Start a replica that asks the model and computes operations."""
    shared = {"redis_url": redis_url, "cache_secret": KEY, "operations_lease_seconds": 2}
    return lambda: serve(remote_models_file=listed(models.url), **shared)


@pytest.mark.slow
def test_another_replica_goes_on_with_a_remote_model(
    replica: Callable[[], Any], models: Any, case: Any
) -> None:
    first = replica()
    models.gate.clear()
    with onnxplain.connect(first.endpoint) as client:
        operation = client.start(models.named, case[1], onnxplain.AverageLoss(), **ASKED)
        assert models.is_asked.wait(600)
        first.process.kill()
        name = operation.name
    models.gate.set()
    second = replica()
    with onnxplain.connect(second.endpoint) as client:
        answer = client.operation(name).result()
        expected = client.explain(case[0], case[1], onnxplain.AverageLoss(), **ASKED)

    found, wanted = (each.average_loss.losses[0].values for each in (answer, expected))
    assert found == pytest.approx(wanted, rel=1e-6)
    assert answer.message.receipt.remote_model.uri == models.url


@pytest.mark.slow
def test_an_operation_on_an_unlisted_model_is_refused_at_its_start(
    replica: Callable[[], Any], case: Any
) -> None:
    model = onnxplain.RemoteModel("http://127.0.0.1:1", "model")
    with (
        onnxplain.connect(replica().endpoint) as client,
        pytest.raises(onnxplain.ExplainError) as refused,
    ):
        client.start(model, case[1], onnxplain.AverageLoss(), **ASKED)

    assert refused.value.reason == "REMOTE_MODEL_NOT_LISTED"
