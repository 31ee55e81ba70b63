"""Requests of some kB whose replies are as large as one likes."""

from __future__ import annotations

import io
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

_WIDTH = 4


def request(number_count: int) -> ExplainRequest:
    """Ask for curves of single rows with about so many values, in a request of some kB."""
    # A curve of each row, with a point at each value: as many values as rows, squared.
    row_count = max(2, math.isqrt(number_count // _WIDTH))
    asked = ExplainRequest(plots=False, row_count=row_count)
    asked.model.content, asked.table.parquet = _model(), _rows(row_count)
    curves = asked.methods.add().individual_conditional_expectation
    curves.curve_count = curves.grid_size = row_count
    return asked


def _rows(count: int) -> bytes:
    """Return rows as Parquet, where neighbours differ by one and take no space."""
    file = io.BytesIO()
    table = pa.table({f"x{index}": np.arange(count) + index for index in range(_WIDTH)})
    encoding = "DELTA_BINARY_PACKED"
    pq.write_table(table, file, use_dictionary=False, column_encoding=encoding)
    return file.getvalue()


def _model() -> bytes:
    weights = numpy_helper.from_array(np.ones((_WIDTH, 1), np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["rows", "weights"], ["score"])],
        "sum",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, _WIDTH])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, [None, 1])],
        [weights],
    )
    opset = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString())
