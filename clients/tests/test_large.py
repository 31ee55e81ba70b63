"""Every client uploads files over the message limit in parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pytest
from harness import PYTHON, ROOT, Runner, Server, ask, disagreement, serving
from onnx import numpy_helper

TABLE_ROWS, TABLE_WIDTH = 3_300_000, 4
MODEL_NUMBERS = 5_300_000
CASE: dict[str, Any] = {
    "call": "upload",
    "model": "large.onnx",
    "table": "large.arrow",
    "request": {
        "featureColumns": ["a", "b", "c", "d"],
        "plots": False,
        "rowCount": 30,
        "methods": [{"interactions": {}}],
    },
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of cases with one: 100 MB of table, 20 MB of model."""
    folder = tmp_path_factory.mktemp("large")
    cases = folder / "conformance" / "cases"
    cases.mkdir(parents=True)
    (cases / "large.json").write_text(json.dumps(CASE))
    # The same request without uploads of its own: a client finds out what to do.
    (cases / "large-by-itself.json").write_text(json.dumps({**CASE, "call": "explain"}))
    write_table(folder / CASE["table"])
    write_model(folder / CASE["model"])
    return folder


def write_table(path: Path) -> None:
    numbers = np.random.default_rng(0).random((TABLE_WIDTH, TABLE_ROWS))
    table = pa.table(dict(zip("abcd", numbers, strict=True)))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert path.stat().st_size > 100e6


def write_model(path: Path) -> None:
    """A small model with large numbers that it does not use."""
    model = onnx.load(ROOT / "conformance" / "files" / "score.onnx")
    unused = np.arange(MODEL_NUMBERS, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(unused, "unused"))
    onnx.save(model, path)
    assert path.stat().st_size > 20e6


@pytest.fixture
def roomy() -> Iterator[Server]:
    """A server by its defaults: it takes such files, though no message as large, and has none."""
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def wanted(large: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Response of the Python client."""
    with serving() as running:
        found = ask(PYTHON, running, tmp_path_factory.mktemp("python"), ["large"], large)
    wanted: Mapping[str, Any] = found["large"]
    assert "response" in wanted
    return wanted


@pytest.mark.parametrize("name", ["large", "large-by-itself"])
def test_a_large_model_and_a_large_table_arrive(
    large: Path,
    roomy: Server,
    wanted: Mapping[str, Any],
    client: Runner,
    tmp_path: Path,
    name: str,
) -> None:
    found = ask(client, roomy, tmp_path, [name], large)[name]

    want = dict(wanted)
    if name != "large":
        del want["ids"]
    assert disagreement(name, CASE, found, want) is None
