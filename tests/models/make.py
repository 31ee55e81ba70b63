"""Make the models of the tests again, each with rows and its training library's own answers.

Every file in `exporters/` has a function `fixtures` that yields

    name, model, rows, answers

where the model is a ModelProto, the rows are a DataFrame, and the answers are `output_names`,
`response`, and `margin` (None where the model has none). All is seeded: the same versions write
the same bytes.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from onnx import ModelProto

HERE = Path(__file__).parent
LARGEST_BYTES = 200_000


def main() -> None:
    for script in sorted((HERE / "exporters").glob("*.py")):
        for name, model, rows, answers in runpy.run_path(str(script))["fixtures"]():
            write(name, model, rows, answers)


def write(name: str, model: ModelProto, rows: pd.DataFrame, answers: dict[str, Any]) -> None:
    make_reproducible(model, name)
    content = model.SerializeToString(deterministic=True)
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"{name}.onnx has {len(content)} bytes; train a smaller model")
    (HERE / f"{name}.onnx").write_bytes(content)
    columns = {column: plain(rows[column]) for column in rows}
    numbers = {kind: rounded(answers[kind]) for kind in ("response", "margin")}
    case = {"columns": columns, "output_names": list(answers["output_names"]), **numbers}
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in case.items())
    (HERE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def make_reproducible(model: ModelProto, name: str) -> None:
    """Remove random names, dates and settings of training, and orders that Python's hashes give."""
    model.graph.name = name
    del model.metadata_props[:]
    model.opset_import.sort(key=lambda opset: (opset.domain, opset.version))
    for node in model.graph.node:
        node.attribute.sort(key=lambda attribute: attribute.name)


def plain(column: pd.Series) -> list[Any]:
    """Values that read back as the same float32; None where missing."""
    if column.dtype == np.float32:
        return [None if np.isnan(value) else float(str(value)) for value in column]
    return [None if pd.isna(value) else value for value in column.tolist()]


def rounded(answers) -> list[list[float]] | None:
    if answers is None:
        return None
    matrix = np.asarray(answers, dtype=np.float64)
    return [[float(f"{value:.9g}") for value in row] for row in matrix.reshape(len(matrix), -1)]


if __name__ == "__main__":
    main()
