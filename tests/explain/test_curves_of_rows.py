"""Curves of rows that are asked for, among them rows of weight 0: by prediction, row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from google.protobuf import json_format
from onnxplain.results.canonical_json import to_json
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

MODEL = Path(__file__).parents[1] / "models" / "sklearn_gradient_boosting.onnx"
WIDTH = 10

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(make) -> Iterator[Ask]:
    runner = InProcess(2)

    def asked(rows, weights, engine: str, **options: Any) -> dict[str, Any]:
        columns = [{"name": f"x{j}", "numbers": list(rows[:, j])} for j in range(WIDTH)]
        columns.append({"name": "w", "numbers": list(weights)})
        request = json_format.ParseDict(
            {
                "engine": engine,
                "weightColumn": "w",
                "methods": [{"individualConditionalExpectation": options}],
                "table": {"columns": {"columns": columns}},
                "featureColumns": [f"x{j}" for j in range(WIDTH)],
                "plots": False,
            },
            ExplainRequest(),
        )
        request.model.content = MODEL.read_bytes()
        answer = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()
        ).content
        told = json.loads(to_json(ExplainResponse.FromString(answer)))
        explanation: dict[str, Any] = told["explanations"][0]
        return explanation

    yield asked
    runner.close()


def tables():
    """Return a background, and two rows beyond it on all sides."""
    rng = np.random.default_rng(4)
    return rng.normal(size=(30, WIDTH)), rng.normal(size=(2, WIDTH)) + 40.0


@pytest.mark.parametrize("engine", ["TREES", "BLACK_BOX"])
def test_a_row_of_weight_zero_gets_its_curve_on_the_grid_of_the_others(ask: Ask, engine: str):
    background, rows = tables()
    together = np.vstack([background, rows])
    weights = [1.0] * len(background) + [0.0] * len(rows)

    answer = ask(together, weights, engine, features=["x3"], rowIndices=[31, 30])
    result = answer["individualConditionalExpectation"]
    (curve,) = result["curves"]

    alone = ask(background, weights[:30], engine, features=["x3"])
    grid = curve["grid"][0]["numbers"]
    assert grid == alone["individualConditionalExpectation"]["curves"][0]["grid"][0]["numbers"]
    assert curve["rowIndices"] == [30, 31]
    session = onnxruntime.InferenceSession(MODEL.read_bytes())
    moved = np.repeat(rows, len(grid), axis=0).astype(np.float32)
    moved[:, 3] = np.tile(grid, len(rows))
    (expected, *_) = session.run(None, {session.get_inputs()[0].name: moved})
    assert curve["values"] == pytest.approx(np.ravel(expected).tolist(), rel=1e-5)
    assert (answer["rows"]["drawnRowCount"], answer["rows"]["usedRowCount"]) == (2, 2)


def test_the_group_of_a_row_of_weight_zero_is_that_of_its_own_value(ask: Ask) -> None:
    """The column of the groups is 5 in one of the two, and 0 in all others of any weight."""
    together, weights = np.vstack(tables()), [1.0] * 30 + [0.0] * 2
    together[:, 0] = 0
    together[31, 0] = 5

    answer = ask(together, weights, "BLACK_BOX", rowIndices=[30, 31], groupColumns=["x0"])

    curves = answer["individualConditionalExpectation"]["curves"]
    assert curves[0]["groups"] == ["0", "5"]


@pytest.mark.parametrize("rows", [[32], [-1], [3, 3]])
def test_rows_that_the_table_does_not_have_and_rows_named_twice_are_refused(ask: Ask, rows):
    background, more = tables()

    with pytest.raises(ExplainError) as refused:
        ask(np.vstack([background, more]), [1.0] * 32, "BLACK_BOX", rowIndices=rows)

    assert refused.value.reason is Reason.INVALID_OPTION
    assert refused.value.field == "methods[0].individual_conditional_expectation.row_indices"
