"""Models of real exporters with answers of their training libraries, and a builder of graphs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnxplain_server.core.arrays import Array
from onnxplain_server.core.model import Input

MODELS = Path(__file__).parents[2] / "models"
DTYPES: Mapping[str, Any] = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int64": np.int64,
    "bool": np.bool_,
    "string": np.object_,
}


@dataclass(frozen=True)
class Case:
    """An exported model, some rows, and what the program that trained it says about them."""

    content: bytes
    columns: Mapping[str, Sequence[Any]]
    output_names: tuple[str, ...]
    response: Array
    margin: Array | None

    def feeds(self, inputs: Sequence[Input]) -> dict[str, Array]:
        if len(inputs) == 1:
            matrix = np.column_stack([filled(column) for column in self.columns.values()])
            return {inputs[0].name: matrix.astype(DTYPES[inputs[0].type])}
        return {
            each.name: filled(self.columns[each.name]).astype(DTYPES[each.type]).reshape(-1, 1)
            for each in inputs
        }


def filled(column: Sequence[Any]) -> Array:
    return np.array([np.nan if value is None else value for value in column])


class Cases:
    """The committed models, by name."""

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in MODELS.glob("*.onnx"))

    def __getitem__(self, name: str) -> Case:
        case = json.loads((MODELS / f"{name}.json").read_text())
        return Case(
            content=(MODELS / f"{name}.onnx").read_bytes(),
            columns=case["columns"],
            output_names=tuple(case["output_names"]),
            response=np.array(case["response"]),
            margin=None if case["margin"] is None else np.array(case["margin"]),
        )


@pytest.fixture(scope="session")
def cases() -> Cases:
    return Cases()


class Build:
    """Writes small models, so that each test shows the one thing it is about."""

    def __call__(
        self,
        nodes: Sequence[NodeProto],
        outputs: Mapping[str, int | None] | None = None,
        inputs: Sequence[ValueInfoProto] | None = None,
        opset: int = 17,
        **constants: Array,
    ) -> ModelProto:
        """By default from X, float of 3 columns, to y, float."""
        graph = helper.make_graph(
            nodes,
            "graph",
            [self.input("X", [None, 3])] if inputs is None else inputs,
            [
                helper.make_tensor_value_info(name, kind or TensorProto.FLOAT, None)
                for name, kind in (outputs or {"y": None}).items()
            ],
            [numpy_helper.from_array(values, name) for name, values in constants.items()],
        )
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def input(
        self, name: str, shape: Sequence[int | str | None] | None, kind: int = 1
    ) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, shape)

    def dtype(self, kind: int) -> np.dtype[Any]:
        return helper.tensor_dtype_to_np_dtype(kind)

    def tensor(self, values: Array) -> TensorProto:
        return numpy_helper.from_array(values)

    def node(self, op_type: str, inputs: str, outputs: str, **attributes) -> NodeProto:
        return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


@pytest.fixture(scope="session")
def build() -> Build:
    return Build()
