"""Code blocks of the client's documents, run as they are written against a server."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from onnx import TensorProto
from onnxplain_server.__main__ import _blobs, _cache, _runner
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.config.loading import load
from onnxplain_server.serve import Server

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["clients/python/README.md", "docs/surfaces/python.md"]
NOT_RUN = {
    'pip install "./clients/python[notebook,pandas]"  # also [polars], [sklearn]\n': (
        "installs; tests/project/test_packages.py tells whether the extras exist"
    ),
}
"""Blocks that are not run, with the reason."""


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the language and text of each code block."""
    tokens = MarkdownIt().parse((ROOT / document).read_text(encoding="utf-8"))
    return [(token.info, token.content) for token in tokens if token.type == "fence"]


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = Server(
        load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0}),
        _runner(),
        _cache(),
        _blobs(),
        decoder=LocalDecoder(),
    )
    yield f"127.0.0.1:{server.grpc_port}"
    server.drain(0)


@pytest.fixture
def frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Return a table that the examples explain; write it and a model where they run."""
    draw = np.random.default_rng(0)
    age, bmi = draw.uniform(20, 60, 50), draw.uniform(18, 40, 50)
    charges = age + bmi + age * bmi
    frame = pd.DataFrame({"age": age, "bmi": bmi}).astype("float32")
    inputs = [
        onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 1])
        for name in ("age", "bmi")
    ]
    output = onnx.helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])
    nodes = [
        onnx.helper.make_node("Add", ["age", "bmi"], ["sum"]),
        onnx.helper.make_node("Mul", ["age", "bmi"], ["product"]),
        onnx.helper.make_node("Add", ["sum", "product"], ["y"]),
    ]
    graph = onnx.helper.make_graph(nodes, "charges", inputs, [output])
    opset = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    text = frame.assign(charges=charges).to_csv(index=False)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.chdir(tmp_path)
    return frame.assign(price=charges)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_code_block_of_python_runs(
    document: str, endpoint: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """One after the other, as a reader would; the server listens at another port."""
    names: dict[str, Any] = {"frame": frame}
    texts = [text for language, text in blocks(document) if language == "python"]
    assert any("localhost:8081" in text for text in texts)
    for text in texts:
        exec(text.replace("localhost:8081", endpoint), names)  # noqa: S102 - our own documents

    assert names["explanation"].interactions.pairwise
    assert (tmp_path / "explanation.json").stat().st_size > 1_000
    assert "</html>" in (tmp_path / "explanation.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_other_code_block_has_a_reason_not_to_run(document: str) -> None:
    others = [text for language, text in blocks(document) if language != "python"]

    assert [text for text in others if text not in NOT_RUN] == []


def test_every_reason_is_that_of_a_code_block() -> None:
    written = {text for document in DOCUMENTS for _, text in blocks(document)}

    assert set(NOT_RUN) - written == set()
