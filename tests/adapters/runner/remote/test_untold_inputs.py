"""Remote models of which nobody tells the inputs: the columns of the table in one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain_server.core.errors import ExplainError, Reason

from tools.stores.model_server import ServedModel, of_function

NAMES = ("a", "b", "c")
ROWS = np.random.default_rng(4).normal(size=(60, 3)).round(3)
TABLE = "\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in ROWS)]).encode()
CURVES = MethodOptions(partial_dependence=PartialDependenceOptions())


def product(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def untold(predict: Any) -> ServedModel:
    """Serve a function of the columns of the only tensor; its server tells no inputs."""
    served = of_function(product, NAMES)
    served.metadata["inputs"] = []
    served.predict = lambda given: predict(*next(iter(given.values())).T)[:, None]
    return served


def refused(*_: Any) -> Any:
    raise ValueError("expects 4 columns")


def test_a_model_that_tells_no_inputs_gets_the_columns_in_one_matrix(asking, make) -> None:
    remote, told = asking(untold(product)), asking(of_function(product, NAMES))

    answer = remote.explain(make.host(), remote.request(TABLE, CURVES))

    expected = told.explain(make.host(), told.request(TABLE, CURVES))
    assert list(answer.explanations) == list(expected.explanations)
    (warning,) = answer.warnings
    assert warning.code == "COLUMNS_BY_POSITION"
    assert warning.message.startswith("The server of the model tells no inputs, and model.")
    assert "1 'a', 2 'b', 3 'c'" in warning.message


@pytest.mark.parametrize(
    ("predict", "table", "reason"),
    [
        (refused, TABLE, Reason.PREDICTION_FAILED),
        (product, b"a,b,c\n1,2,x\n3,4,y\n", Reason.WRONG_TYPE),
    ],
)
def test_where_one_matrix_is_not_what_it_takes_its_inputs_are_asked_for(
    asking, make, predict: Any, table: bytes, reason: Reason
) -> None:
    remote = asking(untold(predict))

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(table, CURVES))

    assert (raised.value.reason, raised.value.field) == (reason, "model.remote.inputs")
    assert "tells no inputs" in raised.value.message


def test_without_a_table_nothing_tells_what_it_takes(asking, make) -> None:
    remote = asking(untold(product))

    with pytest.raises(ExplainError, match=r"list them, or give a table") as raised:
        remote.describe(make.host(), remote.model())

    assert raised.value.field == "model.remote.inputs"
