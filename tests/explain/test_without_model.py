"""Requests without a model: labels explained from a table alone, and refusals of all else."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from google.protobuf.json_format import ParseDict
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Column, Columns, Table
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

Ask = Callable[..., ExplainResponse]
pytestmark = pytest.mark.usefixtures("few_trees")

ROWS = 300
RANDOM = np.random.default_rng(3)
A, B, C = RANDOM.normal(size=(3, ROWS))
TARGET = A + 0.5 * B * (A > 0) + 0.1 * RANDOM.normal(size=ROWS)
COLUMNS: dict[str, Any] = {"a": A, "b": B, "c": C, "y": TARGET}
FOREST = {"featureVectors": {"sentenceCount": 600, "depth": 4}}


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(2)
    yield made
    made.close()


@pytest.fixture
def ask(runner: InProcess, make) -> Ask:
    """Ask for methods in canonical JSON, without a model unless one is given."""

    def asked(
        *methods: Mapping[str, Any],
        columns: Mapping[str, Any] | None = COLUMNS,
        model: bytes | None = None,
        **request,
    ) -> ExplainResponse:
        request.setdefault("target_column", "y")
        message = ExplainRequest(**request)
        ParseDict({"methods": list(methods)}, message)
        if columns is not None:
            message.table.CopyFrom(table(columns))
        if model is not None:
            message.model.CopyFrom(Model(content=model))
        return ExplainResponse.FromString(
            runner.answer(
                Call(ServiceMethod.EXPLAIN, message.SerializeToString()), make.host()
            ).content
        )

    return asked


def table(columns: Mapping[str, Any]) -> Table:
    return Table(
        columns=Columns(
            columns=[
                Column(name=n, **{"strings" if isinstance(v[0], str) else "numbers": v})
                for n, v in columns.items()
            ]
        )
    )


def linear(width: int) -> bytes:
    """The sum of the columns."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "sum",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", width])],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, ["n", 1])],
        [numpy_helper.from_array(np.ones((width, 1)), "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def codes(answer: ExplainResponse) -> list[str]:
    warnings: list[Any] = list(answer.warnings)
    return [warning.code for warning in warnings]


def importances(answer: ExplainResponse) -> list[float]:
    found: list[Any] = list(answer.explanations[0].firm.importances)
    return [importance.values[0] for importance in found]


def features(answer: ExplainResponse) -> list[str]:
    found: list[Any] = list(answer.explanations[0].firm.importances)
    return [importance.feature for importance in found]


@pytest.mark.parametrize("method", ["featureVectors", "firm"])
def test_labels_are_explained_as_with_any_model(ask: Ask, method: str) -> None:
    options = FOREST.get(method, {})
    alone = ask({method: options})
    beside = ask({method: options | {"source": "LABELS"}}, model=linear(3))

    assert alone.explanations[0].options == beside.explanations[0].options
    assert alone.explanations[0].feature_vectors == beside.explanations[0].feature_vectors
    assert features(alone) == features(beside)
    assert importances(alone) == pytest.approx(importances(beside))


def test_the_receipt_has_no_model(ask: Ask) -> None:
    answer = ask(FOREST, {"firm": {}})

    assert not answer.HasField("model")
    assert answer.receipt.model_digest == ""
    assert answer.receipt.engine == ExplainRequest.ENGINE_UNSPECIFIED
    assert answer.receipt.predicted_row_count == 0
    assert answer.receipt.table_digest.startswith("sha256:")


def test_an_importance_worked_by_hand(ask: Ask) -> None:
    columns = {"x": [0.0, 0, 1, 1], "y": [1.0, 3, 5, 7]}
    answer = ask({"firm": {}}, columns=columns)

    # Equation 10: (6 - 2) √(1/2 · 1/2).
    assert importances(answer) == pytest.approx([2.0])


def test_a_text_target_is_classes(ask: Ask) -> None:
    texts = [["low", "mid", "high"][int(v > -0.5) + int(v > 0.5)] for v in A]
    answer = ask({"firm": {}}, FOREST, columns={**COLUMNS, "y": texts})

    names = list(answer.explanations[0].firm.output_names)
    assert names == ["y = high", "y = low", "y = mid"]
    assert answer.explanations[1].options.feature_vectors.one_hot_target
    assert not answer.explanations[0].class_pairings


def test_all_columns_but_target_and_weight_are_features(ask: Ask) -> None:
    columns = {**COLUMNS, "w": np.ones(ROWS), "kind": ["ab"[int(v > 0)] for v in A]}
    answer = ask({"firm": {}}, FOREST, columns=columns, weight_column="w")
    chosen = ask({"firm": {}}, columns=columns, feature_columns=["c", "a"])

    assert features(answer) == ["a", "b", "c", "kind"]
    assert list(answer.explanations[1].feature_vectors.features) == ["a", "b", "c", "kind"]
    assert features(chosen) == ["c", "a"]


def test_a_weight_of_two_is_a_row_twice(ask: Ask) -> None:
    weights = 1.0 + (A > 0)
    twice = np.repeat(np.arange(ROWS), weights.astype(int))
    options = {"firm": {"estimator": "SLOPE"}}
    weighted = ask(options, columns={**COLUMNS, "w": weights}, weight_column="w")
    repeated = ask(options, columns={name: v[twice] for name, v in COLUMNS.items()})

    assert importances(weighted) == pytest.approx(importances(repeated))


def test_methods_of_one_request_answer_as_alone(ask: Ask) -> None:
    both = ask({"firm": {}}, FOREST)

    assert importances(both) == pytest.approx(importances(ask({"firm": {}})))
    assert both.explanations[1] == ask(FOREST).explanations[0]


@pytest.mark.parametrize(
    ("values", "one_hot", "expected"),
    [
        ([0, 1, 2], None, ["TARGET_AS_NUMBERS"]),
        ([0, 1, 2], False, []),
        ([0, 1, 2], True, []),
        ([0, 1], None, []),
        ([0, 0.5, 1], None, []),
        (range(30), None, []),
    ],
)
def test_whole_numbers_that_may_be_classes_come_with_a_warning(
    ask: Ask, values, one_hot: bool | None, expected: list[str]
) -> None:
    target = [float(values[i % len(values)]) for i in range(ROWS)]
    options = {} if one_hot is None else {"oneHotTarget": one_hot}
    answer = ask({"firm": options}, columns={**COLUMNS, "y": target})

    assert codes(answer) == expected


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"interactions": {}}, {}, "no model"),
    ({"partialDependence": {}}, {}, "no model"),
    ({"individualConditionalExpectation": {}}, {}, "no model"),
    ({"permutationImportance": {}}, {}, "no model"),
    ({"averageLoss": {}}, {}, "no model"),
    ({"swarm": {}}, {}, "no model"),
    ({"featureVectors": {"source": "MODEL"}}, {}, "no model"),
    ({"featureVectors": {"source": "SURROGATE"}}, {}, "no model"),
    ({"firm": {"source": "MODEL"}}, {}, "no model"),
    ({"firm": {"source": "BOTH"}}, {}, "no model"),
    ({"firm": {"contrasts": ["WEIGHT"]}}, {}, "no model"),
    ({"firm": {"estimator": "GAUSSIAN"}}, {}, "no model"),
    ({"firm": {}}, {"target_column": ""}, "no target"),
    ({"firm": {}}, {"columns": None}, "no table"),
    (FOREST, {"columns": None}, "no table"),
    (FOREST, {"output_indices": [0]}, "output_indices applies to a model"),
    (FOREST, {"class_labels": ["a", "b"]}, "class_labels applies to a model"),
    (FOREST, {"engine": "TREES"}, "engine applies to a model"),
    (FOREST, {"prediction": ["exp(y)"]}, "prediction applies to a model"),
    (FOREST, {"scale": "MARGIN"}, "scale applies to a model"),
    (FOREST, {"feature_columns": ["a", "a"]}, "names 'a' twice"),
    (FOREST, {"feature_columns": ["nope"]}, "no column 'nope'"),
    (FOREST, {"columns": {"y": TARGET}}, "no column besides"),
]


@pytest.mark.parametrize(("method", "request_fields", "told"), REFUSED)
def test_what_needs_a_model_is_refused_in_one_line(
    ask: Ask, method: dict[str, Any], request_fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(ExplainError, match=told) as caught:
        ask(method, **request_fields)

    assert "\n" not in str(caught.value)
    assert caught.value.reason in {
        Reason.INVALID_REQUEST,
        Reason.INVALID_OPTION,
        Reason.INVALID_TABLE,
        Reason.MISSING_COLUMN,
    }
