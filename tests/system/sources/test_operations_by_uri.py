"""StartExplanation with URIs: it reads them when it is called, and keeps what it read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnxplain
import pytest

from tools.ports import free_port
from tools.stores.process import running

pytestmark = pytest.mark.slow

KEY = "0123456789abcdef"
FEATURES = [f"x{index}" for index in range(1, 7)]


@pytest.fixture
def redis_url(program: Callable[[str], str], tmp_path: Path) -> Iterator[str]:
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with running([program("redis-server"), *options], port, tmp_path / "redis.log"):
        yield f"redis://127.0.0.1:{port}/0"


def test_an_operation_computes_what_was_read_when_it_was_started(
    serve: Callable[..., Any], settings: dict[str, Any], s3: Any, case: Any, redis_url: str
) -> None:
    model, table = case
    s3.put("models", "started.onnx", model)
    s3.put("rows", "started.csv", table)
    server = serve(**settings, redis_url=redis_url, cache_secret=KEY)
    asked: Any = {"target_column": "y", "feature_columns": FEATURES}
    with onnxplain.connect(server.endpoint) as client:
        operation = client.start(
            "s3://models/started.onnx", "s3://rows/started.csv", onnxplain.AverageLoss(), **asked
        )
        (s3.folder / "models" / "started.onnx").unlink()
        (s3.folder / "rows" / "started.csv").unlink()

        answer = operation.result()
        expected = client.explain(model, table, onnxplain.AverageLoss(), **asked)
        with pytest.raises(onnxplain.ExplainError) as refused:
            client.start("s3://models/started.onnx", table, onnxplain.AverageLoss(), **asked)

    assert answer.average_loss.losses[0].values == expected.average_loss.losses[0].values
    assert [source.uri for source in answer.receipt.sources] == [
        *("s3://models/started.onnx", "s3://rows/started.csv")
    ]
    assert refused.value.reason == "SOURCE_NOT_FOUND"
