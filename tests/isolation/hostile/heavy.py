"""Heavy requests: small to send and large to answer, large to decode, slow, or endless."""

from __future__ import annotations

import json

import numpy as np
from hostile.base import model, node
from hostile.greedy import loop
from onnx import TensorProto
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, MethodOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.wire import canonical

_FEATURES = [f"x{number}" for number in range(10)]
_OUTPUT_COUNT = 8


def huge_answer(row_count: int = 2_000) -> ExplainRequest:
    """Ask a model of 0.3 kB for curves of each row: at 2,000 rows, 128 MB of numbers."""
    return ExplainRequest(
        model=Model(content=_linear()),
        table=_table(row_count),
        row_count=row_count,
        plots=False,
        methods=[
            MethodOptions(
                individual_conditional_expectation=IndividualConditionalExpectationOptions(
                    features=_FEATURES, grid_size=100, curve_count=row_count
                )
            )
        ],
    )


def honest_table(row_count: int = 440_000) -> ExplainRequest:
    """Send a large table in the message itself, and ask for little."""
    options = PartialDependenceOptions(features=[{"names": _FEATURES[:1]}], grid_size=2)
    return ExplainRequest(
        model=Model(content=_linear()),
        table=_table(row_count),
        plots=False,
        methods=[MethodOptions(partial_dependence=options)],
    )


def endless() -> ExplainRequest:
    """Ask for a model that never ends."""
    return ExplainRequest(
        model=Model(content=loop(2**62).SerializeToString()),
        table=Table(csv=b"a,b,c\n1,2,3\n4,5,6\n"),
        methods=[MethodOptions(partial_dependence=PartialDependenceOptions(grid_size=2))],
    )


def small() -> ExplainRequest:
    """Ask for little."""
    return honest_table(20)


def huge_names(count: int = 4_900_000) -> bytes:
    """Document of many names, each with a number."""
    return b'{"inputs": {' + b",".join(b'"%d":1' % number for number in range(count)) + b"}}"


def rest_document(request: ExplainRequest) -> bytes:
    """Document of a request over REST, with its table in MLflow's form of rows."""
    table = request.table.columns.columns
    if not table:
        return canonical.encode(request).encode()
    envelope = ExplainRequest()
    envelope.CopyFrom(request)
    envelope.ClearField("table")
    document = json.loads(canonical.encode(envelope))
    rows = np.column_stack([column.numbers for column in table]).tolist()
    names = [column.name for column in table]
    return json.dumps({**document, "dataframe_split": {"columns": names, "data": rows}}).encode()


def _linear() -> bytes:
    weights = np.random.default_rng(0).normal(size=(len(_FEATURES), _OUTPUT_COUNT))
    made = model(
        [node("MatMul", "X w")],
        inputs={"X": (TensorProto.FLOAT, ["n", len(_FEATURES)])},
        constants={"w": weights.astype(np.float32)},
    )
    return made.SerializeToString()


def _table(row_count: int) -> Table:
    values = np.random.default_rng(0).normal(size=(row_count, len(_FEATURES))).round(3)
    columns = [Column(name=n, numbers=values[:, i]) for i, n in enumerate(_FEATURES)]
    return Table(columns=Columns(columns=columns))
