"""Predictions as expressions: the same numbers as of a model that has them in its graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

pytestmark = pytest.mark.usefixtures("few_trees")

MODELS = Path(__file__).parents[1] / "models"
TREES, BLACK_BOX = service_pb2.ExplainRequest.TREES, service_pb2.ExplainRequest.BLACK_BOX
ROW_COUNT = 40


class Asked:
    """Answers about models on the rows that the fixture has, from one runner and one cache."""

    def __init__(self, runner: InProcess) -> None:
        self._runner = runner
        self._cache = MemoryCache(2**24, Signer(b"a secret of the tests"))

    def __call__(
        self, content: bytes, rows: str, *methods: dict[str, Any], target=None, **request: Any
    ) -> service_pb2.ExplainResponse:
        known = json.loads((MODELS / f"{rows}.json").read_text())
        asked = service_pb2.ExplainRequest(plots=False, **request)
        asked.model.content = content
        columns = dict(list(known["columns"].items()))
        for column, values in columns.items():
            asked.table.columns.columns.append(Column(name=column, numbers=values[:ROW_COUNT]))
        if target is not None:
            asked.table.columns.columns.append(Column(name="target", numbers=target))
            asked.target_column = "target"
        for method in methods or ({"interactions": {"pairwise_feature_count": 3}},):
            asked.methods.add(**method)
        call = RequestContext(RequestControl(600), self._cache, hashlib.sha256(content).hexdigest())
        reply = self._runner.answer(
            Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), call
        ).content
        return service_pb2.ExplainResponse.FromString(reply)


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def ask(runner: InProcess) -> Asked:
    return Asked(runner)


def stored(name: str) -> bytes:
    return (MODELS / f"{name}.onnx").read_bytes()


def composed(name: str, *nodes, **constants) -> bytes:
    """A stored model with further nodes, the last of which gives its only output, `out`."""
    model = onnx.load(MODELS / f"{name}.onnx")
    model.graph.node.extend(nodes)
    for constant, value in constants.items():
        model.graph.initializer.append(from_array(value, constant))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("out", TensorProto.FLOAT, [None, 1]))
    return bytes(model.SerializeToString())


def node(kind: str, *inputs: str, out: str = "out", **attributes):
    return helper.make_node(kind, inputs, [out], **attributes)


def difference() -> bytes:
    """Probability of the last class minus that of the first, in the graph."""
    return composed(
        "lightgbm_3class",
        node("Gather", "probabilities", "last", out="high", axis=1),
        node("Gather", "probabilities", "first", out="low", axis=1),
        node("Sub", "high", "low"),
        first=np.array([0]),
        last=np.array([2]),
    )


def exponential() -> bytes:
    """Exponential of a hundredth of the prediction, in the graph."""
    return composed(
        "xgboost_regressor",
        node("Mul", "variable", "hundredth", out="scaled"),
        node("Exp", "scaled"),
        hundredth=np.array([0.01], np.float32),
    )


def numerators(answer: service_pb2.ExplainResponse) -> list[float]:
    result = answer.explanations[0].interactions
    return [*result.overall[0].numerators, *(n for p in result.pairwise for n in p.numerators)]


def ratios(answer: service_pb2.ExplainResponse) -> list[float]:
    result = answer.explanations[0].interactions
    return [
        *result.total.values,
        *(v for s in [*result.overall, *result.pairwise] for v in s.values),
    ]


@pytest.mark.parametrize("engine", [TREES, BLACK_BOX])
def test_an_affine_prediction_scales_the_numerators_and_keeps_the_ratios(ask, engine: int) -> None:
    model = stored("lightgbm_regressor")
    plain = ask(model, "lightgbm_regressor", engine=engine)
    scaled = ask(model, "lightgbm_regressor", engine=engine, prediction=["2 * y + 1"])

    assert numerators(scaled) == pytest.approx([4 * n for n in numerators(plain)], rel=1e-6)
    assert ratios(scaled) == pytest.approx(ratios(plain), rel=1e-6)
    assert list(scaled.explanations[0].interactions.output_names) == ["2 * y + 1"]
    assert list(scaled.receipt.prediction) == ["2 * y + 1"]
    assert list(plain.receipt.prediction) == []


@pytest.mark.parametrize("engine", [TREES, BLACK_BOX])
def test_a_difference_of_classes_is_that_of_the_model_that_subtracts_them(ask, engine: int) -> None:
    names = ask(stored("lightgbm_3class"), "lightgbm_3class").model.output_names
    high, low = names[2], names[0]
    found = ask(
        stored("lightgbm_3class"),
        "lightgbm_3class",
        engine=engine,
        prediction=[f"`{high}` - `{low}`"],
    )
    expected = ask(difference(), "lightgbm_3class", engine=BLACK_BOX)

    assert numerators(found) == pytest.approx(numerators(expected), rel=1e-4, abs=1e-9)
    assert ratios(found) == pytest.approx(ratios(expected), rel=1e-4, abs=1e-7)
    assert found.receipt.engine == engine
    if engine == TREES:
        assert found.receipt.predicted_row_count == 0
        assert "linear in the model's outputs, which are the softmax" in found.receipt.engine_reason


@pytest.mark.parametrize("engine", [TREES, BLACK_BOX])
def test_an_exponential_is_that_of_the_model_that_ends_in_one(ask, engine: int) -> None:
    model = stored("xgboost_regressor")
    found = ask(model, "xgboost_regressor", engine=engine, prediction=["exp(y / 100)"])
    expected = ask(exponential(), "xgboost_regressor", engine=BLACK_BOX)

    assert numerators(found) == pytest.approx(numerators(expected), rel=1e-3, abs=1e-9)
    assert ratios(found) == pytest.approx(ratios(expected), rel=1e-3, abs=1e-7)
    if engine == TREES:
        assert "linear in exponentials of sums over trees" in found.receipt.engine_reason
        assert found.receipt.predicted_row_count == 0


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("lightgbm_regressor", "RESPONSE"),
        ("lightgbm_3class", "RESPONSE"),
        ("lightgbm_3class", "MARGIN"),
        ("lightgbm_binary", "RESPONSE"),
        ("lightgbm_binary", "MARGIN"),
    ],
)
def test_both_engines_give_the_same_curves(ask, name: str, scale: str) -> None:
    outputs = ask(stored(name), name).model.output_names
    texts = [f"a = 3 - 2 * `{outputs[0]}`", f"b = `{outputs[-1]}` / 4 + `{outputs[0]}`"]
    if scale == "MARGIN":
        texts = [f"a = exp(`{outputs[0]}`) - 1", f"b = expm1(`{outputs[-1]}` - `{outputs[0]}`) / 2"]
    curves = {"partial_dependence": {"grid_size": 5}}
    request = {"prediction": texts, "scale": scale}
    trees = ask(stored(name), name, curves, engine=TREES, **request)
    model = ask(stored(name), name, curves, engine=BLACK_BOX, **request)

    pairs = zip(trees.explanations, model.explanations, strict=True)
    for found, expected in pairs:
        assert list(found.partial_dependence.output_names) == ["a", "b"]
        for one, other in zip(
            found.partial_dependence.curves, expected.partial_dependence.curves, strict=True
        ):
            assert list(one.values) == pytest.approx(list(other.values), rel=1e-4, abs=1e-5)


def test_what_is_not_linear_in_the_sums_is_predicted_and_the_receipt_says_so(ask) -> None:
    model = stored("xgboost_regressor")
    answer = ask(model, "xgboost_regressor", prediction=["sqrt(y)"])
    steep = ask(model, "xgboost_regressor", prediction=["exp(y / 100)", "exp(y / 1e6) + y"])

    assert answer.receipt.engine == steep.receipt.engine == BLACK_BOX
    assert "the prediction 'sqrt(y)' is not linear" in answer.receipt.engine_reason
    with pytest.raises(ExplainError, match=r"'sqrt\(y\)' is not linear") as caught:
        ask(model, "xgboost_regressor", prediction=["sqrt(y)"], engine=TREES)
    assert caught.value.field == "engine"


def test_exponentials_that_trees_could_overflow_are_left_to_the_model(ask) -> None:
    with pytest.raises(ExplainError, match="exceed the range of float64"):
        ask(
            stored("xgboost_regressor"),
            "xgboost_regressor",
            prediction=["exp(9 * y)"],
            engine=TREES,
        )


def test_requests_that_differ_only_in_the_prediction_share_no_number(runner: InProcess) -> None:
    """A cache that has answered others gives no more hits than one of its own."""
    name = "sklearn_network_binary"
    model, shared = stored(name), Asked(runner)
    low, high = (f"`{output}`" for output in shared(model, name).model.output_names)
    target = np.linspace(0, 1, ROW_COUNT)
    for texts in (
        [f"exp({high})"],
        [f"exp({high}) + 0"],
        [high, low],
        [low, high],
        [f"a = {high}"],
    ):
        columns = ["target"] * len(texts)
        loss = {"one_hot_target": False, "repeat_count": 1, "target_columns": columns}
        methods: tuple[dict[str, Any], ...] = (
            {"interactions": {}},
            {"partial_dependence": {"grid_size": 3}},
            {"permutation_importance": loss},
        )
        request = {"prediction": texts, "target": target}
        alone = Asked(runner)(model, name, *methods, **request)
        first = shared(model, name, *methods, **request)
        again = shared(model, name, *methods, **request)
        assert first.receipt.cache_hit_count == alone.receipt.cache_hit_count
        assert again.receipt.cache_miss_count == 0
        assert again.explanations == first.explanations == alone.explanations


def test_a_prediction_that_is_not_finite_names_itself_and_the_output(ask) -> None:
    model = stored("xgboost_regressor")
    with pytest.raises(ExplainError) as caught:
        ask(model, "xgboost_regressor", prediction=["y", "log(y - 150)"])

    assert caught.value.reason is Reason.NON_FINITE_PREDICTION
    assert caught.value.field == "prediction[1]"
    assert "'log(y - 150)' is nan where the model gives y = " in caught.value.message


REFUSED = [
    ({"prediction": ["exp(x)"]}, "prediction[0]", "no output 'x'; it has 'variable', 'y', 'p'"),
    ({"prediction": ["1 + 2"]}, "prediction[0]", "names no output of the model"),
    ({"prediction": ["exp(y) +"]}, "prediction[0]", "cannot be parsed"),
    ({"prediction": ["y", " y"]}, "prediction", "two predictions are called 'y'"),
    ({"prediction": ["a = y", "a = -y"]}, "prediction", "two predictions are called 'a'"),
    ({"prediction": ["y"] * 101}, "prediction", "at most 100"),
    ({"prediction": ["y"], "output_indices": [0]}, "output_indices", "leave one of them out"),
    ({"prediction": ["y"], "class_labels": ["a", "b"]}, "class_labels", "leave"),
]


@pytest.mark.parametrize(("request_", "field", "words"), REFUSED)
def test_what_cannot_be_meant_is_refused(ask, request_, field: str, words: str) -> None:
    if "class_labels" in request_:
        request_ = {**request_, "target": np.zeros(ROW_COUNT)}
    with pytest.raises(ExplainError) as caught:
        ask(stored("xgboost_regressor"), "xgboost_regressor", **request_)

    assert words in caught.value.message
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"swarm": {"loss": 1}}, "swarm reads the classes"),
        ({"firm": {"source": "LABELS"}}, "LABELS reads the target"),
        ({"feature_vectors": {"source": "LABELS"}}, "LABELS reads the target"),
        ({"feature_vectors": {"source": "MODEL"}}, "MODEL reads the model's trees"),
        ({"firm": {"sequences": {"length": 2}}}, "strings read the score"),
    ],
)
def test_methods_that_do_not_read_predictions_refuse_them(ask, method, words: str) -> None:
    target = np.linspace(0, 1, ROW_COUNT)
    with pytest.raises(ExplainError, match=words) as caught:
        ask(
            stored("xgboost_regressor"),
            "xgboost_regressor",
            method,
            prediction=["-y"],
            target=target,
        )

    assert "\n" not in caught.value.message


def test_methods_that_read_predictions_take_them(ask) -> None:
    """Of a surrogate forest, and of the ranking measure: twice the score, twice the importance."""
    model, name = stored("xgboost_regressor"), "xgboost_regressor"
    vectors: dict[str, Any] = {
        "feature_vectors": {"source": "SURROGATE", "sentence_count": 600, "depth": 3}
    }
    methods: tuple[dict[str, Any], ...] = ({"firm": {}}, vectors)
    plain = ask(model, name, *methods)
    twice = ask(model, name, *methods, prediction=["2 * y"])

    one, two = (
        [v for i in answer.explanations[0].firm.importances for v in i.values]
        for answer in (plain, twice)
    )
    assert two == pytest.approx([2 * value for value in one])
    assert list(twice.explanations[0].firm.output_names) == ["2 * y"]
    assert twice.explanations[1].feature_vectors.vectors == pytest.approx(
        list(plain.explanations[1].feature_vectors.vectors)
    )


@pytest.mark.parametrize("search", ["EXACT", "PUBLISHED"])
def test_swarm_takes_a_loss_as_an_expression(ask, search: str) -> None:
    model, name = stored("xgboost_regressor"), "xgboost_regressor"
    target = np.linspace(100, 200, ROW_COUNT)
    usual = {"features": ["bmi"], "search": search}
    expected, found = (
        ask(model, name, {"swarm": {**usual, **loss}}, target=target)
        for loss in ({"loss": "SQUARED_ERROR"}, {"loss_expression": "(y - p) ** 2"})
    )

    one, two = (answer.explanations[0].swarm for answer in (expected, found))
    assert two.baseline_score == pytest.approx(one.baseline_score)
    assert two.importances[0].value == pytest.approx(one.importances[0].value)
    assert two.effects[0].best_weight == pytest.approx(one.effects[0].best_weight)
    assert found.explanations[0].options.swarm.loss == 0
    with pytest.raises(ExplainError, match="loss and loss_expression are two losses"):
        ask(model, name, {"swarm": {"loss": "LOGLOSS", "loss_expression": "p"}}, target=target)
